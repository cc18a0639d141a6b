# SPDX-License-Identifier: Apache-2.0
"""Read the mirror's data files into values, one per ROCm release."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import yaml

DATA_DIR = Path(__file__).resolve().parent / "data"
FILES_DIR = Path(__file__).resolve().parent / "files"


@dataclasses.dataclass(frozen=True)
class Driver:
    """The amdgpu driver of a release. Version texts hold `{os}` for 20.04 or 22.04."""

    path: str
    suites: dict[str, str]
    version: str
    dkms: str
    module: str
    fails_on: tuple[str, ...]
    core: str
    libdrm: str


@dataclasses.dataclass(frozen=True)
class Installer:
    """Where the amdgpu-install package of a release lies, and the ROCm suite that its list names."""

    path: str
    version: str
    suites: tuple[str, ...]
    rocm_suite: dict[str, str]


@dataclasses.dataclass(frozen=True)
class Release:
    """One ROCm release of the mirror. `code` is 50402 for 5.4.2; `tail` ends every user-space version."""

    rocm: str
    code: str
    build: str
    tail: str
    path: str
    suites: dict[str, str]
    versions: dict[str, str]
    packages: dict[str, dict[str, Any]]
    driver: Driver
    installer: Installer

    @property
    def prefix(self) -> str:
        """Return /opt/rocm-X.Y.Z."""
        return f"/opt/rocm-{self.rocm}"

    def version(self, package: str, os_version: str) -> str:
        """Return a package's full version on one Ubuntu, as 2.13.4.50402-104~22.04."""
        return f"{self.versions[package]}.{self.code}-{self.build}{self.tail.format(os=os_version)}"


def load(name: str) -> Any:
    """Read one YAML file of the data folder."""
    return yaml.safe_load((DATA_DIR / name).read_text(encoding="utf-8"))


def releases() -> list[Release]:
    """Return every release that has a file, oldest first."""
    userspace: dict[str, dict[str, Any]] = load("userspace.yml")
    names = sorted(path.name for path in DATA_DIR.glob("release-*.yml"))
    return [_release(load(name), userspace) for name in names]


def _release(raw: dict[str, Any], userspace: dict[str, dict[str, Any]]) -> Release:
    unknown = set(raw["versions"]) - set(userspace)
    if unknown:
        raise ValueError(f"release {raw['rocm']}: not in userspace.yml: {', '.join(sorted(unknown))}")
    overrides = raw.get("overrides", {})
    packages = {name: {**userspace[name], **overrides.get(name, {})} for name in raw["versions"]}
    driver, installer = raw["driver"], raw["installer"]
    return Release(
        rocm=raw["rocm"],
        code=raw["code"],
        build=raw["build"],
        tail=raw["tail"],
        path=raw["path"],
        suites=raw["suites"],
        versions={name: str(version) for name, version in raw["versions"].items()},
        packages=packages,
        driver=Driver(**{**driver, "fails_on": tuple(driver["fails_on"])}),
        installer=Installer(
            path=installer["path"],
            version=installer["version"],
            suites=tuple(installer["suites"]),
            rocm_suite=installer.get("rocm_suite", {}),
        ),
    )
