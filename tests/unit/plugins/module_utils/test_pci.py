# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.instinct.bringup.plugins.module_utils.pci import PCI_ROOT, PciBus
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

Plant = Callable[[dict[str, Any]], Tree]
GPU = "0000:63:00.0"
GPU_PLACE = "/sys/devices/pci0000:60/0000:60:01.1/0000:61:00.0/0000:62:00.0/0000:63:00.0"


def test_the_way_up_starts_at_the_card_and_ends_at_the_root_port(plant: Plant, gpu: Callable[..., Any]) -> None:
    tree = plant(gpu())
    path = PciBus(tree).path(GPU)
    assert [(port["bdf"], port["vendor"], port["device"], port["port_type"]) for port in path] == [
        ("0000:62:00.0", "1002", "14c8", "switch_downstream"),
        ("0000:61:00.0", "1022", "14c7", "switch_upstream"),
        ("0000:60:01.1", "1022", "1483", "root_port"),
    ]
    assert path[0]["link"] == {
        "current_speed": "16.0 GT/s PCIe",
        "current_width": 16,
        "max_speed": "16.0 GT/s PCIe",
        "max_width": 16,
    }
    assert tree.problems() == []


def test_addresses_are_sorted_and_others_are_a_problem(plant: Plant) -> None:
    tree = plant({f"{PCI_ROOT}/{name}/class": "" for name in ("0001:00:00.0", "10000:01:00.0", "0000:e3:00.0", "odd")})
    assert PciBus(tree).addresses() == ["0000:e3:00.0", "0001:00:00.0", "10000:01:00.0"]
    assert tree.problems()[0]["path"] == f"{PCI_ROOT}/odd"


def test_a_machine_without_pci_has_none(plant: Plant) -> None:
    tree = plant({})
    assert PciBus(tree).addresses() is None
    assert len(tree.problems()) == 1


@pytest.mark.parametrize(
    ("attribute", "content", "key"),
    [
        ("current_link_speed", "Unknown\n", "current_speed"),
        ("max_link_speed", "Unknown speed\n", "max_speed"),
        ("max_link_width", "255\n", "max_width"),
        ("current_link_width", "sixteen\n", "current_width"),
        ("current_link_width", "", "current_width"),
        ("current_link_width", None, "current_width"),
    ],
)
def test_a_link_that_is_not_told_is_none_with_the_path(
    plant: Plant, gpu: Callable[..., Any], attribute: str, content: str | None, key: str
) -> None:
    tree = plant(gpu(**{attribute: content}))
    link = PciBus(tree).link(GPU)
    assert link.pop(key) is None
    assert None not in link.values()
    assert [entry["path"] for entry in tree.problems()] == [f"{PCI_ROOT}/{GPU}/{attribute}"]


def test_a_port_whose_type_needs_root_names_its_config(plant: Plant, gpu: Callable[..., Any]) -> None:
    files = gpu()
    place = "/sys/devices/pci0000:60/0000:60:01.1/config"
    files[place] = files[place][:64]
    tree = plant(files)
    assert [port["port_type"] for port in PciBus(tree).path(GPU)][-1] is None
    assert tree.problems() == [
        {
            "area": "pci",
            "path": f"{PCI_ROOT}/0000:60:01.1/config",
            "message": "only 64 bytes of configuration space: the rest is for root",
        }
    ]


def test_a_tree_copied_without_links_has_no_way_up(plant: Plant) -> None:
    tree = plant({f"{PCI_ROOT}/{GPU}/class": "0x038000\n"})
    assert PciBus(tree).path(GPU) == []
    assert tree.problems()[0]["path"] == f"{PCI_ROOT}/{GPU}"


def test_a_port_that_several_devices_share_is_read_once(plant: Plant, gpu: Callable[..., Any]) -> None:
    bus = PciBus(plant(gpu()))
    assert bus.path(GPU)[-1] is bus.path("0000:62:00.0")[-1]
