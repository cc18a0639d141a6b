# SPDX-License-Identifier: Apache-2.0
"""Channels and memory are those that RCCL's own planner gave, and move with the job's limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from ansible_collections.instinct.bringup.plugins.module_utils.rccl_topology import build_topology, render_xml
from ansible_collections.instinct.bringup.plugins.plugin_utils.rccl_reader import read_topology
from ansible_collections.instinct.bringup.plugins.plugin_utils.topology.channels import Estimate, Limits, estimate
from ansible_collections.instinct.bringup.plugins.plugin_utils.topology.graph import build_graph

Maker = Callable[..., dict[str, Any]]
MIB = 1024 * 1024
FOUR, EIGHT = (0x23, 0x43, 0x83, 0xA3), (0x13, 0x23, 0x33, 0x43, 0x83, 0x93, 0xA3, 0xB3)


def groups(buses: Sequence[int], size: int) -> list[Sequence[int]]:
    return [buses[start : start + size] for start in range(0, len(buses), size)]


def of(snapshot: dict[str, Any], version: str = "2.13.4", **limits: int) -> Estimate:
    graph = build_graph(read_topology(render_xml(build_topology(snapshot, version))), version)
    return estimate(graph, version, Limits(**limits))


@pytest.mark.parametrize(
    ("buses", "size", "count", "channels", "least", "most", "p2p"),
    [
        pytest.param(FOUR[:2], 2, 1, 8, 64, 64, 16, id="pair"),
        pytest.param(FOUR[:2], 2, 2, 12, 96, 96, 32, id="pair-two-links"),
        pytest.param(FOUR[:2], 2, 3, 24, 192, 192, 32, id="pair-three-links"),
        pytest.param(FOUR, 2, 1, 8, 104, 128, 48, id="two-pairs"),
        pytest.param(EIGHT, 2, 1, 8, 104, 128, 112, id="four-pairs"),
        pytest.param(FOUR, 4, 1, 24, 328, 392, 48, id="quad"),
        pytest.param(EIGHT, 4, 1, 8, 104, 128, 112, id="two-quads"),
        pytest.param(FOUR, 1, 1, 4, 40, 64, 48, id="four-on-pcie"),
        pytest.param(EIGHT, 1, 1, 4, 40, 64, 112, id="eight-on-pcie"),
        pytest.param(FOUR[:1], 1, 1, 32, 0, 0, 0, id="one-card"),
    ],
)
def test_rccls_own_answer(
    machine: Maker, buses: Sequence[int], size: int, count: int, channels: int, least: int, most: int, p2p: int
) -> None:
    found = of(machine(buses=buses, hives=groups(buses, size), count=count))
    assert found.channels == (channels, channels)
    assert found.rings_and_trees_mib == (least, most)
    assert found.p2p_mib == p2p


def test_eight_cards_of_one_numa_node_are_known_too(machine: Maker) -> None:
    found = of(machine(buses=EIGHT, hives=(), sockets=1))
    assert found.shape == "eight cards, PCIe only, one NUMA node"
    assert found.channels == (4, 4)
    assert found.rings_and_trees_mib[0] <= 40 <= 64 <= found.rings_and_trees_mib[1]


def test_unknown_wiring_has_bounds_only(machine: Maker) -> None:
    found = of(machine(buses=FOUR, hives=(FOUR[:3],)))
    assert found.shape is None
    assert found.channels == (2, 32)
    assert found.p2p_mib is None


def test_narrow_slot_or_another_rccl_has_bounds_only(machine: Maker, slot: Maker) -> None:
    assert of(machine(slots={0x43: slot(16.0, 8, widest=16)})).shape is None
    assert of(machine(), "2.17.1").shape is None
    assert of(machine(), "2.13.4").shape == "quad"


@pytest.mark.parametrize(("version", "most"), [("2.13.4", 32), ("2.18.6", 64), ("2.21.5", 128)])
def test_most_channels_follow_the_version(machine: Maker, version: str, most: int) -> None:
    assert of(machine(buses=FOUR, hives=(FOUR[:3],)), version).channels == (2, most)


def test_half_the_buffer_takes_a_connection_from_eight_to_six_mib(machine: Maker) -> None:
    quad = machine(buses=FOUR, hives=(FOUR,))
    assert of(quad, buffsize=2 * MIB).rings_and_trees_mib == (328 * 6 // 8, 392 * 6 // 8)
    assert of(quad, buffsize=2 * MIB).p2p_mib == 36


@pytest.mark.parametrize(
    ("limits", "channels", "p2p"),
    [
        pytest.param({"max_nchannels": 8}, 8, 8, id="max-8"),
        pytest.param({"max_nchannels": 4}, 4, 4, id="max-4"),
        pytest.param({"min_nchannels": 32}, 32, 8, id="min-32"),
        pytest.param({"max_p2p_nchannels": 2}, 24, 2, id="max-p2p-2"),
    ],
)
def test_limits_do_what_they_did_to_rccl_on_a_quad(
    machine: Maker, limits: dict[str, int], channels: int, p2p: int
) -> None:
    found = of(machine(buses=FOUR, hives=(FOUR,)), **limits)
    assert (found.channels, found.p2p_channels) == ((channels, channels), p2p)


def test_a_third_of_the_channels_takes_a_third_of_the_memory(machine: Maker) -> None:
    least, most = of(machine(buses=FOUR, hives=(FOUR,)), max_nchannels=8).rings_and_trees_mib
    assert 328 / 3 - 8 <= least <= 328 / 3
    assert 392 / 3 <= most <= 392 / 3 + 8
