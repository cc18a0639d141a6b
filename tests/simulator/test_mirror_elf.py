# SPDX-License-Identifier: Apache-2.0
"""The tiny ELF files: the loader takes the library, and the module's version can be read."""

from __future__ import annotations

import ctypes
import platform
import struct
from pathlib import Path

import pytest

from instinct_lab.mirror import elf


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the library is for x86-64")
def test_the_loader_accepts_the_library(tmp_path: Path) -> None:
    path = tmp_path / "libmade.so.1"
    path.write_bytes(elf.shared_library("libmade.so.1", "RCCL version 2.13.4+hip5.4"))
    assert ctypes.CDLL(str(path))._handle


def test_the_library_holds_its_name_and_text() -> None:
    content = elf.shared_library("libmade.so.1", "RCCL version 2.13.4+hip5.4")
    assert b"\0libmade.so.1\0" in content
    assert b"RCCL version 2.13.4+hip5.4\0" in content


def test_the_modinfo_section_of_a_module_holds_the_version() -> None:
    content = elf.kernel_module({"version": "5.18.13", "license": "GPL"})
    (at_sections,) = struct.unpack_from("<Q", content, 40)
    # The first section after the empty one: its offset and size are the fifth and sixth field.
    offset, size = struct.unpack_from("<QQ", content, at_sections + 64 + 24)
    assert content[offset : offset + size].split(b"\0") == [b"version=5.18.13", b"license=GPL", b""]
