# SPDX-License-Identifier: Apache-2.0
"""Every device gets a NUMA node, and every node its CPUs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible_collections.instinct.bringup.plugins.module_utils.rccl_model import Topology
from ansible_collections.instinct.bringup.plugins.module_utils.rccl_topology import (
    build_topology,
    differs_from_detection,
)

Maker = Callable[..., dict[str, Any]]


def build(snapshot: dict[str, Any], version: str = "2.13.4") -> Topology:
    return build_topology(snapshot, version)


def test_affinity_is_the_mask_of_the_numa_node(machine: Maker) -> None:
    masks = [cpu.affinity for cpu in build(machine()).cpus]
    assert masks == ["00000000,00000000,ffffffff,ffffffff", "ffffffff,ffffffff,00000000,00000000"]


def test_gpu_without_numa_node_takes_that_of_its_kfd_link(machine: Maker) -> None:
    topology = build(machine(numa_of={0xA3: -1}))
    assert [place.numa_node for place in topology.placements if place.busid == "0000:a3:00.0"] == [1]
    assert differs_from_detection(topology) == [
        "0000:a3:00.0: NUMA node 1 from KFD's link to a CPU, where RCCL takes 0"
    ]


def test_gpu_without_numa_node_and_kfd_link_takes_that_of_its_cpus(machine: Maker) -> None:
    snapshot = machine(buses=(0xA3,), hives=(), numa_of={0xA3: -1})
    snapshot["kfd"]["nodes"][-1]["io_links"] = []
    snapshot["pci"]["gpus"][0]["local_cpulist"] = "64-127"
    assert build(snapshot).cpus[0].numaid == 1


def test_gpu_that_nothing_places_is_on_node_0_with_a_warning(machine: Maker) -> None:
    snapshot = machine(buses=(0xA3,), hives=(), numa_of={0xA3: -1})
    snapshot["kfd"]["nodes"][-1]["io_links"] = []
    topology = build(snapshot)
    assert topology.cpus[0].numaid == 0
    assert any("PCI names no NUMA node" in warning for warning in topology.warnings)
    assert differs_from_detection(topology) == []


def test_missing_numa_node_is_no_question_on_a_machine_with_one(machine: Maker, nic: Maker) -> None:
    topology = build(machine(sockets=1, numa_of={0x23: -1, 0x43: -1, 0x83: -1, 0xA3: -1}, nics=[nic()]))
    assert topology.warnings == ()
