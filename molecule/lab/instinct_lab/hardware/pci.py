# SPDX-License-Identifier: Apache-2.0
"""The PCI devices of a machine, with their place in the tree and their links."""

from __future__ import annotations

from dataclasses import dataclass, field

from .machine import Device, Gpu, Link, Machine, Nic, RootPort

# Port types of the PCI Express capability.
ENDPOINT, ROOT_PORT, UPSTREAM, DOWNSTREAM = 0, 4, 5, 6

BRIDGE_CLASS = 0x060400
HOST_BRIDGE_CLASS = 0x060000
DISPLAY_CLASS = 0x038000
HOST_BRIDGE_ID = "1022:1480"
UPSTREAM_ID = "1022:14c7"
DOWNSTREAM_ID = "1002:14c8"

MIB = 1 << 20


@dataclass
class Bar:
    """A memory window: its index in the header, size in bytes, and whether it is 64-bit prefetchable."""

    index: int
    size: int
    wide: bool
    address: int = 0


@dataclass
class PciDevice:
    """A PCI function. `path` is its real place below /sys, `buses` is (secondary, subordinate) of a bridge."""

    bdf: str
    path: str
    id: str
    subsystem: str
    class_code: int
    revision: int
    numa_node: int
    port_type: int | None
    link: Link | None
    driver: str | None
    owner: RootPort | Gpu | Nic | Device | None
    buses: tuple[int, int] | None = None
    slot: int = 0
    bars: list[Bar] = field(default_factory=list)
    # What a bridge passes on: (first, last) address below 4 GiB, and of prefetchable memory.
    memory_window: tuple[int, int] | None = None
    prefetch_window: tuple[int, int] | None = None

    @property
    def vendor_id(self) -> int:
        """The vendor's number."""
        return int(self.id[:4], 16)

    @property
    def device_id(self) -> int:
        """The device's number."""
        return int(self.id[5:], 16)

    @property
    def is_bridge(self) -> bool:
        """Whether the header is that of a bridge."""
        return self.buses is not None


def bus_of(bdf: str) -> int:
    """Return the bus number of an address."""
    return int(bdf[5:7], 16)


def enumerate_devices(machine: Machine) -> list[PciDevice]:
    """Return every PCI function of the machine, parents before children."""
    devices: list[PciDevice] = []
    seen: set[str] = set()
    for port in machine.root_ports:
        root = port.bdf[:7]
        host = f"{root}:00.0"
        folder = f"sys/devices/pci{root}"
        if root not in seen:
            seen.add(root)
            devices.append(
                PciDevice(host, f"{folder}/{host}", HOST_BRIDGE_ID, HOST_BRIDGE_ID, HOST_BRIDGE_CLASS,
                          0, port.numa_node, None, None, None, None)
            )  # fmt: skip
        devices += _below(machine, port, f"{folder}/{port.bdf}")
    _place_bars(devices)
    return devices


def _below(machine: Machine, port: RootPort, path: str) -> list[PciDevice]:
    gpus = [gpu for gpu in machine.gpus if gpu.root_port == port.bdf]
    attached: list[Nic | Device] = [*machine.nics, *machine.devices]
    others = [item for item in attached if item.root_port == port.bdf]
    below: list[PciDevice] = []
    link: Link | None = None
    for gpu in gpus:
        below += _card(machine, gpu, path)
        link = gpu.slot
    for other in others:
        below.append(_single(other, path))
        link = other.link
    buses = [bus_of(device.bdf) for device in below]
    # An empty slot keeps one bus number, as firmware assigns it.
    span = (min(buses), max(buses)) if buses else (bus_of(port.bdf) + 1, bus_of(port.bdf) + 1)
    link = link or Link(2.5, 0, 16.0, 16)
    root = PciDevice(
        port.bdf, path, port.id, "1022:1453", BRIDGE_CLASS, 0, port.numa_node, ROOT_PORT, link,
        "pcieport", port, span, port.slot,
    )  # fmt: skip
    return [root, *below]


def _card(machine: Machine, gpu: Gpu, path: str) -> list[PciDevice]:
    upstream = f"{path}/{gpu.upstream}"
    downstream = f"{upstream}/{gpu.downstream}"
    last = bus_of(gpu.bdf)
    driver = "amdgpu" if machine.driver and gpu.driver else None
    return [
        PciDevice(
            gpu.upstream, upstream, UPSTREAM_ID, "0000:0000", BRIDGE_CLASS, 0, gpu.numa_node, UPSTREAM,
            gpu.slot, "pcieport", gpu, (bus_of(gpu.downstream), last),
        ),
        PciDevice(
            gpu.downstream, downstream, DOWNSTREAM_ID, "0000:0000", BRIDGE_CLASS, 0, gpu.numa_node, DOWNSTREAM,
            gpu.endpoint, "pcieport", gpu, (last, last),
        ),
        PciDevice(
            gpu.bdf, f"{downstream}/{gpu.bdf}", gpu.id, gpu.subsystem, DISPLAY_CLASS, gpu.revision,
            gpu.numa_node, ENDPOINT, gpu.endpoint, driver, gpu,
            bars=[Bar(0, 65536 * MIB, True), Bar(2, 2 * MIB, True), Bar(5, MIB // 2, False)],
        ),
    ]  # fmt: skip


def _single(item: Nic | Device, path: str) -> PciDevice:
    if isinstance(item, Nic):
        code = 0x020700 if item.link_layer == "InfiniBand" else 0x020000
        bars = [Bar(0, 32 * MIB, True)]
    else:
        code, bars = item.class_code, [Bar(0, MIB, False)]
    return PciDevice(
        item.bdf, f"{path}/{item.bdf}", item.id, item.subsystem, code, 0, item.numa_node,
        ENDPOINT, item.link, item.driver, item, bars=bars,
    )  # fmt: skip


def _place_bars(devices: list[PciDevice]) -> None:
    """Give every memory window an address of its own, aligned to its size, and open the bridges above it."""
    wide, narrow = 1 << 40, 0xA000_0000
    for device in devices:
        for bar in device.bars:
            base = wide if bar.wide else narrow
            bar.address = (base + bar.size - 1) // bar.size * bar.size
            if bar.wide:
                wide = bar.address + bar.size
            else:
                narrow = bar.address + bar.size
        # A bridge passes on whole MiB, so nothing of the next device may share one.
        narrow = (narrow + MIB - 1) // MIB * MIB
    for bridge in devices:
        if bridge.is_bridge:
            below = [bar for device in devices if device.path.startswith(f"{bridge.path}/") for bar in device.bars]
            bridge.memory_window = _window([bar for bar in below if not bar.wide])
            bridge.prefetch_window = _window([bar for bar in below if bar.wide])


def _window(bars: list[Bar]) -> tuple[int, int] | None:
    if not bars:
        return None
    first = min(bar.address for bar in bars) // MIB * MIB
    last = max(bar.address + bar.size for bar in bars)
    return first, (last + MIB - 1) // MIB * MIB - 1
