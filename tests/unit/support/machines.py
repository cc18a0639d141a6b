# SPDX-License-Identifier: Apache-2.0
"""Made machines as a snapshot shows them: PCI, KFD and NUMA of nodes with MI210 cards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Json = dict[str, Any]

VBIOS = "113-D67301-059"
ACS = ("source_validation", "request_redirect", "completion_redirect", "upstream_forwarding")
AER = ("correctable", "nonfatal", "fatal")


def atomics(kind: str) -> Json:
    completes = kind in ("root_port", "endpoint")
    return {
        "routing": kind != "endpoint", "completer_32": completes, "completer_64": completes,
        "requester": kind == "endpoint",
    }  # fmt: skip


def health() -> Json:
    """Return what a well driver tells of a card."""
    return {
        "sensors": {
            "temperatures": {"edge": {"celsius": 33.0, "critical": 105.0}}, "watts": 41.0, "cap_watts": 300.0,
        },
        "ras": {"features": "feature mask: 0x3fff", "blocks": {"umc": {"ue": 0, "ce": 0}}, "bad_pages": 0},
        "partition": {"compute": None, "memory": None}, "xgmi_num_links": None, "replays": 0,
        "power_state": "active", "performance_level": "auto", "sriov_vfs": None,
    }  # fmt: skip


def link(width: int = 16, speed: float = 16.0) -> Json:
    text = f"{speed:.1f} GT/s PCIe"
    return {"current_speed": text, "current_width": width, "max_speed": text, "max_width": width}


def port(bdf: str, pci_id: str, kind: str, speed: float = 16.0) -> Json:
    vendor, device = pci_id.split(":")
    return {
        "bdf": bdf, "vendor": vendor, "device": device, "class": "060400", "port_type": kind, "link": link(speed=speed),
        "acs": {"present": True, **dict.fromkeys(ACS, False)}, "atomics": atomics(kind), "aer": dict.fromkeys(AER, 0),
    }  # fmt: skip


def gpu(bus: int, numa_node: int, minor: int, hive: str | None) -> Json:
    """Return an MI210: the GPU says 32 GT/s, which is the link inside the card."""
    return {
        "bdf": f"0000:{bus:02x}:00.0", "vendor": "1002", "device": "740f",
        "subsystem_vendor": "1002", "subsystem_device": "0c34", "class": "038000", "revision": "02",
        "driver": "amdgpu", "numa_node": numa_node, "local_cpulist": f"{numa_node * 64}-{numa_node * 64 + 63}",
        "link": link(speed=32.0),
        "path": [
            port(f"0000:{bus - 1:02x}:00.0", "1002:14c8", "switch_downstream", 32.0),
            port(f"0000:{bus - 2:02x}:00.0", "1022:14c7", "switch_upstream"),
            port(f"0000:{bus & 0xE0:02x}:01.1", "1022:1483", "root_port", 32.0),
        ],
        "bars": [{"index": 0, "start": 1 << 40, "size": 1 << 36}], "vbios": VBIOS, "firmware": {"mec": "0x00000047"},
        "atomics": atomics("endpoint"), "aer": dict.fromkeys(AER, 0), "health": health(),
        "vram_bytes": 68702699520, "hive_id": hive, "render_minor": minor, "card": f"card{minor - 127}",
    }  # fmt: skip


def kfd_node(number: int, bus: int, near: int, peers: Sequence[int], hive: int) -> Json:
    """Return a KFD node of an MI210 with a PCIe link to its CPU and XGMI links to its peers."""
    links = [{"type": 2, "node_from": number, "node_to": near, "weight": 20}]
    links += [
        {"type": 11, "node_from": number, "node_to": peer, "weight": 15, "min_bandwidth": 50000, "max_bandwidth": 50000}
        for peer in peers
    ]
    properties = {
        "simd_count": 416, "vendor_id": 0x1002, "device_id": 0x740F, "location_id": bus << 8, "domain": 0,
        "hive_id": hive, "gfx_target_version": 90010,
    }  # fmt: skip
    return {
        "id": number, "name": "aldebaran", "gpu_id": 1000 + number, "properties": properties, "io_links": links,
        "p2p_links": [], "mem_banks": [], "bdf": f"0000:{bus:02x}:00.0",
    }  # fmt: skip


def hardware(hives: Sequence[Sequence[int]], sockets: int) -> Json:
    """Return pci, kfd and numa of a machine: buses of MI210 cards, in the groups that bridges join."""
    gpus: list[Json] = []
    nodes: list[Json] = [
        {"id": socket, "name": "", "gpu_id": 0, "properties": {"cpu_cores_count": 64, "simd_count": 0},
         "io_links": [], "p2p_links": [], "mem_banks": [], "bdf": None}
        for socket in range(sockets)
    ]  # fmt: skip
    for position, buses in enumerate(hives):
        hive = 0x2000000000000001 + position if len(buses) > 1 else 0
        first = len(nodes)
        for offset, bus in enumerate(buses):
            near = min(bus // 0x80, sockets - 1)
            peers = [first + other for other in range(len(buses)) if other != offset]
            gpus.append(gpu(bus, near, 128 + len(gpus), f"0x{hive:016x}" if hive else None))
            nodes.append(kfd_node(first + offset, bus, near, peers, hive))
    return {
        "pci": {"gpus": sorted(gpus, key=lambda card: card["bdf"]), "nics": []},
        "kfd": {"nodes": nodes},
        "numa": {
            "nodes": [
                {"id": node, "cpulist": f"{node * 64}-{node * 64 + 63}", "distance": [10, 32][:sockets]}
                for node in range(sockets)
            ]
        },
        "iommu": {"units": ["ivhd0"], "gpu_types": {card["bdf"]: "identity" for card in gpus}},
    }


MACHINES = {
    "mi210-8gpu-2hives": ([[0x63, 0x43, 0x03, 0x26], [0xE3, 0xC3, 0x83, 0xA3]], 2, 4),
    "mi210-4gpu-quad": ([[0x23, 0x43, 0x63, 0x03]], 1, 4),
    "mi210-2gpu-pcie": ([[0x08], [0x88]], 2, 1),
}
