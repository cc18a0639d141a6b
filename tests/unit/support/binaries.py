# SPDX-License-Identifier: Apache-2.0
"""Made binary files: certificates, module signatures, EFI variables, libraries and the loader's cache.

They have the form of real ones and hold names only; nothing here is a key, a signature or code.
"""

from __future__ import annotations

import struct

OID_COMMON_NAME = bytes.fromhex("550403")
X509 = bytes.fromhex("a159c0a5e494a74a87b5ab155c2bf072")
SHA256_LIST = bytes.fromhex("2616c4c14c509240aca941f936934328")


def der(tag: int, *parts: bytes) -> bytes:
    content = b"".join(parts)
    if len(content) < 0x80:
        return bytes((tag, len(content))) + content
    size = len(content).to_bytes(2, "big")
    return bytes((tag, 0x82)) + size + content


def name(common: str) -> bytes:
    country = der(0x31, der(0x30, der(6, bytes.fromhex("550406")), der(0x13, b"XX")))
    return der(0x30, country, der(0x31, der(0x30, der(6, OID_COMMON_NAME), der(0x0C, common.encode()))))


def certificate(subject: str, issuer: str = "made issuer") -> bytes:
    body = der(
        0x30, der(0xA0, der(2, b"\2")), der(2, b"\1"), der(0x30), name(issuer), der(0x30), name(subject), der(0x30)
    )
    return der(0x30, body, der(0x30), der(3, b"\0"))


def signed_module(signer: str) -> bytes:
    """Return the bytes of a module with a signature as scripts/sign-file appends it."""
    info = der(0x30, der(2, b"\1"), der(0x30, name(signer), der(2, b"\7")), der(0x30))
    signed = der(0x30, der(2, b"\1"), der(0x31), der(0x30), der(0x31, info))
    pkcs7 = der(0x30, der(6, bytes.fromhex("2a864886f70d010702")), der(0xA0, signed))
    trailer = struct.pack(">BBBBB3xI", 0, 0, 2, 0, 0, len(pkcs7))
    return b"made module" + pkcs7 + trailer + b"~Module signature appended~\n"


def efi_variable(content: bytes) -> bytes:
    return struct.pack("<I", 6) + content


def signature_list(*certificates: bytes) -> bytes:
    """Return EFI signature lists: a list of hashes, then one list for each certificate, as shim writes them."""
    hashes = SHA256_LIST + struct.pack("<III", 28 + 48, 0, 48) + bytes(48)
    lists = [
        X509 + struct.pack("<III", 28 + 16 + len(entry), 0, 16 + len(entry)) + bytes(16) + entry
        for entry in certificates
    ]
    return hashes + b"".join(lists)


def library(soname: str, needed: tuple[str, ...] = (), runpath: str = "", rpath: str = "") -> bytes:
    """Return a shared library of dynamic section and strings only."""
    strings = b"\0"
    entries: list[tuple[int, int]] = []
    for tag, text in [(14, soname), *((1, entry) for entry in needed), (15, rpath), (29, runpath)]:
        if text:
            entries.append((tag, len(strings)))
            strings += text.encode() + b"\0"
    head = 64 + 2 * 56
    entries += [(5, head), (10, len(strings)), (0, 0)]
    dynamic = b"".join(struct.pack("<QQ", *entry) for entry in entries)
    at = head + len(strings)
    total = at + len(dynamic)
    ident = b"\x7fELF\x02\x01\x01" + bytes(9)
    header = struct.pack("<16sHHIQQQIHHHHHH", ident, 3, 62, 1, 0, 64, 0, 0, 64, 56, 2, 64, 0, 0)
    load = struct.pack("<IIQQQQQQ", 1, 4, 0, 0, 0, total, total, 4096)
    return header + load + struct.pack("<IIQQQQQQ", 2, 4, at, at, at, len(dynamic), len(dynamic), 8) + strings + dynamic


def loader_cache(entries: dict[str, str]) -> bytes:
    """Return a /etc/ld.so.cache that maps library names to paths."""
    start = 48 + 24 * len(entries)
    table, strings = b"", b""
    for key, path in entries.items():
        at = start + len(strings)
        strings += key.encode() + b"\0" + path.encode() + b"\0"
        table += struct.pack("<iIIIQ", 0x303, at, at + len(key) + 1, 0, 0)
    return struct.pack("<20sII20x", b"glibc-ld.so.cache1.1", len(entries), len(strings)) + table + strings
