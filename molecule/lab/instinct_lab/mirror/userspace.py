# SPDX-License-Identifier: Apache-2.0
"""Make the ROCm user-space packages of a release from its data."""

from __future__ import annotations

from typing import Any

from . import elf
from .data import Release
from .deb import Entry, Package

LABEL = "Stand-in made by the lab of instinct-bringup: real name, version and dependencies, no real content."
MAINTAINER = "instinct-bringup lab <lab@mirror.lab>"


def packages(release: Release, os_version: str) -> list[Package]:
    """Return every user-space package of the release for one Ubuntu ("20.04").

    Each comes twice, as AMD ships them: `rccl`, and `rccl5.4.2` for hosts with several releases side by side.
    """
    return [
        _package(release, name, spec, os_version, mark)
        for mark in ("", release.rocm)
        for name, spec in release.packages.items()
    ]


def _package(release: Release, name: str, spec: dict[str, Any], os_version: str, mark: str) -> Package:
    fields = [("Maintainer", MAINTAINER), ("Section", "devel"), ("Priority", "optional")]
    depends = _depends(release, name, spec, os_version, mark)
    if depends:
        fields.append(("Depends", ", ".join(depends)))
    if mark:
        # Made: both forms hold the same paths, and how AMD's packages say so was not seen.
        fields.append(("Conflicts", name))
    entries, scripts = _entries(release, name, spec), _scripts(release, name, spec)
    return Package(
        name=f"{name}{mark}",
        version=release.version(name, os_version),
        architecture="amd64",
        summary=f"ROCm {release.rocm} {spec['about']} (lab stand-in)",
        description=LABEL,
        fields=tuple(fields),
        entries=tuple(entries),
        scripts=tuple(scripts),
    )


def _depends(release: Release, name: str, spec: dict[str, Any], os_version: str, mark: str) -> list[str]:
    """List the dependencies; those on ROCm packages that this release does not have are dropped."""
    exact = [item for item in spec.get("exact", ()) if item in release.versions]
    if exact:
        exact.insert(0, "rocm-core")
    out = [f"{item}{mark} (= {release.version(item, os_version)})" for item in exact]
    for item in spec.get("depends", ()):
        if "|" in item:
            out.append(item)
        elif item in release.versions:
            out.append(f"{item}{mark}")
    if name != "rocm-core" and not exact:
        out.append(f"rocm-core{mark}")
    return out


def _entries(release: Release, name: str, spec: dict[str, Any]) -> list[Entry]:
    prefix, note = release.prefix, f"{LABEL}\nPackage {name}, ROCm {release.rocm}.\n".encode()
    entries = [Entry(f"{prefix}/share/doc/{name}/STAND-IN", note)]
    if name == "rocm-core":
        entries += [
            Entry(f"{prefix}/.info/version", f"{release.rocm}-{release.build}\n".encode()),
            Entry(f"{prefix}/lib/librocm-core.so.1.0.{release.code}", elf.shared_library("librocm-core.so.1", LABEL)),
            Entry(f"{prefix}/lib/librocm-core.so.1", target=f"librocm-core.so.1.0.{release.code}"),
        ]
    for library in spec.get("lib", ()):
        entries += _library(release, library)
    for link in spec.get("dev_lib", ()):
        entries.append(Entry(f"{prefix}/lib/{link.split('.so')[0]}.so", target=link))
    for program in spec.get("bin", ()):
        entries.append(Entry(f"{prefix}/bin/{program}", _program(release, name, program), mode=0o755))
    for header in spec.get("header", ()):
        entries.append(Entry(f"{prefix}/include/{header}", f"/* {LABEL} */\n".encode()))
    for path in spec.get("files", ()):
        entries.append(Entry(f"{prefix}/{path}", note, mode=0o755 if "/bin/" in path else 0o644))
    for path, text in spec.get("conffiles", {}).items():
        entries.append(Entry(path, text.format(rocm=release.rocm).encode(), conffile=True))
    return entries


def _library(release: Release, library: str) -> list[Entry]:
    """Return libNAME.so.A.B.NNNNN and its soname link libNAME.so.A."""
    stem, _, version = library.partition(".so.")
    soname = f"{stem}.so.{version.split('.')[0]}"
    text = LABEL
    if stem == "librccl":
        # What the real library prints with NCCL_DEBUG=VERSION, so that a reader of its strings finds the version.
        text += f" RCCL version {release.versions['rccl']}+hip{'.'.join(release.rocm.split('.')[:2])}"
    full = f"{library}.{release.code}"
    return [
        Entry(f"{release.prefix}/lib/{full}", elf.shared_library(soname, text)),
        Entry(f"{release.prefix}/lib/{soname}", target=full),
    ]


def _program(release: Release, package: str, program: str) -> bytes:
    """Return a script that names its version and otherwise says that it is not the tool."""
    return (
        "#!/bin/sh\n"
        f"# {LABEL}\n"
        f'[ "$1" = --version ] && {{ echo "{program} {release.versions[package]} (lab stand-in)"; exit 0; }}\n'
        f'echo "{program}: lab stand-in, does nothing" >&2\nexit 1\n'
    ).encode()


def _scripts(release: Release, name: str, spec: dict[str, Any]) -> list[tuple[str, str]]:
    if name == "rocm-core":
        # As the real package: /opt/rocm is only a link that alternatives keep.
        install = f"update-alternatives --install /opt/rocm rocm {release.prefix} {release.code}"
        return [
            ("postinst", f'#!/bin/sh\nset -e\n[ "$1" != configure ] || {install}\n'),
            (
                "prerm",
                '#!/bin/sh\nset -e\ncase "$1" in remove|upgrade|deconfigure) '
                f"update-alternatives --remove rocm {release.prefix} ;; esac\n",
            ),
        ]
    if spec.get("ldconfig"):
        return [
            ("postinst", '#!/bin/sh\nset -e\n[ "$1" != configure ] || ldconfig\n'),
            ("postrm", '#!/bin/sh\nset -e\n[ "$1" != remove ] || ldconfig\n'),
        ]
    return []
