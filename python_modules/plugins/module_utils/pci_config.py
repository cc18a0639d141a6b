# SPDX-License-Identifier: Apache-2.0
"""Read what sysfs does not spell out from a PCI function's configuration space."""

from __future__ import annotations

from typing import Optional

# PCI Local Bus Specification: status register with its capability bit, head of the list.
_STATUS = 0x06
_STATUS_CAPABILITIES = 0x10
_HEAD = 0x34
_FIRST_CAPABILITY = 0x40
_PCI_EXPRESS = 0x10

# PCI Express Capabilities Register, bits 7:4 (device/port type).
_PORT_TYPES = {4: "root_port", 5: "switch_upstream", 6: "switch_downstream"}

# The list lies in the first 256 bytes; the kernel gives others than root 64 of them.
CONFIG_BYTES = 256
UNPRIVILEGED_BYTES = 64


class ConfigError(Exception):
    """The configuration space does not tell; the message says why."""


def port_type(config: bytes) -> Optional[str]:
    """Return "root_port", "switch_upstream" or "switch_downstream"; None for any other function.

    Raises ConfigError when the space is cut short, empty (a device that fell off the bus reads
    as ones) or its capability list does not hold together.
    """
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
            raise ConfigError(
                "only %d bytes of configuration space: the rest is for root" % len(config)
                if len(config) == UNPRIVILEGED_BYTES
                else "the capability list leads beyond %d bytes" % len(config)
            )
        if config[offset] == _PCI_EXPRESS:
            return _PORT_TYPES.get(config[offset + 2] >> 4)
        offset = config[offset + 1] & 0xFC
    return None
