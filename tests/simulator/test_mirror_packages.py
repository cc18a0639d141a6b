# SPDX-License-Identifier: Apache-2.0
"""The mirror's data: real versions, dependencies that hold, and shadows that win without a pin."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from instinct_lab.mirror import archive, data, driver, installer, userspace
from instinct_lab.mirror.deb import Package

RELEASES = {release.rocm: release for release in data.releases()}
# What the packages want of Debian itself.
DEBIAN = {"dkms", "libdrm-amdgpu1"}


def packages(rocm: str, os_version: str) -> dict[str, Package]:
    release = RELEASES[rocm]
    made = userspace.packages(release, os_version) + driver.packages(release, os_version)
    return {package.name: package for package in made}


ALL = sorted({(rocm, suite) for rocm, release in RELEASES.items() for suite in release.suites.values()})


def depends(package: Package) -> list[str]:
    return [item.strip() for item in dict(package.fields).get("Depends", "").split(",") if item.strip()]


@pytest.mark.parametrize(
    ("rocm", "os_version", "name", "version"),
    [
        ("5.2.0", "20.04", "rocm-core", "5.2.0.50200-65"),
        ("5.2.0", "20.04", "rccl", "2.11.4.50200-65"),
        ("5.2.0", "20.04", "amdgpu-dkms", "1:5.16.9.22.20-1438746~20.04"),
        ("5.4.2", "20.04", "rocm-hip-sdk", "5.4.2.50402-104~20.04"),
        ("5.4.2", "22.04", "rocm-hip-sdk", "5.4.2.50402-104~22.04"),
        ("5.4.2", "22.04", "rccl", "2.13.4.50402-104~22.04"),
        ("5.4.2", "22.04", "comgr", "2.4.0.50402-104~22.04"),
        ("5.4.2", "22.04", "hsa-rocr", "1.7.0.50402-104~22.04"),
        ("5.4.2", "22.04", "hip-runtime-amd", "5.4.22803.50402-104~22.04"),
        ("5.4.2", "22.04", "rocm-llvm", "15.0.0.22506.50402-104~22.04"),
        ("5.7.1", "22.04", "rccl", "2.17.1.50701-98~22.04"),
        ("5.7.1", "22.04", "hsa-amd-aqlprofile", "1.0.0.50701.50701-98~22.04"),
        ("5.7.1", "22.04", "amdgpu-dkms", "1:6.2.4.50701-1664922.22.04"),
    ],
)
def test_versions_are_the_vendors(rocm: str, os_version: str, name: str, version: str) -> None:
    assert packages(rocm, os_version)[name].version == version


@pytest.mark.parametrize(("rocm", "os_version"), ALL)
def test_every_dependency_is_in_the_mirror_in_the_wanted_version(rocm: str, os_version: str) -> None:
    made = packages(rocm, os_version)
    for package in made.values():
        for item in depends(package):
            for choice in item.split("|"):
                match = re.fullmatch(r"(\S+)(?: \((=|>=) (\S+)\))?", choice.strip())
                assert match, f"{package.name}: {item}"
                name, operator, version = match.groups()
                assert name in made or name in DEBIAN, f"{package.name} wants {name}"
                if operator == "=":
                    assert made[name].version == version


@pytest.mark.parametrize(("rocm", "os_version"), ALL)
def test_no_path_has_two_owners(rocm: str, os_version: str) -> None:
    owners: dict[str, str] = {}
    # The forms for several releases side by side (rccl5.4.2) hold the same paths and conflict with the plain ones.
    plain = [package for package in packages(rocm, os_version).values() if not package.name.endswith(rocm)]
    for package in plain:
        for entry in package.entries:
            assert entry.path not in owners, f"{entry.path}: {owners[entry.path]} and {package.name}"
            owners[entry.path] = package.name


@pytest.mark.parametrize(("rocm", "os_version"), ALL)
def test_every_package_says_that_it_is_a_stand_in(rocm: str, os_version: str) -> None:
    made = [*packages(rocm, os_version).values(), *archive.suites()["jammy"]]
    assert all("stand-in" in package.summary and "Stand-in" in package.description for package in made)


def test_the_sdk_pulls_rccl_and_the_compiler_in_exact_versions() -> None:
    wanted = depends(packages("5.4.2", "22.04")["rocm-hip-sdk"])
    assert "rccl-dev (= 2.13.4.50402-104~22.04)" in wanted
    assert "rocm-llvm (= 15.0.0.22506.50402-104~22.04)" in wanted
    assert not any(item.startswith("miopen") for item in wanted)


def test_a_versioned_package_wants_versioned_ones_and_excludes_the_plain_one() -> None:
    package = packages("5.4.2", "22.04")["rocm-hip-sdk5.4.2"]
    assert package.version == "5.4.2.50402-104~22.04"
    assert dict(package.fields)["Conflicts"] == "rocm-hip-sdk"
    assert all(re.match(r"\S+5\.4\.2 \(= ", item) for item in depends(package))


def test_rccl_has_the_soname_link_and_the_dev_package_the_bare_one() -> None:
    made = packages("5.4.2", "22.04")
    links = {entry.path: entry.target for entry in made["rccl"].entries + made["rccl-dev"].entries if entry.target}
    assert links == {
        "/opt/rocm-5.4.2/lib/librccl.so.1": "librccl.so.1.0.50402",
        "/opt/rocm-5.4.2/lib/librccl.so": "librccl.so.1",
    }


def test_the_core_owns_the_version_file_and_the_alternative() -> None:
    core = packages("5.4.2", "22.04")["rocm-core"]
    assert b"5.4.2-104\n" in [e.content for e in core.entries if e.path == "/opt/rocm-5.4.2/.info/version"]
    assert "--install /opt/rocm rocm /opt/rocm-5.4.2" in dict(core.scripts)["postinst"]
    assert "--remove rocm /opt/rocm-5.4.2" in dict(core.scripts)["prerm"]


@pytest.mark.skipif(shutil.which("dpkg") is None, reason="dpkg is not here")
@pytest.mark.parametrize("name", ["rocminfo", "rocm-cmake", "rocm-device-libs"])
def test_the_distributions_version_is_higher_than_the_vendors(name: str) -> None:
    shadow = next(package.version for package in archive.suites()["jammy"] if package.name == name)
    vendor = packages("5.4.2", "22.04")[name].version
    assert subprocess.run(["dpkg", "--compare-versions", vendor, "lt", shadow], check=False).returncode == 0


@pytest.mark.parametrize(
    ("rocm", "suite", "name", "line"),
    [
        ("5.2.0", "focal", "rocm", "deb [arch=amd64] http://mirror.lab/rocm/apt/5.2 ubuntu main\n"),
        ("5.4.2", "jammy", "rocm", "deb [arch=amd64] http://mirror.lab/rocm/apt/5.4.2 jammy main\n"),
        ("5.4.2", "focal", "amdgpu", "deb http://mirror.lab/amdgpu/5.4.2/ubuntu focal main\n"),
    ],
)
def test_the_installer_brings_the_releases_lists(rocm: str, suite: str, name: str, line: str) -> None:
    package = installer.package(RELEASES[rocm], suite, "http://mirror.lab", b"key")
    found = {entry.path: entry for entry in package.entries}
    entry = found[f"/etc/apt/sources.list.d/{name}.list"]
    assert entry.conffile
    assert entry.content.decode().startswith(line)
    assert found["/etc/apt/trusted.gpg.d/rocm-keyring.gpg"].content == b"key"


def test_installers_have_the_vendors_file_names() -> None:
    names = {rocm: installer.package(release, "focal", "http://m", b"").file_name for rocm, release in RELEASES.items()}
    assert names == {
        "5.2.0": "amdgpu-install_22.20.50200-1_all.deb",
        "5.4.2": "amdgpu-install_5.4.50402-1_all.deb",
        "5.7.1": "amdgpu-install_5.7.50701-1_all.deb",
        "6.1.0": "amdgpu-install_6.1.60100-1_all.deb",
    }
