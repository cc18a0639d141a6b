# SPDX-License-Identifier: Apache-2.0
"""Read OpenPGP public keys: fingerprints and when they end. A bare node has no gpg for that.

RFC 4880 and 9580. Signatures are not verified: who may use a key is decided by its full
fingerprint, and what it signed is verified by apt or gpgv.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from typing import Dict, Iterator, List, NamedTuple, Optional, Tuple

from ansible_collections.instinct.bringup.plugins.module_utils.text import first_bytes

_BEGIN = b"-----BEGIN PGP PUBLIC KEY BLOCK-----"
_BLOCK = re.compile(
    rb"^-----BEGIN PGP PUBLIC KEY BLOCK-----[ \t]*\r?\n(.*?)^-----END PGP PUBLIC KEY BLOCK-----",
    re.DOTALL | re.MULTILINE,
)
_SIGNATURE, _SECRET_KEY, _PUBLIC_KEY = 2, 5, 6
_USER_IDS = (13, 17)
_SIGNED_KEY_TYPES = (0x10, 0x11, 0x12, 0x13, 0x1F)
# First octet of a length beyond the two-octet form: packets have partial lengths there, subpackets not.
_PACKET, _SUBPACKET = 224, 255
_SUB_CREATED, _SUB_KEY_EXPIRES, _SUB_ISSUER, _SUB_ISSUER_FINGERPRINT = 2, 9, 16, 33


class NotOpenPgp(Exception):
    """The bytes hold no OpenPGP public key; the message shows how they start."""


class Key(NamedTuple):
    """A primary public key. Times are seconds since 1970; expires is None for a key without an end."""

    fingerprint: str
    created: int
    expires: Optional[int]

    def is_expired(self, now: float) -> bool:
        """Say whether the key's time is over."""
        return self.expires is not None and self.expires <= now


def dearmour(data: bytes) -> bytes:
    """Return the binary form of ASCII-armoured keys, several blocks joined; binary input is returned as it is.

    Raises NotOpenPgp when it is neither, or when a block's checksum does not fit.
    """
    if data[:1] and data[0] & 0x80:
        return data
    blocks = _BLOCK.findall(data)
    if not blocks:
        if _BEGIN in data:
            raise NotOpenPgp("not OpenPGP: the armour has a beginning and no end")
        raise _not_openpgp(data)
    return b"".join(_decode(block) for block in blocks)


def read_keys(data: bytes) -> List[Key]:
    """Return the primary keys of a keyring, armoured or binary, in their order.

    Keys of a version other than 4 are left out. Raises NotOpenPgp when there is no key at all.
    """
    binary = dearmour(data)
    keys: List[Key] = []
    body: Optional[bytes] = None
    # The signatures on the key itself, then those on each user id.
    groups: List[List[bytes]] = [[]]
    for tag, content in _packets(binary, data):
        if tag == _SECRET_KEY:
            raise NotOpenPgp("not a public key: it holds a secret key")
        if tag == _PUBLIC_KEY:
            _add(keys, body, groups)
            body, groups = content, [[]]
        elif tag in _USER_IDS:
            groups.append([])
        elif tag == _SIGNATURE:
            groups[-1].append(content)
    _add(keys, body, groups)
    if not keys:
        raise _not_openpgp(data)
    return keys


def _not_openpgp(data: bytes) -> NotOpenPgp:
    if not data:
        return NotOpenPgp("not OpenPGP: it is empty")
    return NotOpenPgp("not OpenPGP: starts with %s" % first_bytes(data))


def _decode(block: bytes) -> bytes:
    lines = [line.strip() for line in block.splitlines()]
    # Header lines, an empty line, then the data; a block without headers starts with the empty line.
    start = lines.index(b"") + 1 if b"" in lines else 0
    content = [line for line in lines[start:] if line]
    checksum = content.pop()[1:] if content and len(content[-1]) == 5 and content[-1][:1] == b"=" else None
    try:
        data = base64.b64decode(b"".join(content), validate=True)
        wanted = base64.b64decode(checksum, validate=True) if checksum is not None else None
    except binascii.Error as error:
        raise NotOpenPgp("not OpenPGP: the armour is broken (%s)" % error) from None
    if wanted is not None and wanted != _crc24(data).to_bytes(3, "big"):
        raise NotOpenPgp("not OpenPGP: the armour's checksum does not fit, the key was cut or changed")
    return data


def _crc24(data: bytes) -> int:
    crc = 0xB704CE
    for byte in data:
        crc = (crc << 8 ^ _CRC_TABLE[crc >> 16 ^ byte]) & 0xFFFFFF
    return crc


def _crc_step(byte: int) -> int:
    crc = byte << 16
    for _bit in range(8):
        crc = crc << 1 ^ (0x1864CFB if crc & 0x800000 else 0)
    return crc & 0xFFFFFF


_CRC_TABLE = [_crc_step(byte) for byte in range(256)]


def _packets(data: bytes, original: bytes) -> Iterator[Tuple[int, bytes]]:
    position = 0
    while position < len(data):
        try:
            tag, start, end = _header(data, position)
        except (IndexError, ValueError):
            raise _not_openpgp(original) from None
        if end > len(data):
            raise NotOpenPgp("not OpenPGP: cut short at byte %d of %d" % (len(data), end))
        yield tag, data[start:end]
        position = end


def _header(data: bytes, position: int) -> Tuple[int, int, int]:
    """Return tag, start and end of the packet at a position. Raises IndexError or ValueError."""
    first = data[position]
    if not first & 0x80:
        raise ValueError("no packet")
    if first & 0x40:
        length, start = _new_length(data, position + 1, _PACKET)
        return first & 0x3F, start, start + length
    size = (1, 2, 4, 0)[first & 3]
    if not size:
        raise ValueError("a packet of unknown length")
    start = position + 1 + size
    if start > len(data):
        raise IndexError(position)
    return first >> 2 & 0x0F, start, start + int.from_bytes(data[position + 1 : start], "big")


def _new_length(data: bytes, position: int, two_octets: int) -> Tuple[int, int]:
    """Return a length and where its content starts. two_octets: where the two-octet form ends."""
    first = data[position]
    if first < 192:
        return first, position + 1
    if first < two_octets:
        return (first - 192 << 8) + data[position + 1] + 192, position + 2
    if first == 255:
        if position + 5 > len(data):
            raise IndexError(position)
        return int.from_bytes(data[position + 1 : position + 5], "big"), position + 5
    raise ValueError("a partial length, which keys do not have")


def _add(keys: List[Key], body: Optional[bytes], groups: List[List[bytes]]) -> None:
    if body is None or len(body) < 6 or body[0] != 4:
        return
    fingerprint = hashlib.sha1(b"\x99" + len(body).to_bytes(2, "big") + body).hexdigest().upper()  # noqa: S324 - the format says SHA-1
    created = int.from_bytes(body[1:5], "big")
    lifetime = _lifetime(groups, fingerprint)
    keys.append(Key(fingerprint, created, created + lifetime if lifetime else None))


def _lifetime(groups: List[List[bytes]], fingerprint: str) -> Optional[int]:
    """Return how long a key lives in seconds, as gpg decides it; None when for ever.

    Of each group, the newest self-signature counts. One on the key itself goes before those on
    user ids; of these, the newest that names an end.
    """
    newest: List[Tuple[int, int]] = []
    for signatures in groups:
        said = [found for found in (_self_signature(body, fingerprint) for body in signatures) if found]
        # Of two of the same second the later one: keyrings append.
        newest.append(max(reversed(said), key=lambda pair: pair[0]) if said else (0, 0))
    if newest[0][1]:
        return newest[0][1]
    return max((pair for pair in newest[1:] if pair[1]), default=(0, 0))[1] or None


def _self_signature(body: bytes, fingerprint: str) -> Optional[Tuple[int, int]]:
    """Return (when it was made, seconds the key lives or 0 for ever) of the key's signature on itself."""
    if len(body) < 6 or body[0] != 4 or body[1] not in _SIGNED_KEY_TYPES:
        return None
    try:
        hashed_end = 6 + int.from_bytes(body[4:6], "big")
        hashed = _subpackets(body[6:hashed_end])
        unhashed_end = hashed_end + 2 + int.from_bytes(body[hashed_end : hashed_end + 2], "big")
        others = _subpackets(body[hashed_end + 2 : unhashed_end])
    except (IndexError, ValueError):
        return None
    issuer = hashed.get(_SUB_ISSUER) or others.get(_SUB_ISSUER)
    named = hashed.get(_SUB_ISSUER_FINGERPRINT) or others.get(_SUB_ISSUER_FINGERPRINT)
    said = named[1:].hex().upper() if named else issuer.hex().upper() if issuer else None
    if said is None or not fingerprint.endswith(said):
        return None
    # Only what is hashed is under the signature.
    return (
        int.from_bytes(hashed.get(_SUB_CREATED, b""), "big"),
        int.from_bytes(hashed.get(_SUB_KEY_EXPIRES, b""), "big"),
    )


def _subpackets(data: bytes) -> Dict[int, bytes]:
    found: Dict[int, bytes] = {}
    position = 0
    while position < len(data):
        length, start = _new_length(data, position, _SUBPACKET)
        if length < 1 or start + length > len(data):
            raise ValueError("a subpacket that is cut short")
        found.setdefault(data[start] & 0x7F, data[start + 1 : start + length])
        position = start + length
    return found
