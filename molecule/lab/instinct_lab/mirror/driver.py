# SPDX-License-Identifier: Apache-2.0
"""Make the packages of a release's driver repository: the dkms module, its firmware and libdrm."""

from __future__ import annotations

from . import elf
from .data import FILES_DIR, Release
from .deb import Entry, Package
from .userspace import LABEL, MAINTAINER

MODULES = ("amdgpu", "amdttm", "amdkcl", "amd-sched")
# The firmware files of gfx90a that the driver asks for.
FIRMWARE = ("mec", "mec2", "rlc", "sdma", "smc", "sos", "ta", "vcn")


def packages(release: Release, os_version: str) -> list[Package]:
    """Return the driver packages for one Ubuntu ("22.04")."""
    driver = release.driver
    version, core, libdrm = (text.format(os=os_version) for text in (driver.version, driver.core, driver.libdrm))
    common = core.split(":")[-1].split("-", 1)[1]
    return [
        _dkms(release, version, os_version),
        _plain("amdgpu-dkms-firmware", version, "all", "firmware for the amdgpu driver", _firmware(release), ()),
        _plain("amdgpu-core", core, "all", "base of the amdgpu packages", _core(), ()),
        _plain(
            "libdrm-amdgpu-common", f"1.0.0.{release.code}-{common}", "all", "libdrm data", _ids(), ("amdgpu-core",)
        ),
        _plain("libdrm-amdgpu-amdgpu1", libdrm, "amd64", "libdrm for amdgpu", _drm(), ("libdrm-amdgpu-common",)),
        _plain("amdgpu-lib", core, "amd64", "meta package of use case graphics", (), (f"amdgpu-core (= {core})",)),
    ]


def _plain(
    name: str, version: str, architecture: str, about: str, entries: tuple[Entry, ...], depends: tuple[str, ...]
) -> Package:
    fields = [("Maintainer", MAINTAINER), ("Section", "kernel"), ("Priority", "optional")]
    if depends:
        fields.append(("Depends", ", ".join(depends)))
    note = Entry(f"/usr/share/doc/{name}/STAND-IN", f"{LABEL}\n".encode())
    return Package(name, version, architecture, f"{about} (lab stand-in)", LABEL, tuple(fields), (*entries, note))


def _core() -> tuple[Entry, ...]:
    text = b"/opt/amdgpu/lib/x86_64-linux-gnu\n"
    return (Entry("/etc/ld.so.conf.d/20-amdgpu.conf", text, conffile=True),)


def _ids() -> tuple[Entry, ...]:
    return (Entry("/opt/amdgpu/share/libdrm/amdgpu.ids", b"# lab stand-in\n740F,\t02,\tAMD Instinct MI210\n"),)


def _drm() -> tuple[Entry, ...]:
    folder = "/opt/amdgpu/lib/x86_64-linux-gnu"
    library = elf.shared_library("libdrm_amdgpu.so.1", LABEL)
    return (
        Entry(f"{folder}/libdrm_amdgpu.so.1.0.0", library),
        Entry(f"{folder}/libdrm_amdgpu.so.1", target="libdrm_amdgpu.so.1.0.0"),
    )


def _firmware(release: Release) -> tuple[Entry, ...]:
    text = f"{LABEL} Driver {release.driver.module}.\n".encode()
    return tuple(Entry(f"/lib/firmware/updates/amdgpu/aldebaran_{part}.bin", text) for part in FIRMWARE)


def _dkms(release: Release, version: str, os_version: str) -> Package:
    """Return amdgpu-dkms: sources whose "build" copies ready modules, driven by the real dkms."""
    dkms_version = release.driver.dkms.format(os=os_version)
    source = f"/usr/src/amdgpu-{dkms_version}"
    values = {
        "@LABEL@": LABEL,
        "@VERSION@": dkms_version,
        "@FAILS_ON@": " ".join(release.driver.fails_on),
        "@MODULES@": " ".join(MODULES),
    }
    conf = [f'PACKAGE_NAME="amdgpu"\nPACKAGE_VERSION="{dkms_version}"\nAUTOINSTALL="yes"\n# {LABEL}\n']
    conf.append('MAKE="sh ./lab-build.sh $kernelver"\nCLEAN="true"\n')
    for index, module in enumerate(MODULES):
        conf.append(f'BUILT_MODULE_NAME[{index}]="{module}"\nDEST_MODULE_LOCATION[{index}]="/updates"\n')
    entries = [
        Entry(f"{source}/dkms.conf", "".join(conf).encode()),
        Entry(f"{source}/lab-build.sh", _fill("lab-build.sh", values).encode(), mode=0o755),
    ]
    for module in MODULES:
        info = {"name": module, "version": release.driver.module, "license": "GPL", "description": LABEL}
        entries.append(Entry(f"{source}/ready/{module}.ko.ready", elf.kernel_module(info)))
    fields = (
        ("Maintainer", MAINTAINER),
        ("Section", "kernel"),
        ("Priority", "optional"),
        ("Depends", f"dkms (>= 1.95), amdgpu-dkms-firmware (= {version})"),
    )
    scripts = tuple((name, _fill(f"amdgpu-dkms.{name}", values)) for name in ("postinst", "prerm"))
    return Package(
        "amdgpu-dkms", version, "all", "amdgpu driver in dkms (lab stand-in)", LABEL, fields, tuple(entries), scripts
    )


def _fill(name: str, values: dict[str, str]) -> str:
    text = (FILES_DIR / name).read_text(encoding="utf-8")
    for key, value in values.items():
        text = text.replace(key, value)
    return text
