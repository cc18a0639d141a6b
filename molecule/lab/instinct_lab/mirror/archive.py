# SPDX-License-Identifier: Apache-2.0
"""Make the packages of /ubuntu, the stand-in of the distribution's archive: shadows of AMD's names, and kernels."""

from __future__ import annotations

from typing import Any

from .data import load
from .deb import Entry, Package
from .userspace import LABEL, MAINTAINER

_RUN_HOOKS = "[ ! -d /etc/kernel/{hooks} ] || run-parts --report --exit-on-error --arg={kernel} /etc/kernel/{hooks}"


def suites() -> dict[str, list[Package]]:
    """Return the packages of each suite."""
    raw = load("archive.yml")
    shadows = [_shadow(name, raw["shadows"]["version"], spec) for name, spec in raw["shadows"]["packages"].items()]
    return {suite: shadows + _kernels(spec) for suite, spec in raw["suites"].items()}


def _package(
    name: str,
    version: str,
    about: str,
    entries: list[Entry],
    fields: tuple[tuple[str, str], ...] = (),
    scripts: tuple[tuple[str, str], ...] = (),
) -> Package:
    base = (("Maintainer", MAINTAINER), ("Section", "misc"), ("Priority", "optional"))
    note = Entry(f"/usr/share/doc/{name}/STAND-IN", f"{LABEL}\n".encode())
    return Package(
        name, version, "amd64", f"{about} (lab stand-in)", LABEL, (*base, *fields), (*entries, note), scripts
    )


def _shadow(name: str, version: str, spec: dict[str, Any]) -> Package:
    script = (
        f"#!/bin/sh\n# {LABEL}\necho '{name} {version}: the distribution'\\''s, lab stand-in' >&2\nexit 1\n".encode()
    )
    entries = [
        Entry(path, script, mode=0o755) if path.startswith("/usr/bin/") else Entry(path, LABEL.encode())
        for path in spec["files"]
    ]
    return _package(name, version, spec["about"], entries)


def _kernels(spec: dict[str, Any]) -> list[Package]:
    packages: list[Package] = []
    for kernel, version in spec["kernels"].items():
        packages += [_image(kernel, version), _modules_extra(kernel, version), _headers(kernel, version)]
    for name, meta in spec["metas"].items():
        depends = (("Depends", ", ".join(meta["depends"])),)
        packages.append(_package(name, meta["version"], "kernel meta package", [], depends))
    return packages


def _image(kernel: str, version: str) -> Package:
    text = f"{LABEL} It cannot be booted.\n".encode()
    config = "# Lab stand-in\nCONFIG_HSA_AMD=y\nCONFIG_PCI_P2PDMA=y\nCONFIG_IOMMU_DEFAULT_DMA_LAZY=y\nCONFIG_NUMA_BALANCING=y\n"
    entries = [
        Entry(f"/boot/vmlinuz-{kernel}", text, mode=0o600),
        Entry(f"/boot/config-{kernel}", config.encode()),
        Entry(f"/lib/modules/{kernel}/modules.builtin"),
        Entry(f"/lib/modules/{kernel}/modules.order"),
    ]
    hooks = _RUN_HOOKS.format(hooks="postinst.d", kernel=kernel)
    script = f'#!/bin/sh\n# {LABEL}\nset -e\n[ "$1" = configure ] || exit 0\n{hooks}\n'
    return _package(f"linux-image-{kernel}", version, f"kernel {kernel}", entries, (), (("postinst", script),))


def _modules_extra(kernel: str, version: str) -> Package:
    return _package(
        f"linux-modules-extra-{kernel}", version, f"more modules of kernel {kernel}", [],
        (("Depends", f"linux-image-{kernel}"),),
    )  # fmt: skip


def _headers(kernel: str, version: str) -> Package:
    source = f"/usr/src/linux-headers-{kernel}"
    entries = [
        Entry(f"{source}/Makefile", f"# {LABEL}\n".encode()),
        Entry(f"{source}/.config", b"CONFIG_MODULES=y\n"),
        Entry(f"{source}/include/config/kernel.release", f"{kernel}\n".encode()),
        Entry(f"{source}/include/generated/utsrelease.h", f'#define UTS_RELEASE "{kernel}"\n'.encode()),
        Entry(f"/lib/modules/{kernel}/build", target=source),
    ]
    hooks = _RUN_HOOKS.format(hooks="header_postinst.d", kernel=kernel)
    script = f'#!/bin/sh\n# {LABEL}\nset -e\n[ "$1" = configure ] || exit 0\n{hooks}\n'
    # Ubuntu's package provides linux-headers too, which is what dkms recommends.
    provides = (("Provides", "linux-headers, linux-headers-3.0"),)
    name = f"linux-headers-{kernel}"
    return _package(name, version, f"headers of kernel {kernel}", entries, provides, (("postinst", script),))
