# SPDX-License-Identifier: Apache-2.0
"""GPUs, XGMI links and network devices are those that RCCL would use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.instinct.bringup.plugins.module_utils.rccl_model import Topology, TopologyError
from ansible_collections.instinct.bringup.plugins.module_utils.rccl_topology import (
    build_topology,
    differs_from_detection,
)

Maker = Callable[..., dict[str, Any]]
# In KFD's order, as on a captured machine.
EIGHT = (0x63, 0x43, 0x03, 0x26, 0xE3, 0xC3, 0x83, 0xA3)


def directed(topology: Topology) -> set[tuple[str, str]]:
    return {(link.source, link.target) for link in topology.links}


def build(snapshot: dict[str, Any], version: str = "2.13.4") -> Topology:
    return build_topology(snapshot, version)


def test_quad_is_a_full_mesh_without_warnings(machine: Maker, nic: Maker) -> None:
    topology = build(machine(nics=[nic()]))
    assert len(topology.links) == 12
    assert topology.warnings == ()
    assert differs_from_detection(topology) == []
    assert [cpu.numaid for cpu in topology.cpus] == [0, 1]


def test_two_quads_have_no_link_between_hives(machine: Maker, nic: Maker) -> None:
    topology = build(machine(buses=EIGHT, hives=(EIGHT[:4], EIGHT[4:]), nics=[nic()]))
    assert len(topology.links) == 24
    lower = {f"0000:{bus:02x}:00.0" for bus in EIGHT[:4]}
    assert all((source in lower) == (target in lower) for source, target in directed(topology))


def test_cards_without_a_bridge_have_no_link(machine: Maker) -> None:
    assert build(machine(hives=())).links == ()


def test_dev_is_the_order_in_which_rocm_smi_numbers_the_cards(machine: Maker) -> None:
    topology = build(machine(buses=EIGHT, hives=(EIGHT[:4], EIGHT[4:])))
    assert [(gpu.dev, gpu.busid[5:7]) for gpu in topology.gpus[:4]] == [(0, "03"), (1, "26"), (2, "43"), (3, "63")]


def test_hip_is_the_order_in_which_kfd_lists_the_cards(machine: Maker) -> None:
    topology = build(machine(buses=EIGHT, hives=(EIGHT[:4], EIGHT[4:])))
    assert {int(gpu.busid[5:7], 16): gpu.hip for gpu in topology.gpus} == {bus: at for at, bus in enumerate(EIGHT)}


def test_partitions_of_a_card_are_refused_with_the_path(machine: Maker) -> None:
    snapshot = machine()
    first = snapshot["kfd"]["nodes"][2]
    snapshot["kfd"]["nodes"] += [{**first, "id": 90 + part, "bdf": f"0000:23:00.{part}"} for part in (1, 2)]
    with pytest.raises(TopologyError, match=r"topology/nodes/2 and 2 others are partitions of the card 0000:23:00"):
        build(snapshot)


@pytest.mark.parametrize(
    ("version", "gcn"), [("2.13.4", "910"), ("2.17.1", "910"), ("2.18.3", "gfx90a"), ("2.21", "gfx90a")]
)
def test_gcn_has_the_form_of_the_version(machine: Maker, version: str, gcn: str) -> None:
    assert {gpu.gcn for gpu in build(machine(), version).gpus} == {gcn}


def test_xgmi_count_is_the_number_of_links(machine: Maker) -> None:
    assert {link.count for link in build(machine(count=3)).links} == {3}


def test_indirect_xgmi_is_left_out(machine: Maker) -> None:
    snapshot = machine(buses=(0x23, 0x43), hives=((0x23, 0x43),))
    for node in snapshot["kfd"]["nodes"]:
        for link in node["io_links"]:
            link["weight"] = 30 if link["type"] == 11 else link["weight"]
    assert build(snapshot).links == ()


def test_one_way_link_is_written_both_ways_with_a_warning(machine: Maker) -> None:
    snapshot = machine(buses=(0x23, 0x43), hives=((0x23, 0x43),))
    snapshot["kfd"]["nodes"][3]["io_links"] = snapshot["kfd"]["nodes"][3]["io_links"][:1]
    topology = build(snapshot)
    assert directed(topology) == {("0000:23:00.0", "0000:43:00.0"), ("0000:43:00.0", "0000:23:00.0")}
    assert len(differs_from_detection(topology)) == 1
    assert any("not its reverse" in warning for warning in topology.warnings)


def test_gpu_that_kfd_does_not_have_is_left_out(machine: Maker) -> None:
    snapshot = machine()
    snapshot["kfd"]["nodes"] = [node for node in snapshot["kfd"]["nodes"] if node["bdf"] != "0000:43:00.0"]
    topology = build(snapshot)
    assert [gpu.busid for gpu in topology.gpus] == ["0000:23:00.0", "0000:83:00.0", "0000:a3:00.0"]
    assert len(topology.links) == 6
    assert any(warning.startswith("0000:43:00.0: on PCI") for warning in topology.warnings)


def test_hca_wins_over_plain_interfaces(machine: Maker, nic: Maker) -> None:
    topology = build(machine(nics=[nic(), nic("0000:07:00.0", hca=None, speed=1000)]))
    assert [(net.name, net.speed, net.port) for net in topology.nets] == [("mlx5_0", 200000, 1)]


def test_interfaces_that_are_up_are_named_where_there_is_no_hca(machine: Maker, nic: Maker) -> None:
    cards = [nic(hca=None, speed=25000), nic("0000:07:00.0", hca=None, up=False)]
    topology = build(machine(nics=cards))
    assert [(net.name, net.speed, net.port) for net in topology.nets] == [("ens05", 25000, None)]


def test_nic_without_speed_gets_what_rccl_assumes(machine: Maker, nic: Maker) -> None:
    topology = build(machine(nics=[nic(speed=None)]))
    assert topology.nets[0].speed == 10000
    assert any("mlx5_0: no speed" in warning for warning in topology.warnings)


def test_machine_without_network_says_so(machine: Maker) -> None:
    assert any("no network device" in warning for warning in build(machine()).warnings)


def test_version_that_is_none_is_refused(machine: Maker) -> None:
    with pytest.raises(TopologyError, match="latest"):
        build(machine(), "latest")
