# SPDX-License-Identifier: Apache-2.0
"""The PCI tree has the levels that RCCL sees, and the links as they are now."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.instinct.bringup.plugins.module_utils.rccl_model import Topology, TopologyError
from ansible_collections.instinct.bringup.plugins.module_utils.rccl_topology import (
    build_topology,
    differs_from_detection,
    render_xml,
)

Maker = Callable[..., dict[str, Any]]


def build(snapshot: dict[str, Any], version: str = "2.13.4") -> Topology:
    return build_topology(snapshot, version)


def test_on_card_switch_shows_as_its_upstream_port_only(machine: Maker) -> None:
    topology = build(machine())
    ids = [(node.busid, node.vendor, node.device) for node in topology.pci_nodes()][:2]
    assert ids == [("0000:21:00.0", "0x1022", "0x14c7"), ("0000:23:00.0", "0x1002", "0x740f")]


def test_a_switch_before_the_card_is_shared_by_its_cards(machine: Maker, slot: Maker) -> None:
    snapshot = machine(buses=(0x23, 0x27), hives=())
    shared = [
        {"bdf": "0000:12:00.0", "class": "060400", "link": slot()},
        {"bdf": "0000:11:00.0", "class": "060400", "link": slot()},
    ]
    for number, gpu in enumerate(snapshot["pci"]["gpus"]):
        below = {"bdf": f"0000:13:0{number}.0", "class": "060400", "link": slot()}
        gpu["path"] = [*gpu["path"][:2], below, *shared]
    cpu = build(snapshot).cpus[0]
    assert [node.busid for node in cpu.pci] == ["0000:12:00.0"]
    assert [node.busid for node in cpu.pci[0].children] == ["0000:21:00.0", "0000:25:00.0"]


def test_an_uneven_number_of_ports_ends_at_the_cpu(machine: Maker) -> None:
    snapshot = machine(buses=(0x23,), hives=())
    snapshot["pci"]["gpus"][0]["path"] = snapshot["pci"]["gpus"][0]["path"][2:]
    assert [node.busid for node in build(snapshot).pci_nodes()] == ["0000:23:00.0"]


def test_narrow_slot_is_written_as_it_is_and_named(machine: Maker, slot: Maker) -> None:
    topology = build(machine(slots={0x43: slot(8.0, 8, most=16.0, widest=16)}))
    assert re.search(r'<pci busid="0000:41:00\.0" .* link_speed="8\.0 GT/s PCIe" link_width="8">', render_xml(topology))
    assert differs_from_detection(topology) == [
        "0000:41:00.0: the link gives 8.0 GT/s PCIe x8 and could give 16.0 GT/s PCIe x16"
    ]
    assert any("0000:41:00.0" in warning for warning in topology.warnings)


def test_capability_is_written_where_a_site_asks_for_it(machine: Maker, slot: Maker) -> None:
    snapshot = machine(slots={0x43: slot(8.0, 8, most=16.0, widest=16)})
    topology = build_topology(snapshot, "2.13.4", "capability")
    assert (
        'busid="0000:41:00.0" class="0x060400" vendor="0x1022" device="0x14c7" link_speed="16.0 GT/s PCIe" link_width="16"'
        in render_xml(topology)
    )
    assert differs_from_detection(topology) == []
    (warning,) = [text for text in topology.warnings if "0000:41:00.0" in text]
    assert "gives 8.0 GT/s PCIe x8" in warning
    assert "what it could, as RCCL would" in warning
    assert f"Warning: {warning}" in render_xml(topology)


@pytest.mark.parametrize("width", [16, 8], ids=["full-width", "narrow"])
def test_sleeping_link_gives_the_same_file_as_an_awake_one(machine: Maker, slot: Maker, width: int) -> None:
    asleep = build(machine(slots={0x43: slot(2.5, width, most=16.0, widest=16)}))
    awake = build(machine(slots={0x43: slot(16.0, width, widest=16)}))
    assert render_xml(asleep) == render_xml(awake)
    assert differs_from_detection(asleep) == differs_from_detection(awake)
    assert (len(asleep.passing), awake.passing) == (1, ())


def test_slot_that_is_narrower_than_the_card_by_design_is_no_difference(machine: Maker, slot: Maker) -> None:
    snapshot = machine(hives=())
    upstream, root = snapshot["pci"]["gpus"][0]["path"][1:]
    upstream["link"], root["link"] = slot(16.0, 8, widest=16), slot(16.0, 8)
    assert differs_from_detection(build(snapshot)) == []


def test_unreadable_link_is_what_rccl_assumes(machine: Maker) -> None:
    snapshot = machine(buses=(0x23,), hives=())
    nothing = {"current_speed": "Unknown", "current_width": None, "max_speed": None, "max_width": None}
    for entry in snapshot["pci"]["gpus"][0]["path"]:
        entry["link"] = nothing
    topology = build(snapshot)
    (slot_node, _card) = topology.pci_nodes()
    assert (slot_node.link.speed, slot_node.link.width, slot_node.link.differs) == (8.0, 16, False)
    assert any("/sys/bus/pci/devices/0000:21:00.0" in warning for warning in topology.warnings)


def test_second_domain_is_kept_apart(machine: Maker) -> None:
    gpus = build(machine(domain=1)).gpus
    assert {gpu.busid[:5] for gpu in gpus} == {"0001:"}


def test_domain_of_five_digits_is_refused(machine: Maker) -> None:
    snapshot = json.loads(json.dumps(machine()).replace("0000:43:00.0", "10000:43:00.0"))
    with pytest.raises(TopologyError, match=r"10000:43:00\.0"):
        build(snapshot)
