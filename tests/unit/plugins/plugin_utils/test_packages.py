# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from ansible_collections.instinct.bringup.plugins.plugin_utils.catalog import default_catalog
from ansible_collections.instinct.bringup.plugins.plugin_utils.packages import PackageFamilies, Vendor, decode_release

FAMILIES = PackageFamilies(default_catalog())

# Version strings as public logs and repositories show them.
VENDOR = [
    ("rocm-hip-sdk", "5.4.3.50403-121~22.04", Vendor("5.4.3", "22.04")),
    ("rocm-core", "6.4.1.60401-83~22.04", Vendor("6.4.1", "22.04")),
    ("rocminfo", "1.0.0.50103-66", Vendor("5.1.3", None)),
    ("comgr", "2.4.0.50402-104~20.04", Vendor("5.4.2", "20.04")),
    ("hip-runtime-amd5.4.2", "5.4.22803.50402-104~22.04", Vendor("5.4.2", "22.04")),
    ("rccl-dev", "2.13.4.50402-104~22.04", Vendor("5.4.2", "22.04")),
    ("amdgpu-dkms", "1:5.18.13.50403-1538762.22.04", Vendor("5.4.3", "22.04")),
    ("amdgpu-dkms", "1:6.14.14.30100200-2226257.24.04", Vendor("7.0.2", "24.04")),
    ("amdgpu-dkms", "1:6.14.14.30100000-2204008.24.04", Vendor("7.0.0", "24.04")),
    ("amdgpu-dkms", "1:6.99.1.39990000-2999999.24.04", Vendor(None, "24.04")),
    ("amdgpu-dkms", "1:5.16.9.22.20-1438746~20.04", Vendor("5.2.0", "20.04")),
    ("amdgpu-dkms", "1:9.9.9-unheard-of", Vendor(None, None)),
    ("amdgpu-install", "5.4.50402-1", Vendor("5.4.2", None)),
    ("amdgpu-install", "22.20.50200-1", Vendor("5.2.0", None)),
    ("libdrm-amdgpu-amdgpu1", "1:2.4.123.60302-2109964.24.04", Vendor("6.3.2", "24.04")),
    ("amdgpu-core", "6.2.60203-2044426.22.04", Vendor("6.2.3", "22.04")),
    ("rocm-core5.7.1", "5.7.1.50701-98~22.04", Vendor("5.7.1", "22.04")),
]
NOT_VENDOR = [
    ("rocminfo", "5.0.0-1"),
    ("hipcc", "5.7.1-3"),
    ("rocminfo", "7.1.1-0ubuntu1"),
    ("libdrm-amdgpu1", "2.4.113-2~ubuntu0.22.04.1"),
    ("libamdhip64-5", "5.2.3-12"),
    ("libhsa-runtime64-1", "5.0.0-1"),
    ("libucx0", "1.12.1-1ubuntu1"),
    ("libopenmpi3", "4.1.2-2ubuntu1"),
    ("half", "2.1.0-1"),
    ("site-tool", "1.2.50402-7"),
    ("linux-image-5.15.0-91-generic", "5.15.0-91.101"),
]


@pytest.mark.parametrize(("name", "version", "expected"), VENDOR, ids=lambda value: str(value))
def test_amds_builds_are_told_by_name_and_version(name: str, version: str, expected: Vendor) -> None:
    assert FAMILIES.classify(name, version) == expected


@pytest.mark.parametrize(("name", "version"), NOT_VENDOR, ids=lambda value: str(value))
def test_a_distributions_packages_are_never_amds(name: str, version: str) -> None:
    assert FAMILIES.classify(name, version) is None


def test_a_family_name_needs_the_whole_name() -> None:
    assert not FAMILIES.is_family_name("librocminfo-extra")
    assert FAMILIES.is_family_name("rocblas-dev")


@pytest.mark.parametrize(
    ("encoded", "release"),
    [("50402", "5.4.2"), ("60002", "6.0.2"), ("70201", "7.2.1"), ("0", None), ("30100200", None)],
)
def test_the_encoded_release_is_decoded(encoded: str, release: str | None) -> None:
    assert decode_release(encoded) == release
