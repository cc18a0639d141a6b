# SPDX-License-Identifier: Apache-2.0
"""The whole tree: equal for equal input, and signed, unsigned and expired suites as gpgv sees them."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest

from instinct_lab.mirror import aptrepo, build, signing

needs_gpg = pytest.mark.skipif(not (shutil.which("gpg") and shutil.which("gpgv")), reason="gpg or gpgv is not here")
SUITE = "rocm/apt/5.4.2/dists/jammy"


def write(root: Path, wanted: str) -> None:
    made: dict[tuple[str, str], bytes] = {}
    for suite in build.suites():
        if suite.folder == wanted:
            aptrepo.write(root, suite, made)


def digest(root: Path) -> str:
    total = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        total.update(path.relative_to(root).as_posix().encode() + (path.read_bytes() if path.is_file() else b""))
    return total.hexdigest()


def test_a_suite_is_written_the_same_twice(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write(tmp_path / name, SUITE)
    assert digest(tmp_path / "one") == digest(tmp_path / "two")


def test_the_mirror_has_the_suites_of_each_release() -> None:
    assert sorted(suite.folder for suite in build.suites()) == [
        "amdgpu/22.20/ubuntu/dists/focal",
        "amdgpu/5.4.2/ubuntu/dists/focal",
        "amdgpu/5.4.2/ubuntu/dists/jammy",
        "amdgpu/5.7.1/ubuntu/dists/focal",
        "amdgpu/5.7.1/ubuntu/dists/jammy",
        "amdgpu/6.1/ubuntu/dists/focal",
        "amdgpu/6.1/ubuntu/dists/jammy",
        "rocm/apt/5.2/dists/focal",
        "rocm/apt/5.2/dists/ubuntu",
        "rocm/apt/5.4.2/dists/focal",
        "rocm/apt/5.4.2/dists/jammy",
        "rocm/apt/5.7.1/dists/focal",
        "rocm/apt/5.7.1/dists/jammy",
        "rocm/apt/6.1/dists/focal",
        "rocm/apt/6.1/dists/jammy",
        "ubuntu/dists/focal",
        "ubuntu/dists/jammy",
    ]


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("state") / "keys"
    signing.ensure_key(folder)
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / SUITE).mkdir(parents=True)
    (tmp_path / SUITE / "Release").write_text("Origin: repo.radeon.com\nArchitectures: amd64\n")
    return tmp_path


def verifies(keys: Path, *files: Path) -> bool:
    keyring = ["--keyring", str(keys / "lab-key.gpg")]
    return subprocess.run(["gpgv", *keyring, *map(str, files)], check=False, capture_output=True).returncode == 0


@needs_gpg
def test_the_secret_key_is_the_owners_alone_and_is_made_once(keys: Path) -> None:
    assert (keys / "lab-secret.asc").stat().st_mode & 0o777 == 0o600
    assert keys.stat().st_mode & 0o777 == 0o700
    assert len(signing.ensure_key(keys)) == 40
    assert signing.ensure_key(keys) == (keys / "lab-fingerprint").read_text().strip()


@needs_gpg
def test_a_signed_suite_verifies_both_ways(keys: Path, root: Path) -> None:
    signing.apply(root, [SUITE], keys)
    assert verifies(keys, root / SUITE / "InRelease")
    assert verifies(keys, root / SUITE / "Release.gpg", root / SUITE / "Release")
    assert signing.variant_of(root) == "signed"


@needs_gpg
def test_an_unsigned_suite_is_plain_text_and_can_be_signed_again(keys: Path, root: Path) -> None:
    signing.apply(root, [SUITE], keys)
    signing.apply(root, [SUITE], keys, "unsigned")
    assert (root / SUITE / "InRelease").read_bytes() == (root / SUITE / "Release").read_bytes()
    assert not (root / SUITE / "Release.gpg").exists()
    assert signing.variant_of(root) == "unsigned"
    signing.apply(root, [SUITE], keys)
    assert verifies(keys, root / SUITE / "InRelease")


@needs_gpg
def test_an_expired_suite_is_signed_and_says_since_when(keys: Path, root: Path) -> None:
    signing.apply(root, [SUITE], keys, "expired")
    assert verifies(keys, root / SUITE / "InRelease")
    assert "\nValid-Until: Thu, 09 Feb 2023 00:00:00 UTC\n" in (root / SUITE / "InRelease").read_text()


def test_an_unknown_variant_is_refused(root: Path) -> None:
    with pytest.raises(ValueError, match="unknown variant 'torn': known are signed, unsigned, expired, foreign"):
        signing.apply(root, [SUITE], root, "torn")
