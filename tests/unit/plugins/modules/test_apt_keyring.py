# SPDX-License-Identifier: Apache-2.0
"""The module installs the pinned key and nothing else."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

WANTED = "67B2A173080A93D284651B736D6CE04742DFAB73"
EXPIRED = "D44A3ED471281464BE0A0A1A271B0E3470C3791E"


@pytest.fixture
def made(repository: Path, web: tuple[str, Path]) -> str:
    """Serve the made keys; return the URL of their folder."""
    shutil.copytree(repository / "tests/fixtures/made_repository", web[1] / "made")
    (web[1] / "made/page.html").write_text("<!DOCTYPE html><title>404 Not Found</title>", encoding="ascii")
    return f"{web[0]}/made"


@pytest.fixture
def keyring(tmp_path: Path) -> Path:
    return tmp_path / "keyrings/rocm.gpg"


def install(run_module: Any, made: str, keyring: Path, file: str = "key.asc", **other: Any) -> dict[str, Any]:
    options = {"url": f"{made}/{file}", "path": str(keyring), "fingerprint": WANTED, "timeout": 5, **other}
    answer: dict[str, Any] = run_module("apt_keyring", **options)
    return answer


def test_check_mode_verifies_and_writes_nothing(run_module: Any, made: str, keyring: Path) -> None:
    answer = install(run_module, made, keyring, check=True)
    assert (answer["changed"], answer["fingerprint"], answer["expires"]) == (True, WANTED, None)
    assert not keyring.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="a keyring belongs to root")
def test_the_keyring_is_written_once_in_binary_form(run_module: Any, made: str, keyring: Path) -> None:
    assert install(run_module, made, keyring)["changed"]
    assert keyring.read_bytes()[0] & 0x80
    assert keyring.stat().st_mode & 0o7777 == 0o644
    assert not install(run_module, made, keyring)["changed"]


@pytest.mark.parametrize(
    ("file", "fingerprint", "said"),
    [
        ("missing.asc", WANTED, "HTTP 404"),
        ("page.html", WANTED, "<!DOCTYPE"),
        ("key.asc", EXPIRED, f"does not hold the key {EXPIRED}; it holds {WANTED}"),
        ("key.asc", WANTED[-16:], "not a full one"),
        ("expired.asc", EXPIRED, "expired on 2020-02-01T00:00:00Z"),
        ("two-keys.asc", WANTED, f"further keys beside {WANTED}: {EXPIRED}"),
    ],
    ids=["404", "a web page", "another key", "a short id", "expired", "a second key"],
)
def test_what_is_not_the_pinned_key_leaves_the_keyring(
    run_module: Any, made: str, keyring: Path, file: str, fingerprint: str, said: str
) -> None:
    keyring.parent.mkdir()
    keyring.write_bytes(b"as it was")
    answer = install(run_module, made, keyring, file, fingerprint=fingerprint)
    assert answer["failed"]
    assert said in answer["msg"]
    assert keyring.read_bytes() == b"as it was"


def test_a_password_in_the_url_is_never_printed(run_module: Any, made: str, keyring: Path) -> None:
    url = made.replace("http://", "http://deploy:hunter2secret@") + "/missing.asc"
    answer = run_module("apt_keyring", url=url, path=str(keyring), fingerprint=WANTED)
    assert answer["failed"]
    assert "HTTP 404" in answer["msg"]
    assert "hunter2secret" not in str(answer)
