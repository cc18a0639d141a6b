# SPDX-License-Identifier: Apache-2.0
"""A signature counts only when it is good, of the pinned key, and the key is not over."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ansible_collections.instinct.bringup.plugins.module_utils.command_runner import Result, run_command
from ansible_collections.instinct.bringup.plugins.module_utils.gpgv import (
    SignatureProblem,
    good_signers,
    verify_signature,
)
from ansible_collections.instinct.bringup.plugins.module_utils.openpgp import dearmour

KEY = "67B2A173080A93D284651B736D6CE04742DFAB73"
EXPIRED = "D44A3ED471281464BE0A0A1A271B0E3470C3791E"

needs_gpgv = pytest.mark.skipif(shutil.which("gpgv") is None, reason="gpgv is not here")


@pytest.fixture
def made(repository: Path) -> Path:
    return repository / "tests/fixtures/made_repository"


@needs_gpgv
@pytest.mark.parametrize("detached", [False, True], ids=["InRelease", "Release and Release.gpg"])
def test_a_good_signature_passes(made: Path, detached: bool) -> None:
    signed = (made / ("Release" if detached else "InRelease")).read_bytes()
    signature = (made / "Release.gpg").read_bytes() if detached else None
    verify_signature(run_command, dearmour((made / "key.asc").read_bytes()), KEY, signed, signature)


@needs_gpgv
@pytest.mark.parametrize(
    ("keyring", "fingerprint", "file", "change", "said"),
    [
        ("key.asc", KEY, "Release", b"", "carries no signature"),
        ("key.asc", KEY, "InRelease", b"main", "does not fit the content"),
        ("expired.asc", EXPIRED, "InRelease", b"", "signed by another key"),
        ("two-keys.asc", KEY, "InRelease.expired-key", b"", "has expired"),
        ("expired.asc", EXPIRED, "InRelease.expired-key", b"", "has expired"),
    ],
    ids=["unsigned", "changed", "another key", "expired other", "expired"],
)
def test_anything_else_is_said(made: Path, keyring: str, fingerprint: str, file: str, change: bytes, said: str) -> None:
    signed = (made / file).read_bytes()
    signed = signed.replace(change, b"mean") if change else signed
    with pytest.raises(SignatureProblem, match=said):
        verify_signature(run_command, dearmour((made / keyring).read_bytes()), fingerprint, signed, None)


def test_a_node_without_gpgv_is_told_what_to_install() -> None:
    with pytest.raises(SignatureProblem, match="install the package gpgv"):
        verify_signature(lambda argv: Result(127, "", "gpgv: No such file or directory"), b"", KEY, b"", None)


@pytest.mark.parametrize(
    ("lines", "signers"),
    [
        (["GOODSIG 1 n", f"VALIDSIG SUB 2020 0 {KEY}"], [KEY]),
        (["EXPKEYSIG 1 n", f"VALIDSIG {KEY} 2020 0 {KEY}"], []),
        (["REVKEYSIG 1 n", f"VALIDSIG {KEY} 2020 0 {KEY}"], []),
        (["GOODSIG 1 n", f"VALIDSIG {KEY} {KEY}", "BADSIG 2 n"], []),
        (["GOODSIG 1 n", f"VALIDSIG {KEY} {KEY}", "ERRSIG 2", "NO_PUBKEY 2"], [KEY]),
        (["ERRSIG 2", f"VALIDSIG {KEY} {KEY}"], []),
        ([], []),
    ],
    ids=["subkey", "expired", "revoked", "one bad", "one unknown", "error", "nothing"],
)
def test_only_good_signatures_count(lines: list[str], signers: list[str]) -> None:
    assert good_signers([line.split() for line in lines]) == signers


def test_a_folder_that_is_full_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(folder: str, files: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("ansible_collections.instinct.bringup.plugins.module_utils.gpgv._write", full)
    monkeypatch.setenv("TMPDIR", "/tmp")
    with pytest.raises(SignatureProblem, match="could not be written to /tmp: No space left on device"):
        verify_signature(run_command, b"", KEY, b"", None)
