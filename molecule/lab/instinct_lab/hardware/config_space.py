# SPDX-License-Identifier: Apache-2.0
"""The binary configuration space of a PCI function, as the real lspci decodes it.

Offsets and bits follow the PCI Express base specification; the names in
comments are those that `lspci -vvv` prints.
"""

from __future__ import annotations

import struct

from .pci import ENDPOINT, MIB, ROOT_PORT, UPSTREAM, PciDevice

SPEED_CODES = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5}

_PM, _SSVID, _EXPRESS = 0x48, 0x50, 0x58
_AER, _ACS, _REBAR = 0x150, 0x2A0, 0x200


class _Space:
    def __init__(self, size: int) -> None:
        self.data = bytearray(size)

    def put(self, offset: int, layout: str, *values: int) -> None:
        struct.pack_into("<" + layout, self.data, offset, *values)


def build(device: PciDevice, acs: bool) -> bytes:
    """Return the configuration space: 4096 bytes for PCI Express, 256 for the rest."""
    space = _Space(256 if device.port_type is None else 4096)
    _header(space, device)
    if device.port_type is None:
        return bytes(space.data)
    space.put(0x06, "H", 0x0010)  # Status: Cap+
    space.put(0x34, "B", _PM)
    # Power management, version 3, D0.
    has_subsystem = device.is_bridge and device.subsystem != "0000:0000"
    space.put(_PM, "BBHHH", 0x01, _SSVID if has_subsystem else _EXPRESS, 0x0003, 0x0008, 0)
    if has_subsystem:
        subsystem = [int(part, 16) for part in device.subsystem.split(":")]
        space.put(_SSVID, "BBHHH", 0x0D, _EXPRESS, 0, *subsystem)
    _express(space, device)
    _extended(space, device, acs)
    return bytes(space.data)


def _header(space: _Space, device: PciDevice) -> None:
    space.put(0x00, "HH", device.vendor_id, device.device_id)
    # Control: Mem+ BusMaster+ DisINTx+; nothing enables a device without a driver.
    space.put(0x04, "H", 0x0406 if device.driver or device.port_type is None else 0)
    space.put(0x08, "BBH", device.revision, device.class_code & 0xFF, device.class_code >> 8)
    space.put(0x0C, "BBBB", 0x10, 0, 1 if device.is_bridge else 0, 0)
    if device.buses:
        primary = int(device.bdf[5:7], 16)
        space.put(0x18, "BBBB", primary, *device.buses, 0)
        # No I/O window. A closed window has its base above its limit.
        space.put(0x1C, "BBH", 0xF1, 0x01, 0)
        first, last = device.memory_window or (0xFFF0_0000, 0)
        space.put(0x20, "HH", first >> 16 & 0xFFF0, last >> 16 & 0xFFF0)
        first, last = device.prefetch_window or (0xFFF0_0000, 0)
        space.put(0x24, "HH", first >> 16 & 0xFFF0 | 1, last >> 16 & 0xFFF0 | 1)
        space.put(0x28, "II", first >> 32, last >> 32)
        space.put(0x3C, "BBH", 0xFF, 1, 0x0002)
        return
    for bar in device.bars:
        flags = 0x0C if bar.wide else 0
        space.put(0x10 + 4 * bar.index, "I", (bar.address & 0xFFFFFFF0) | flags)
        if bar.wide:
            space.put(0x14 + 4 * bar.index, "I", bar.address >> 32)
    if device.subsystem != "0000:0000":
        space.put(0x2C, "HH", *[int(part, 16) for part in device.subsystem.split(":")])
    space.put(0x3C, "BB", 0xFF, 1)


def _express(space: _Space, device: PciDevice) -> None:
    """Fill the PCI Express capability: what `lspci` shows as DevCap, LnkCap, LnkSta, DevCap2."""
    assert device.port_type is not None
    assert device.link is not None
    link, at = device.link, _EXPRESS
    has_slot = device.port_type == ROOT_PORT and device.slot > 0
    flags = 2 | device.port_type << 4 | (0x100 if has_slot else 0)
    space.put(at, "BBH", 0x10, 0, flags)
    # DevCap: MaxPayload 512, ExtTag+, RBE+; DevCtl: MaxPayload 512, RlxdOrd+ ExtTag+ NoSnoop+, MaxReadReq 512.
    space.put(at + 0x04, "I", 0x00008022)
    space.put(at + 0x08, "HH", 0x2950, 0)
    top = SPEED_CODES[link.max_speed]
    space.put(at + 0x0C, "I", top | link.max_width << 4 | 0x00400000)
    active = 0x2000 if device.port_type not in (ENDPOINT, UPSTREAM) and link.width else 0
    status = SPEED_CODES[link.speed] | link.width << 4 | 0x1000 | active
    space.put(at + 0x10, "HH", 0x0040, status)
    if has_slot:
        space.put(at + 0x14, "I", device.slot << 19)
        space.put(at + 0x1A, "H", 0x0040 if link.width else 0)  # PresDet
    # DevCap2: completion timeout ranges, and AtomicOps: routing on ports, 32- and 64-bit completer on the ends.
    atomics = 0x40 if device.is_bridge else 0
    if device.port_type in (ENDPOINT, ROOT_PORT):
        atomics |= 0x180
    space.put(at + 0x24, "I", 0x1F | atomics)
    space.put(at + 0x28, "H", 0x40 if device.port_type == ENDPOINT and device.driver else 0)  # AtomicOpsCtl: ReqEn
    space.put(at + 0x2C, "I", (2 << top) - 2)
    space.put(at + 0x30, "HH", top, 0x001E)


def _extended(space: _Space, device: PciDevice, acs: bool) -> None:
    is_gpu = device.port_type == ENDPOINT and device.id.startswith("1002:")
    has_acs = device.is_bridge and device.port_type != UPSTREAM
    chain = [(0x100, 0x000B, 1), (_AER, 0x0001, 2)]
    if is_gpu:
        chain.append((_REBAR, 0x0015, 1))
    if has_acs:
        chain.append((_ACS, 0x000D, 1))
    for position, (offset, identity, version) in enumerate(chain):
        following = chain[position + 1][0] if position + 1 < len(chain) else 0
        space.put(offset, "I", identity | version << 16 | following << 20)
    space.put(0x104, "I", 1 | 1 << 16 | 0x10 << 20)  # vendor specific, 16 bytes
    # AER: nothing pending; usual severities; advisory non-fatal errors masked.
    space.put(_AER + 0x0C, "III", 0x00462030, 0, 0x00002000)
    if is_gpu:
        # Physical resizable BAR 0: 256 MB to 64 GB, set to 64 GB.
        log = (device.bars[0].size // MIB).bit_length() - 1
        sizes = ((1 << (log + 1)) - (1 << 8)) << 4
        space.put(_REBAR + 4, "II", sizes & 0xFFFFFFFF, 1 << 5 | log << 8)
    if has_acs:
        # SrcValid, ReqRedir, CmpltRedir, UpstreamFwd.
        space.put(_ACS + 4, "HH", 0x005F, 0x001D if acs else 0)
