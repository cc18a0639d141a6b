# SPDX-License-Identifier: Apache-2.0
"""Files of PCI functions below /sys."""

from __future__ import annotations

from . import config_space
from .machine import Gpu, Link, Machine
from .pci import ENDPOINT, PciDevice
from .tree import Tree

_AER_NAMES = {
    "correctable": (
        "RxErr", "BadTLP", "BadDLLP", "Rollover", "Timeout", "NonFatalErr", "CorrIntErr", "HeaderOF",
    ),
    "fatal": (
        "Undefined", "DLP", "SDES", "TLP", "FCP", "CmpltTO", "CmpltAbrt", "UnxCmplt", "RxOF", "MalfTLP",
        "ECRC", "UnsupReq", "ACSViol", "UncorrIntErr", "BlockedTLP", "AtomicOpBlocked", "TLPBlockedErr",
        "PoisonTLPBlocked",
    ),
}  # fmt: skip
_AER_NAMES["nonfatal"] = _AER_NAMES["fatal"]
# Which counter of each group a made error is counted under.
_AER_USED = {"correctable": "BadTLP", "fatal": "CmpltAbrt", "nonfatal": "CmpltTO"}


def speed_text(speed: float) -> str:
    """Return a link speed as kernel 5.15 words it."""
    return f"{speed:.1f} GT/s PCIe"


def add(tree: Tree, machine: Machine, device: PciDevice) -> None:
    """Put one function: its folder, its link in bus/pci, its driver link."""
    path = device.path
    sub_vendor, sub_device = device.subsystem.split(":")
    tree.texts(
        path,
        {
            "vendor": f"0x{device.vendor_id:04x}",
            "device": f"0x{device.device_id:04x}",
            "subsystem_vendor": f"0x{sub_vendor}",
            "subsystem_device": f"0x{sub_device}",
            "class": f"0x{device.class_code:06x}",
            "revision": f"0x{device.revision:02x}",
            "numa_node": device.numa_node,
            "enable": 1 if device.driver else 0,
            "irq": 0,
            "local_cpulist": _cpus(machine, device.numa_node),
            "modalias": (
                f"pci:v{device.vendor_id:08X}d{device.device_id:08X}sv{sub_vendor.upper():0>8}"
                f"sd{sub_device.upper():0>8}bc{device.class_code >> 16:02X}"
                f"sc{device.class_code >> 8 & 0xFF:02X}i{device.class_code & 0xFF:02X}"
            ),
        },
    )
    tree.data(f"{path}/config", config_space.build(device, machine.acs))
    tree.data(f"{path}/resource", _resource(device))
    tree.text(f"{path}/uevent", _uevent(device))
    if device.link:
        _add_link(tree, path, device.link)
        _add_aer(tree, device)
    power = device.owner.runtime_status if isinstance(device.owner, Gpu) else "active"
    tree.texts(f"{path}/power", {"control": "auto" if power == "suspended" else "on", "runtime_status": power})
    tree.link(f"sys/bus/pci/devices/{device.bdf}", path)
    tree.link(f"{path}/subsystem", "sys/bus/pci")
    if device.driver:
        driver = f"sys/bus/pci/drivers/{device.driver}"
        tree.link(f"{path}/driver", driver)
        tree.link(f"{driver}/{device.bdf}", path)
    if device.slot:
        tree.text(f"sys/bus/pci/slots/{device.slot}/address", _slot_address(device))


def _slot_address(device: PciDevice) -> str:
    assert device.buses is not None
    return f"{device.bdf[:4]}:{device.buses[0]:02x}:00"


def _cpus(machine: Machine, node: int) -> str:
    if node >= 0:
        return machine.numa[node].cpus
    return ",".join(item.cpus for item in machine.numa)


def _uevent(device: PciDevice) -> str:
    lines = [f"DRIVER={device.driver}"] if device.driver else []
    lines += [
        f"PCI_CLASS={device.class_code:X}",
        f"PCI_ID={device.id.upper()}",
        f"PCI_SUBSYS_ID={device.subsystem.upper()}",
        f"PCI_SLOT_NAME={device.bdf}",
    ]
    return "\n".join(lines)


def _add_link(tree: Tree, path: str, link: Link) -> None:
    tree.texts(
        path,
        {
            "current_link_speed": speed_text(link.speed) if link.width else "Unknown",
            "current_link_width": link.width,
            "max_link_speed": speed_text(link.max_speed),
            "max_link_width": link.max_width,
        },
    )


def _add_aer(tree: Tree, device: PciDevice) -> None:
    counts = {"correctable": 0, "fatal": 0, "nonfatal": 0}
    if isinstance(device.owner, Gpu) and device.port_type == ENDPOINT:
        gpu = device.owner
        counts = {"correctable": gpu.aer_correctable, "fatal": gpu.aer_fatal, "nonfatal": gpu.aer_nonfatal}
    totals = {"correctable": "TOTAL_ERR_COR", "fatal": "TOTAL_ERR_FATAL", "nonfatal": "TOTAL_ERR_NONFATAL"}
    for group, count in counts.items():
        lines = [f"{name} {count if name == _AER_USED[group] else 0}" for name in _AER_NAMES[group]]
        tree.text(f"{device.path}/aer_dev_{group}", "\n".join([*lines, f"{totals[group]} {count}"]))


def _resource(device: PciDevice) -> bytes:
    """Return the resource file: 13 lines, 17 for a bridge, as `start end flags`."""
    rows = [(0, 0, 0)] * (17 if device.is_bridge else 13)
    for bar in device.bars:
        flags = 0x14220C if bar.wide else 0x40200
        rows[bar.index] = (bar.address, bar.address + bar.size - 1, flags)
    return "".join(f"0x{start:016x} 0x{end:016x} 0x{flags:016x}\n" for start, end, flags in rows).encode()
