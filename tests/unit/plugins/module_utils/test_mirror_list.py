# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import gzip
import hashlib

import pytest

from ansible_collections.instinct.bringup.plugins.module_utils.mirror_list import closure, read_index, wheels_of
from ansible_collections.instinct.bringup.plugins.module_utils.release_file import RepositoryProblem

TEXT = """Package: rocm-hip-sdk
Version: 5.4.2.50402-104~22.04
Depends: rocm-core (= 5.4.2.50402-104~22.04), libc6 (>= 2.34), python3 | python3-minimal
Filename: pool/main/r/rocm-hip-sdk.deb
SHA256: aa
Size: 10

Package: rocm-core
Version: 5.4.2.50402-104~22.04
Filename: pool/main/r/rocm-core.deb
SHA256: bb
Size: 20

Package: rocm-dev
Version: 5.4.2.50402-104~22.04
Filename: pool/main/r/rocm-dev.deb
"""
DATA = gzip.compress(TEXT.encode())
RELEASE = f"Origin: x\nSHA256:\n {hashlib.sha256(DATA).hexdigest()} {len(DATA)} main/binary-amd64/Packages.gz\n"


def test_what_the_wanted_packages_need_and_no_more() -> None:
    packages = read_index("http://mirror.example/rocm/", "jammy", RELEASE, lambda _url: DATA)
    chosen, others, missing = closure(packages, {"rocm-hip-sdk": "*.50402-*22.04"})
    assert [(item.name, item.url, item.sha256, item.size) for item in chosen] == [
        ("rocm-core", "http://mirror.example/rocm/pool/main/r/rocm-core.deb", "bb", 20),
        ("rocm-hip-sdk", "http://mirror.example/rocm/pool/main/r/rocm-hip-sdk.deb", "aa", 10),
    ]
    assert (others, missing) == (["libc6", "python3"], [])


def test_what_is_wanted_and_not_there_is_named_with_its_version() -> None:
    packages = read_index("http://m", "jammy", RELEASE, lambda _url: DATA)
    assert closure(packages, {"rocm-hip-sdk": "*.50701-*", "x": "*"})[2] == ["rocm-hip-sdk *.50701-*", "x *"]


def test_an_index_that_the_signed_release_does_not_name_is_refused() -> None:
    with pytest.raises(RepositoryProblem, match="in the middle of a sync"):
        read_index("http://m", "jammy", RELEASE, lambda _url: DATA + b"x")


def test_the_wheels_of_a_lock() -> None:
    lock = "torch==2.0.1+rocm5.4.2 \\\n    --hash=sha256:" + "a" * 64 + "\n"
    assert wheels_of(lock) == [{"name": "torch", "version": "2.0.1+rocm5.4.2", "sha256": ["a" * 64]}]


def test_what_apt_installs_too_and_what_only_another_name_gives_is_listed() -> None:
    text = (
        "Package: sdk\nVersion: 1\nFilename: sdk.deb\nDepends: hip-runtime\nRecommends: docs, man-db\n\n"
        "Package: hip-runtime-amd\nVersion: 1\nFilename: hip.deb\nProvides: hip-runtime (= 1)\n\n"
        "Package: docs\nVersion: 1\nFilename: docs.deb\n"
    )
    data = gzip.compress(text.encode())
    release = f"SHA256:\n {hashlib.sha256(data).hexdigest()} {len(data)} main/binary-amd64/Packages.gz\n"
    chosen, others, _missing = closure(read_index("http://m", "jammy", release, lambda _url: data), {"sdk": "*"})
    assert [item.name for item in chosen] == ["docs", "hip-runtime-amd", "sdk"]
    assert others == ["man-db"]
