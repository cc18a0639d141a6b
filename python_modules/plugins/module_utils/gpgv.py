# SPDX-License-Identifier: Apache-2.0
"""Verify a signature against one key with gpgv, the tool that apt itself uses."""

from __future__ import annotations

import os
import tempfile
from typing import Mapping, Sequence

from ansible_collections.instinct.bringup.plugins.module_utils.command_runner import NOT_FOUND, Result, Run, last_words

# gpgv's status words (GnuPG, doc/DETAILS) and what they mean for a repository. The first that is there counts.
_REASONS = (
    ("EXPKEYSIG", "the key that signed it has expired"),
    ("REVKEYSIG", "the key that signed it was revoked"),
    ("EXPSIG", "the signature has expired"),
    ("BADSIG", "the signature does not fit the content: it was changed on the way, or an update is half-way"),
    ("NO_PUBKEY", "it is signed by another key"),
    ("NODATA", "it carries no signature"),
    ("UNEXPECTED", "it carries no signature"),
)

_VERDICTS = frozenset(["GOODSIG", "EXPSIG", "EXPKEYSIG", "REVKEYSIG", "ERRSIG"])


class SignatureProblem(Exception):
    """The signature does not verify; the message says in what way."""


def verify_signature(run: Run, keyring: bytes, fingerprint: str, signed: bytes, detached: bytes | None) -> None:
    """Return when signed carries a good signature of the key; SignatureProblem when not.

    keyring: the binary key; detached: the signature when signed is not a clear-signed message.
    """
    try:
        result = _gpgv(run, keyring, signed, detached)
    except OSError as error:
        raise SignatureProblem(
            "gpgv's files could not be written to %s: %s (errno %s); make room there"
            % (os.environ.get("TMPDIR") or "/tmp", error.strerror, error.errno)
        ) from error
    if result.rc == NOT_FOUND:
        raise SignatureProblem(f"gpgv is not on this node ({result.err}); install the package gpgv")
    words = [line.split()[1:] for line in result.out.splitlines() if line.startswith("[GNUPG:] ")]
    if fingerprint not in good_signers(words):
        raise SignatureProblem(_reason(words) or last_words(result))


def _gpgv(run: Run, keyring: bytes, signed: bytes, detached: bytes | None) -> Result:
    with tempfile.TemporaryDirectory(prefix="instinct-bringup-") as folder:
        files = {"key.gpg": keyring, "signed": signed}
        if detached is not None:
            files["signature"] = detached
        _write(folder, files)
        argv = ["gpgv", "--homedir", folder, "--status-fd", "1", "--keyring", os.path.join(folder, "key.gpg")]
        argv.extend(os.path.join(folder, name) for name in ("signature", "signed") if name in files)
        return run(argv)


def good_signers(words: Sequence[Sequence[str]]) -> list[str]:
    """Return the primary keys with a good signature in gpgv's status lines; none when any signature is bad.

    gpgv ends with 0, and says VALIDSIG, for an expired key too; only GOODSIG before it tells.
    """
    signers = []
    good = False
    for word in words:
        if word[:1] == ["BADSIG"]:
            return []
        if word[:1] == ["VALIDSIG"] and good:
            # The last field is the primary key's fingerprint, also when a subkey signed.
            signers.append(word[-1].upper())
        elif word and word[0] in _VERDICTS:
            good = word[0] == "GOODSIG"
    return signers


def _reason(words: Sequence[Sequence[str]]) -> str | None:
    seen = {word[0]: word[1:] for word in words if word}
    for name, meaning in _REASONS:
        if name in seen:
            return meaning + _which(name, seen)
    return None


def _which(name: str, seen: Mapping[str, Sequence[str]]) -> str:
    details = seen[name]
    if name in ("NODATA", "UNEXPECTED", "EXPSIG") or not details:
        return ""
    return f" ({details[0]})"


def _write(folder: str, files: Mapping[str, bytes]) -> None:
    for name, content in files.items():
        with open(os.path.join(folder, name), "wb") as stream:
            stream.write(content)
