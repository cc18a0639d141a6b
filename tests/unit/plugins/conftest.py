# SPDX-License-Identifier: Apache-2.0
"""Made machines for the tests of everything that reads a snapshot's topology."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

Snapshot = dict[str, Any]


def link(speed: float = 16.0, width: int = 16, most: float | None = None, widest: int | None = None) -> dict[str, Any]:
    """Return a LINK of the snapshot; what it could give is what it gives unless said otherwise."""
    return {
        "current_speed": f"{speed:.1f} GT/s PCIe",
        "current_width": width,
        "max_speed": f"{most or speed:.1f} GT/s PCIe",
        "max_width": widest or width,
    }


def port(bdf: str, vendor: str, device: str, kind: str, of: dict[str, Any]) -> dict[str, Any]:
    return {"bdf": bdf, "vendor": vendor, "device": device, "class": "060400", "port_type": kind, "link": of}


def mi210_path(domain: int, bus: int, slot: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the ports above the MI210 on a bus: its own two, then the root port."""
    where = f"{domain:04x}"
    return [
        port(f"{where}:{bus - 1:02x}:00.0", "1002", "14c8", "switch_downstream", link(32.0)),
        port(f"{where}:{bus - 2:02x}:00.0", "1022", "14c7", "switch_upstream", slot),
        port(f"{where}:{(bus - 3) & 0xF0:02x}:01.1", "1022", "1483", "root_port", slot),
    ]


def make_machine(
    buses: Sequence[int] = (0x23, 0x43, 0x83, 0xA3),
    hives: Sequence[Sequence[int]] = ((0x23, 0x43, 0x83, 0xA3),),
    sockets: int = 2,
    numa_of: dict[int, int] | None = None,
    slots: dict[int, dict[str, Any]] | None = None,
    nics: Sequence[dict[str, Any]] = (),
    domain: int = 0,
    count: int = 1,
) -> Snapshot:
    """Return the snapshot of a made machine with MI210 cards.

    buses: in KFD's order. hives: buses of the cards that one bridge joins. numa_of: bus to PCI's
    numa_node, by default buses below 0x80 are on node 0. slots: bus to the LINK of a slot.
    """
    numa_of, slots = numa_of or {}, slots or {}
    numas = {bus: numa_of.get(bus, min(bus // 0x80, sockets - 1)) for bus in buses}
    node_of = {bus: sockets + position for position, bus in enumerate(buses)}
    gpus = [
        {
            "bdf": f"{domain:04x}:{bus:02x}:00.0",
            "vendor": "1002",
            "device": "740f",
            "subsystem_vendor": "1002",
            "subsystem_device": "0c34",
            "class": "038000",
            "numa_node": numas[bus],
            "local_cpulist": None,
            "link": link(32.0),
            "path": mi210_path(domain, bus, slots.get(bus, link())),
        }
        for bus in sorted(buses)
    ]
    nodes: list[dict[str, Any]] = [
        {"id": socket, "bdf": None, "properties": {"cpu_cores_count": 64}, "io_links": []} for socket in range(sockets)
    ]
    for bus in buses:
        near = min(bus // 0x80, sockets - 1)
        links = [{"type": 2, "weight": 20, "node_to": near, "min_bandwidth": 312, "max_bandwidth": 32000}]
        for hive in hives:
            links += [
                {
                    "type": 11,
                    "weight": 15,
                    "node_to": node_of[peer],
                    "min_bandwidth": 50000,
                    "max_bandwidth": 50000 * count,
                }
                for peer in hive
                if bus in hive and peer != bus
            ]
        properties = {"cpu_cores_count": 0, "simd_count": 416, "gfx_target_version": 90010}
        bdf = f"{domain:04x}:{bus:02x}:00.0"
        nodes.append({"id": node_of[bus], "bdf": bdf, "properties": properties, "io_links": links})
    return {
        "os": {"machine": "x86_64"},
        "cpu": {"vendor": "AuthenticAMD", "family": 25, "model": 1},
        "numa": {"nodes": [{"id": n, "cpulist": f"{n * 64}-{n * 64 + 63}"} for n in range(sockets)]},
        "pci": {"gpus": gpus, "nics": [nic["pci"] for nic in nics]},
        "kfd": {"nodes": nodes},
        "net": {
            "interfaces": [entry for nic in nics for entry in nic["interfaces"]],
            "hcas": [entry for nic in nics for entry in nic["hcas"]],
        },
    }


def make_nic(
    bdf: str = "0000:05:00.0", hca: str | None = "mlx5_0", speed: int | None = 200000, up: bool = True
) -> dict[str, Any]:
    """Return a network card with one interface, and one HCA unless hca is None."""
    name = "ens" + bdf[5:7]
    return {
        "pci": {
            "bdf": bdf,
            "vendor": "15b3",
            "device": "101b",
            "class": "020700" if hca else "020000",
            "driver": "mlx5_core",
            "numa_node": min(int(bdf[5:7], 16) // 0x80, 1),
            "interfaces": [name],
            "hcas": [hca] if hca else [],
            "link": link(),
            "path": [port(bdf[:5] + "00:03.1", "1022", "1483", "root_port", link())],
        },
        "interfaces": [{"name": name, "operstate": "up" if up else "down", "speed_mbps": speed, "virtual": False}],
        "hcas": [{"name": hca, "ports": [{"port": 1, "state": "ACTIVE" if up else "DOWN", "rate_mbps": speed}]}]
        if hca
        else [],
    }


@pytest.fixture(scope="session")
def machine() -> Callable[..., Snapshot]:
    """Return the maker of machines."""
    return make_machine


@pytest.fixture(scope="session")
def nic() -> Callable[..., dict[str, Any]]:
    """Return the maker of network cards."""
    return make_nic


@pytest.fixture(scope="session")
def slot() -> Callable[..., dict[str, Any]]:
    """Return the maker of links."""
    return link
