# SPDX-License-Identifier: Apache-2.0
"""Read what sysfs does not spell out from a PCI function's configuration space."""

from __future__ import annotations

import struct
from typing import Any, Dict, Iterator, Optional, Tuple

PCI_ROOT = "/sys/bus/pci/devices"

# PCI Local Bus Specification: status register with its capability bit, head of the list.
_STATUS = 0x06
_STATUS_CAPABILITIES = 0x10
_HEAD = 0x34
_FIRST_CAPABILITY = 0x40
_PCI_EXPRESS = 0x10

# PCI Express Capabilities Register, bits 7:4 (device/port type).
_PORT_TYPES = {4: "root_port", 5: "switch_upstream", 6: "switch_downstream"}
# Offsets within the PCI Express capability, and the bits that lspci calls Routing, 32bit, 64bit and ReqEn.
_DEVICE_CAPABILITIES_2 = 0x24
_DEVICE_CONTROL_2 = 0x28
_ATOMIC_ROUTING, _ATOMIC_32, _ATOMIC_64, _ATOMIC_REQUESTER = 0x40, 0x80, 0x100, 0x40
# Extended capabilities begin behind the first 256 bytes. The list ends at a zero or a zero link.
_EXTENDED = 0x100
_ACS = 0x000D
_ACS_CONTROL = 6
_ACS_BITS = {
    "source_validation": 0x01,
    "request_redirect": 0x04,
    "completion_redirect": 0x08,
    "upstream_forwarding": 0x10,
}

# The kernel gives root all of it and others the first 64 bytes.
CONFIG_BYTES = 4096
UNPRIVILEGED_BYTES = 64
CONVENTIONAL_BYTES = 256

Json = Dict[str, Any]


class ConfigError(Exception):
    """The configuration space does not tell; the message says why."""


def _capability(config: bytes, wanted: int) -> Optional[int]:
    """Return the offset of a capability of the first 256 bytes, None where there is none. Raises ConfigError."""
    if len(config) < UNPRIVILEGED_BYTES:
        raise ConfigError("%d bytes of configuration space, at least %d are needed" % (len(config), UNPRIVILEGED_BYTES))
    if config[:4] == b"\xff\xff\xff\xff":
        raise ConfigError("configuration space reads as ones: the device does not answer")
    if not config[_STATUS] & _STATUS_CAPABILITIES:
        return None
    offset, seen = config[_HEAD] & 0xFC, set()
    while offset:
        if offset < _FIRST_CAPABILITY or offset in seen:
            raise ConfigError("the capability list leads to 0x%02x" % offset)
        seen.add(offset)
        if offset + 4 > len(config):
            raise ConfigError(_cut(config, "the capability list leads beyond %d bytes" % len(config)))
        if config[offset] == wanted:
            return offset
        offset = config[offset + 1] & 0xFC
    return None


def _cut(config: bytes, otherwise: str) -> str:
    if len(config) == UNPRIVILEGED_BYTES:
        return "only %d bytes of configuration space: the rest is for root" % len(config)
    return otherwise


def port_type(config: bytes) -> Optional[str]:
    """Return "root_port", "switch_upstream" or "switch_downstream"; None for any other function.

    Raises ConfigError when the space is cut short, empty (a device that fell off the bus reads
    as ones) or its capability list does not hold together.
    """
    offset = _capability(config, _PCI_EXPRESS)
    return None if offset is None else _PORT_TYPES.get(config[offset + 2] >> 4)


def atomics(config: bytes) -> Optional[Json]:
    """Return what a function says of atomic operations; None for one that is not PCI Express.

    routing: a port passes them on. completer_32, completer_64: the function carries them out.
    requester: it may send them, which the driver switches on. Raises ConfigError.
    """
    offset = _capability(config, _PCI_EXPRESS)
    if offset is None:
        return None
    if offset + _DEVICE_CONTROL_2 + 2 > len(config):
        raise ConfigError(_cut(config, "the PCI Express capability is cut short"))
    if config[offset + 2] & 0x0F < 2:
        # Version 1 of the capability ends before these registers.
        return {"routing": False, "completer_32": False, "completer_64": False, "requester": False}
    (able,) = struct.unpack_from("<I", config, offset + _DEVICE_CAPABILITIES_2)
    (control,) = struct.unpack_from("<H", config, offset + _DEVICE_CONTROL_2)
    return {
        "routing": bool(able & _ATOMIC_ROUTING),
        "completer_32": bool(able & _ATOMIC_32),
        "completer_64": bool(able & _ATOMIC_64),
        "requester": bool(control & _ATOMIC_REQUESTER),
    }


def _extended(config: bytes) -> Iterator[Tuple[int, int]]:
    """Yield (id, offset) of the extended capabilities. Raises ConfigError."""
    if len(config) <= CONVENTIONAL_BYTES:
        raise ConfigError(_cut(config, "only %d bytes of configuration space" % len(config)))
    offset, seen = _EXTENDED, set()
    while offset:
        if offset < _EXTENDED or offset in seen or offset + 8 > len(config):
            raise ConfigError("the extended capability list leads to 0x%03x" % offset)
        seen.add(offset)
        (header,) = struct.unpack_from("<I", config, offset)
        if header in (0, 0xFFFFFFFF):
            return
        yield header & 0xFFFF, offset
        offset = header >> 20 & 0xFFC


def access_control(config: bytes) -> Optional[Json]:
    """Return which access control services a port has switched on; None for one without them.

    Raises ConfigError: not to be read is another thing than switched off.
    """
    if _capability(config, _PCI_EXPRESS) is None:
        # Conventional PCI has no extended capabilities.
        return None
    for identity, offset in _extended(config):
        if identity == _ACS:
            (control,) = struct.unpack_from("<H", config, offset + _ACS_CONTROL)
            return {name: bool(control & bit) for name, bit in _ACS_BITS.items()}
    return None
