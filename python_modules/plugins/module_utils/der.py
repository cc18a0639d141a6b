# SPDX-License-Identifier: Apache-2.0
"""Read the little of DER that tells whose certificate or signature it is: no library on a bare node does."""

from __future__ import annotations

from typing import Iterator, List, NamedTuple, Optional

_COMMON_NAME = b"\x55\x04\x03"
_SEQUENCE, _SET, _OID = 0x30, 0x31, 0x06
_CONTEXT_0 = 0xA0


class DerError(ValueError):
    """The bytes are not DER, or not of the form that is looked for."""


class Value(NamedTuple):
    """One value: its tag, its content, and where the next one begins."""

    tag: int
    content: bytes
    end: int


def read_value(data: bytes, at: int = 0) -> Value:
    """Return the value that begins at a position. Raises DerError."""
    if at + 2 > len(data):
        raise DerError("ends within a value")
    tag, first = data[at], data[at + 1]
    start, length = at + 2, first
    if first & 0x80:
        count = first & 0x7F
        if not 1 <= count <= 4 or start + count > len(data):
            raise DerError("a length of %d bytes" % count)
        length = int.from_bytes(data[start : start + count], "big")
        start += count
    if start + length > len(data):
        raise DerError("a value of %d bytes where %d are left" % (length, len(data) - start))
    return Value(tag, data[start : start + length], start + length)


def members(content: bytes) -> Iterator[Value]:
    """Yield the values within a sequence's content. Raises DerError."""
    at = 0
    while at < len(content):
        value = read_value(content, at)
        yield value
        at = value.end


def _common_name(name: bytes) -> Optional[str]:
    """Return the common name within the content of an X.501 name."""
    for relative in members(name):
        for attribute in members(relative.content):
            parts = list(members(attribute.content))
            if len(parts) == 2 and parts[0].tag == _OID and parts[0].content == _COMMON_NAME:
                return parts[1].content.decode("utf-8", "replace")
    return None


def certificate_subject(data: bytes) -> Optional[str]:
    """Return the common name that an X.509 certificate is about. Raises DerError."""
    certificate = read_value(data)
    if certificate.tag != _SEQUENCE:
        raise DerError("not a certificate")
    body = next(members(certificate.content), None)
    if body is None:
        raise DerError("an empty certificate")
    fields: List[Value] = [value for value in members(body.content) if value.tag != _CONTEXT_0]
    # serial number, algorithm, issuer, validity, subject
    if len(fields) < 5 or fields[4].tag != _SEQUENCE:
        raise DerError("not a certificate")
    return _common_name(fields[4].content)


def signature_issuer(data: bytes) -> Optional[str]:
    """Return the common name of who signed, from a PKCS#7 signature as kernel modules carry it. Raises DerError."""
    outer = list(members(read_value(data).content))
    if len(outer) < 2 or outer[1].tag != _CONTEXT_0:
        raise DerError("not a PKCS#7 signature")
    signed = read_value(outer[1].content)
    infos = [value for value in members(signed.content) if value.tag == _SET]
    if not infos:
        raise DerError("a signature without a signer")
    info = read_value(infos[-1].content)
    for value in list(members(info.content))[:2]:
        if value.tag == _SEQUENCE:
            # issuer and serial number
            issuer = read_value(value.content)
            return _common_name(issuer.content)
    return None
