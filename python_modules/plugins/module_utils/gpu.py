# SPDX-License-Identifier: Apache-2.0
"""Read AMD GPUs from PCI, and what the amdgpu driver adds there."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence

from ansible_collections.instinct.bringup.plugins.module_utils.gpu_health import read_health
from ansible_collections.instinct.bringup.plugins.module_utils.pci import PCI_ROOT, PciBus
from ansible_collections.instinct.bringup.plugins.module_utils.pci_errors import read_aer
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree, to_int

AMD = "1002"
# Display controllers and processing accelerators. Instinct cards have no screen (0380) or are
# accelerators (1200): those are listed with or without a driver, others when amdgpu drives them.
_GPU_CLASSES = ("03", "12")
_COMPUTE_CLASSES = ("0380", "12")
_FIRMWARE_SUFFIX = "_fw_version"
# linux/ioport.h IORESOURCE_UNSET: a size that got no address.
_UNSET = 0x20000000
_BARS = 6

Json = Dict[str, Any]


def read_gpus(tree: Tree, bus: PciBus, addresses: Sequence[str]) -> List[Json]:
    """Return the snapshot's GPUs, by address. A GPU that amdgpu does not drive has None for what it adds."""
    gpus: List[Json] = []
    for bdf in addresses:
        code = bus.hex_id(bdf, "class")
        if code is not None and not code.startswith(_GPU_CLASSES):
            continue
        if bus.hex_id(bdf, "vendor") != AMD:
            continue
        driver = bus.link_name(bdf, "driver")
        # A class that cannot be read is no reason to overlook a card.
        if code is None or code.startswith(_COMPUTE_CLASSES) or driver == "amdgpu":
            gpus.append(_gpu(tree, bus, bdf, code, driver))
    return gpus


def _gpu(tree: Tree, bus: PciBus, bdf: str, code: Optional[str], driver: Optional[str]) -> Json:
    driven = driver == "amdgpu"
    # Without the driver these files do not exist, which the missing driver explains.
    vram = tree.read_int("pci", "%s/%s/mem_info_vram_total" % (PCI_ROOT, bdf), optional=not driven)
    drm = _drm(tree, bdf, driven)
    return {
        "bdf": bdf,
        "vendor": AMD,
        "device": bus.hex_id(bdf, "device"),
        "subsystem_vendor": bus.hex_id(bdf, "subsystem_vendor"),
        "subsystem_device": bus.hex_id(bdf, "subsystem_device"),
        "class": code,
        "revision": bus.hex_id(bdf, "revision"),
        "driver": driver,
        "numa_node": bus.numa_node(bdf),
        "local_cpulist": bus.attribute(bdf, "local_cpulist"),
        "link": bus.link(bdf),
        "path": bus.path(bdf),
        "bars": _bars(tree, bdf),
        "vbios": bus.attribute(bdf, "vbios_version", optional=not driven),
        "firmware": _firmware(tree, bdf, driven),
        "vram_bytes": vram,
        "hive_id": _hive_id(tree, bdf),
        "render_minor": drm["render_minor"],
        "card": drm["card"],
        "atomics": bus.atomics(bdf),
        "aer": read_aer(tree, bdf),
        "health": read_health(tree, bdf) if driven else None,
    }


def _drm(tree: Tree, bdf: str, driven: bool) -> Json:
    names = tree.list_folder("pci", "%s/%s/drm" % (PCI_ROOT, bdf), optional=not driven) or []
    cards = [name for name in names if name.startswith("card") and name[4:].isdigit()]
    minors = [to_int(name[7:]) for name in names if name.startswith("renderD")]
    return {"card": cards[0] if cards else None, "render_minor": minors[0] if minors else None}


def _firmware(tree: Tree, bdf: str, driven: bool) -> Dict[str, Optional[str]]:
    folder = "%s/%s/fw_version" % (PCI_ROOT, bdf)
    names = tree.list_folder("pci", folder, optional=not driven) or []
    return {
        name[: -len(_FIRMWARE_SUFFIX)]: tree.read_line("pci", "%s/%s" % (folder, name))
        for name in names
        if name.endswith(_FIRMWARE_SUFFIX)
    }


def _hive_id(tree: Tree, bdf: str) -> Optional[str]:
    """Return the XGMI hive's id in hexadecimal, None outside a hive (no file, or 0)."""
    path = "%s/%s/xgmi_hive_info/xgmi_hive_id" % (PCI_ROOT, bdf)
    number = tree.read_int("pci", path, optional=True, base=0)
    return "0x%016x" % number if number else None


def parse_bars(text: str) -> List[Dict[str, int]]:
    """Return the memory and I/O windows of a sysfs resource text that the device asks for.

    size is in bytes, 0 for a window that got no address. BAR 0 is always listed, since a GPU has
    one: a line of zeros is how the kernel shows that it could not place it. Raises ValueError.
    """
    bars: List[Dict[str, int]] = []
    for index, line in enumerate(text.splitlines()[:_BARS]):
        fields = [to_int(field, 16) for field in line.split()]
        numbers = [field for field in fields if field is not None and field >= 0]
        if len(numbers) != 3 or len(fields) != 3:
            raise ValueError("line %d is not three numbers: %r" % (index + 1, line[:60]))
        start, end, flags = numbers
        placed = end > start and not flags & _UNSET
        if placed or flags or index == 0:
            bars.append({"index": index, "start": start if placed else 0, "size": end - start + 1 if placed else 0})
    return bars


def _bars(tree: Tree, bdf: str) -> Optional[List[Dict[str, int]]]:
    path = "%s/%s/resource" % (PCI_ROOT, bdf)
    text = tree.read_text("pci", path)
    if text is None:
        return None
    try:
        return parse_bars(text)
    except ValueError as error:
        tree.problem("pci", path, error)
        return None
