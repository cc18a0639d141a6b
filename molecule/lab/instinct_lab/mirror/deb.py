# SPDX-License-Identifier: Apache-2.0
"""Write Debian binary packages without dpkg-deb: the same bytes for the same input, in about a millisecond."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import tarfile
from collections.abc import Iterable

# One date for everything the mirror makes (2023-02-08 UTC, the week of ROCm 5.4.2), so that a rebuild gives equal bytes.
EPOCH = 1675814400


@dataclasses.dataclass(frozen=True)
class Entry:
    """One path of a package: a file, or a link when `target` is set. Paths are absolute."""

    path: str
    content: bytes = b""
    mode: int = 0o644
    target: str | None = None
    conffile: bool = False


@dataclasses.dataclass(frozen=True)
class Package:
    """What a .deb says and holds. `fields` are further control fields, in order."""

    name: str
    version: str
    architecture: str
    summary: str
    description: str
    fields: tuple[tuple[str, str], ...] = ()
    entries: tuple[Entry, ...] = ()
    scripts: tuple[tuple[str, str], ...] = ()

    @property
    def file_name(self) -> str:
        """Name the file as archives do: the epoch is left out."""
        return f"{self.name}_{self.version.split(':', 1)[-1]}_{self.architecture}.deb"


def control_text(package: Package) -> str:
    """Render the control file. Installed-Size is in KiB, each file rounded up as dpkg does."""
    size = sum(-(-len(entry.content) // 1024) for entry in package.entries)
    lines = [f"Package: {package.name}", f"Version: {package.version}", f"Architecture: {package.architecture}"]
    lines += [f"{name}: {value}" for name, value in package.fields]
    lines += [f"Installed-Size: {size}", f"Description: {package.summary}"]
    lines += [f" {line}" if line else " ." for line in package.description.strip().splitlines()]
    return "\n".join(lines) + "\n"


def build(package: Package) -> bytes:
    """Return the .deb as bytes. Members are plain tar: no compressor, so no dependence on its version."""
    return _ar(
        (
            ("debian-binary", b"2.0\n"),
            ("control.tar", _control_tar(package)),
            ("data.tar", _data_tar(package.entries)),
        )
    )


def _control_tar(package: Package) -> bytes:
    members: list[tuple[str, bytes, int]] = [("control", control_text(package).encode(), 0o644)]
    conffiles = [entry.path for entry in package.entries if entry.conffile]
    if conffiles:
        members.append(("conffiles", "".join(f"{path}\n" for path in conffiles).encode(), 0o644))
    sums = [
        f"{hashlib.md5(entry.content, usedforsecurity=False).hexdigest()}  {entry.path.lstrip('/')}\n"
        for entry in package.entries
        if entry.target is None and not entry.conffile
    ]
    members.append(("md5sums", "".join(sums).encode(), 0o644))
    members += [(name, text.encode(), 0o755) for name, text in package.scripts]
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as archive:
        archive.addfile(_info("./", 0o755, tarfile.DIRTYPE))
        for name, content, mode in members:
            info = _info(f"./{name}", mode, tarfile.REGTYPE)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def _data_tar(entries: Iterable[Entry]) -> bytes:
    buffer = io.BytesIO()
    seen = {""}
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as archive:
        archive.addfile(_info("./", 0o755, tarfile.DIRTYPE))
        for entry in sorted(entries, key=lambda item: item.path):
            parts = entry.path.strip("/").split("/")
            for depth in range(1, len(parts)):
                parent = "/".join(parts[:depth])
                if parent not in seen:
                    seen.add(parent)
                    archive.addfile(_info(f"./{parent}/", 0o755, tarfile.DIRTYPE))
            name = "./" + "/".join(parts)
            if entry.target is not None:
                info = _info(name, 0o777, tarfile.SYMTYPE)
                info.linkname = entry.target
                archive.addfile(info)
                continue
            info = _info(name, entry.mode, tarfile.REGTYPE)
            info.size = len(entry.content)
            archive.addfile(info, io.BytesIO(entry.content))
    return buffer.getvalue()


def _info(name: str, mode: int, kind: bytes) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.mode = mode
    info.type = kind
    info.mtime = EPOCH
    info.uname = info.gname = "root"
    return info


def _ar(members: Iterable[tuple[str, bytes]]) -> bytes:
    out = [b"!<arch>\n"]
    for name, content in members:
        header = f"{name:<16}{EPOCH:<12}{0:<6}{0:<6}{'100644':<8}{len(content):<10}`\n"
        out += [header.encode("ascii"), content, b"\n" if len(content) % 2 else b""]
    return b"".join(out)
