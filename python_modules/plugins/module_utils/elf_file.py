# SPDX-License-Identifier: Apache-2.0
"""Read a shared library's dynamic section: what it needs and where it lets the loader look."""

from __future__ import annotations

import struct
from typing import Dict, List, NamedTuple, Optional, Tuple

from ansible_collections.instinct.bringup.plugins.module_utils.file_piece import read_at
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

_NEEDED, _STRTAB, _STRSZ, _SONAME, _RPATH, _RUNPATH = 1, 5, 10, 14, 15, 29
_LOAD, _DYNAMIC = 1, 2
_SEGMENT = struct.Struct("<IIQQQQQQ")
_ENTRY = struct.Struct("<QQ")
_MAX_SEGMENTS = 64
_MAX_DYNAMIC = 65536
_MAX_STRINGS = 8 * 1024 * 1024


class ElfError(ValueError):
    """The file is not a 64-bit little-endian ELF with a dynamic section."""


class Dynamic(NamedTuple):
    """What the loader goes by. A RUNPATH makes the loader ignore the RPATH of the same file."""

    soname: Optional[str]
    needed: List[str]
    rpath: List[str]
    runpath: List[str]


def read_dynamic(tree: Tree, area: str, path: str) -> Optional[Dynamic]:
    """Return the dynamic section of a library, None with a problem where there is none."""
    try:
        return _read(tree, area, path)
    except (ElfError, struct.error, UnicodeDecodeError) as error:
        tree.problem(area, path, "not a library: %s" % error)
        return None


def _piece(tree: Tree, area: str, path: str, offset: int, length: int) -> bytes:
    data = read_at(tree, area, path, offset, length)
    if data is None:
        raise ElfError("not readable")
    return data


def _read(tree: Tree, area: str, path: str) -> Dynamic:
    head = _piece(tree, area, path, 0, 64)
    if head[:6] != b"\x7fELF\x02\x01":
        raise ElfError("no ELF of 64 bits")
    (offset,) = struct.unpack_from("<Q", head, 32)
    size, count = struct.unpack_from("<HH", head, 54)
    if size != _SEGMENT.size or not 0 < count <= _MAX_SEGMENTS:
        raise ElfError("%d segments of %d bytes" % (count, size))
    table = _piece(tree, area, path, offset, size * count)
    loads: List[Tuple[int, int, int]] = []
    dynamic: Optional[Tuple[int, int]] = None
    for index in range(count):
        kind, _flags, at, virtual, _physical, length, _memory, _align = _SEGMENT.unpack_from(table, index * size)
        if kind == _LOAD:
            loads.append((virtual, at, length))
        elif kind == _DYNAMIC:
            dynamic = (at, min(length, _MAX_DYNAMIC))
    if dynamic is None:
        raise ElfError("no dynamic section")
    return _decode(tree, area, path, _piece(tree, area, path, *dynamic), loads)


def _decode(tree: Tree, area: str, path: str, section: bytes, loads: List[Tuple[int, int, int]]) -> Dynamic:
    values: Dict[int, List[int]] = {}
    for at in range(0, len(section) - _ENTRY.size + 1, _ENTRY.size):
        tag, value = _ENTRY.unpack_from(section, at)
        if tag == 0:
            break
        values.setdefault(tag, []).append(value)
    if _STRTAB not in values or _STRSZ not in values:
        raise ElfError("no strings")
    offset = _file_offset(values[_STRTAB][0], loads)
    strings = _piece(tree, area, path, offset, min(values[_STRSZ][0], _MAX_STRINGS))
    texts = {
        tag: [_string(strings, value) for value in values.get(tag, [])] for tag in (_SONAME, _NEEDED, _RPATH, _RUNPATH)
    }
    return Dynamic(
        texts[_SONAME][0] if texts[_SONAME] else None,
        texts[_NEEDED],
        [part for text in texts[_RPATH] for part in text.split(":") if part],
        [part for text in texts[_RUNPATH] for part in text.split(":") if part],
    )


def _file_offset(address: int, loads: List[Tuple[int, int, int]]) -> int:
    for virtual, at, length in loads:
        if virtual <= address < virtual + length:
            return at + address - virtual
    raise ElfError("an address outside the file")


def _string(strings: bytes, at: int) -> str:
    if at >= len(strings):
        raise ElfError("a name outside the strings")
    end = strings.find(b"\0", at)
    return strings[at : end if end >= 0 else len(strings)].decode("utf-8")
