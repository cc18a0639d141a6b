# SPDX-License-Identifier: Apache-2.0
"""A suite on disk: indexes, their hashes in Release, and the pool."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

import pytest

from instinct_lab.mirror import aptrepo
from instinct_lab.mirror.aptrepo import Suite
from instinct_lab.mirror.deb import Package

PACKAGES = (
    Package("rocm-core", "5.4.2.50402-104~22.04", "amd64", "a core", "text"),
    Package("libdrm-amdgpu-amdgpu1", "1:2.4.113.50402-1528701.22.04", "amd64", "a library", "text"),
)
SUITE = Suite("rocm/apt/5.4.2", "jammy", "main", "repo.radeon.com", "repo.radeon.com", PACKAGES, ("proprietary",))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    aptrepo.write(tmp_path, SUITE, {})
    return tmp_path


def test_the_pool_is_laid_out_as_debians(root: Path) -> None:
    names = sorted(path.relative_to(root / SUITE.repository).as_posix() for path in root.rglob("*.deb"))
    assert names == [
        "pool/main/libd/libdrm-amdgpu-amdgpu1/libdrm-amdgpu-amdgpu1_2.4.113.50402-1528701.22.04_amd64.deb",
        "pool/main/r/rocm-core/rocm-core_5.4.2.50402-104~22.04_amd64.deb",
    ]


def test_the_release_file_has_the_origin_that_pins_match(root: Path) -> None:
    lines = (root / SUITE.folder / "Release").read_text().splitlines()
    assert "Origin: repo.radeon.com" in lines
    assert "Components: main proprietary" in lines
    assert "Date: Wed, 08 Feb 2023 00:00:00 UTC" in lines


def test_the_release_file_hashes_every_index(root: Path) -> None:
    folder = root / SUITE.folder
    text = (folder / "Release").read_text().split("SHA256:\n")[1].split("SHA512:")[0]
    rows = {row.split()[2]: row.split()[:2] for row in text.splitlines()}
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("Packages*")}
    assert set(rows) == found
    for name, (digest, size) in rows.items():
        content = (folder / name).read_bytes()
        assert (digest, int(size)) == (hashlib.sha256(content).hexdigest(), len(content))


def test_each_stanza_names_its_file_by_hash(root: Path) -> None:
    packed = (root / SUITE.folder / "main" / "binary-amd64" / "Packages.gz").read_bytes()
    for stanza in gzip.decompress(packed).decode().strip().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in stanza.splitlines() if not line.startswith(" "))
        content = (root / SUITE.repository / fields["Filename"]).read_bytes()
        assert fields["SHA256"] == hashlib.sha256(content).hexdigest()
        assert int(fields["Size"]) == len(content)
