# SPDX-License-Identifier: Apache-2.0
"""Tiny ELF files for the stand-ins: a library that the loader accepts and a module that modinfo reads.

They hold no code. A text file with such a name would make ldconfig, depmod and modinfo complain, and a node
that complains where a real one would not is a poor stand-in.
"""

from __future__ import annotations

import struct

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_IDENT = b"\x7fELF\x02\x01\x01" + bytes(9)
_X86_64 = 62
_PAGE = 0x1000


def shared_library(soname: str, text: str) -> bytes:
    """Return an empty x86-64 shared library named `soname` that carries `text`, so that `strings` shows it."""
    strings = b"\0" + soname.encode() + b"\0"
    note = text.encode() + b"\0"
    head = _HEADER.size + 2 * _SEGMENT.size
    at_symbols = head
    symbols = bytes(24)  # the null symbol alone
    at_hash = at_symbols + len(symbols)
    hashes = struct.pack("<IIII", 1, 1, 0, 0)
    at_strings = at_hash + len(hashes)
    at_note = at_strings + len(strings)
    at_dynamic = -(-(at_note + len(note)) // 8) * 8
    dynamic = b"".join(
        struct.pack("<QQ", tag, value)
        for tag, value in (
            (14, 1),  # SONAME: offset in the string table
            (4, at_hash),
            (5, at_strings),
            (6, at_symbols),
            (10, len(strings)),
            (11, 24),
            (0, 0),
        )
    )
    body = symbols + hashes + strings + note
    body += bytes(at_dynamic - head - len(body)) + dynamic
    total = head + len(body)
    header = _HEADER.pack(_IDENT, 3, _X86_64, 1, 0, _HEADER.size, 0, 0, _HEADER.size, _SEGMENT.size, 2, 64, 0, 0)
    # Readable and writable, never executable: the loader relocates the dynamic section in place.
    load = _SEGMENT.pack(1, 6, 0, 0, 0, total, total, _PAGE)
    dyn = _SEGMENT.pack(2, 6, at_dynamic, at_dynamic, at_dynamic, len(dynamic), len(dynamic), 8)
    return header + load + dyn + body


def kernel_module(info: dict[str, str]) -> bytes:
    """Return a relocatable file whose .modinfo section holds `info`; it can be read but never loaded."""
    modinfo = b"".join(f"{key}={value}".encode() + b"\0" for key, value in info.items())
    names = b"\0.modinfo\0.symtab\0.strtab\0.shstrtab\0"
    symbols, strings = bytes(24), b"\0"
    at_info = _HEADER.size
    at_symbols = -(-(at_info + len(modinfo)) // 8) * 8
    at_strings = at_symbols + len(symbols)
    at_names = at_strings + len(strings)
    at_sections = -(-(at_names + len(names)) // 8) * 8
    sections = b"".join(
        (
            bytes(_SECTION.size),
            _SECTION.pack(1, 1, 2, 0, at_info, len(modinfo), 0, 0, 1, 0),
            _SECTION.pack(10, 2, 0, 0, at_symbols, len(symbols), 3, 1, 8, 24),
            _SECTION.pack(18, 3, 0, 0, at_strings, len(strings), 0, 0, 1, 0),
            _SECTION.pack(26, 3, 0, 0, at_names, len(names), 0, 0, 1, 0),
        )
    )
    header = _HEADER.pack(_IDENT, 1, _X86_64, 1, 0, 0, at_sections, 0, _HEADER.size, 0, 0, _SECTION.size, 5, 4)
    body = modinfo + bytes(at_symbols - at_info - len(modinfo)) + symbols + strings + names
    return header + body + bytes(at_sections - at_info - len(body)) + sections
