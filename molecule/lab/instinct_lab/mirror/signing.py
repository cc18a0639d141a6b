# SPDX-License-Identifier: Apache-2.0
"""The lab's key and the signatures of the vendor's suites: sign, take away, or spoil them."""

from __future__ import annotations

import contextlib
import email.utils
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from .deb import EPOCH

USER_ID = "instinct-bringup lab (simulated vendor mirror) <lab@mirror.lab>"
FOREIGN_ID = "instinct-bringup lab (a key nobody trusts) <foreign@mirror.lab>"

# What the suites can be made to carry. `expired` is validly signed but its Valid-Until has passed; `foreign` is signed
# by a key that no node has; `future` is validly signed but dated days ahead, as a node sees it whose clock is behind.
VARIANTS = ("signed", "unsigned", "expired", "foreign", "future")

_RECORD = "signatures"


class SigningError(RuntimeError):
    """gpg failed; the text holds its words."""


def ensure_key(keys: Path, name: str = "lab") -> str:
    """Make the key once, without a passphrase, and return its fingerprint of 40 hex digits.

    The secret key lies in `keys` (mode 0700) as NAME-secret.asc (0600), the public one as NAME-key.asc and NAME-key.gpg.
    """
    keys.mkdir(mode=0o700, parents=True, exist_ok=True)
    keys.chmod(0o700)
    record = keys / f"{name}-fingerprint"
    if record.exists():
        return record.read_text(encoding="ascii").strip()
    with _home() as home:
        user = USER_ID if name == "lab" else FOREIGN_ID
        # RSA 4096 as AMD's own key.
        _gpg(home, "--quick-generate-key", user, "rsa4096", "sign", "never")
        listing = _gpg(home, "--with-colons", "--list-keys").decode()
        fingerprint = next(line.split(":")[9] for line in listing.splitlines() if line.startswith("fpr:"))
        secret = keys / f"{name}-secret.asc"
        with os.fdopen(os.open(secret, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as handle:
            handle.write(_gpg(home, "--armor", "--export-secret-keys"))
        (keys / f"{name}-key.asc").write_bytes(_gpg(home, "--armor", "--export"))
        (keys / f"{name}-key.gpg").write_bytes(_gpg(home, "--export"))
    record.write_text(f"{fingerprint}\n", encoding="ascii")
    return fingerprint


def apply(root: Path, suites: list[str], keys: Path, variant: str = "signed") -> None:
    """Give every suite of the served tree the signature of `variant`; each file is replaced in one step.

    Raises:
        ValueError: an unknown variant. SigningError: gpg failed.
    """
    if variant not in VARIANTS:
        raise ValueError(f"unknown variant {variant!r}: known are {', '.join(VARIANTS)}")
    if variant == "unsigned":
        for suite in suites:
            text = (root / suite / "Release").read_bytes()
            _replace(root / suite / "InRelease", text)
            (root / suite / "Release.gpg").unlink(missing_ok=True)
    else:
        _sign(root, suites, keys, variant)
    (root / _RECORD).write_text(f"{variant}\n", encoding="ascii")


def _sign(root: Path, suites: list[str], keys: Path, variant: str) -> None:
    name = "foreign" if variant == "foreign" else "lab"
    ensure_key(keys, name)
    with _home() as home:
        _gpg(home, "--import", str(keys / f"{name}-secret.asc"))
        for suite in suites:
            text = (root / suite / "Release").read_bytes()
            if variant == "expired":
                day = email.utils.formatdate(EPOCH + 86400, usegmt=True).replace("GMT", "UTC").encode()
                text = text.replace(b"\nArchitectures:", b"\nValid-Until: " + day + b"\nArchitectures:", 1)
            if variant == "future":
                day = email.utils.formatdate(time.time() + 5 * 86400, usegmt=True).replace("GMT", "UTC").encode()
                text = re.sub(rb"\nDate: [^\n]*", b"\nDate: " + day, text, count=1)
            _replace(root / suite / "InRelease", _gpg(home, "--clearsign", stdin=text))
            _replace(root / suite / "Release.gpg", _gpg(home, "--armor", "--detach-sign", stdin=text))


def variant_of(root: Path) -> str | None:
    """Return the variant that was applied last to a served tree, None when none was."""
    try:
        return (root / _RECORD).read_text(encoding="ascii").strip()
    except FileNotFoundError:
        return None


@contextlib.contextmanager
def _home() -> Iterator[Path]:
    """Give a GnuPG home for one use. Its path must be short (the agent's socket), so it is not in the repository."""
    with tempfile.TemporaryDirectory(prefix="lab-gpg-") as folder:
        home = Path(folder)
        try:
            yield home
        finally:
            subprocess.run(["gpgconf", "--homedir", folder, "--kill", "gpg-agent"], check=False, capture_output=True)


def _gpg(home: Path, *args: str, stdin: bytes | None = None) -> bytes:
    command = ["gpg", "--homedir", str(home), "--batch", "--quiet", "--no-tty", "--pinentry-mode", "loopback"]
    command += ["--passphrase", "", "--digest-algo", "SHA512", *args]
    done = subprocess.run(command, check=False, input=stdin, capture_output=True)
    if done.returncode != 0:
        raise SigningError(f"gpg {' '.join(args[:2])} failed ({done.returncode}): {done.stderr.decode().strip()}")
    return done.stdout


def _replace(path: Path, content: bytes) -> None:
    fresh = path.with_name(f".{path.name}.new")
    fresh.write_bytes(content)
    fresh.chmod(0o644)
    fresh.replace(path)
