# SPDX-License-Identifier: Apache-2.0
"""The tree and the drawing show every device, and what is narrow or missing."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.instinct.bringup.plugins.module_utils.rccl_topology import build_topology
from ansible_collections.instinct.bringup.plugins.plugin_utils.topology.draw_svg import draw_svg
from ansible_collections.instinct.bringup.plugins.plugin_utils.topology.draw_text import draw_text
from ansible_collections.instinct.bringup.plugins.plugin_utils.topology.picture import Picture, picture_of

Maker = Callable[..., dict[str, Any]]
QUAD = (0x23, 0x43, 0x83, 0xA3)


def of(snapshot: dict[str, Any], hive_size: int | None = None, host: str = "gpu01") -> Picture:
    return picture_of(host, build_topology(snapshot, "2.13.4"), snapshot, hive_size)


def without_link(snapshot: dict[str, Any], one: int, other: int) -> dict[str, Any]:
    """Take both directions of a link away, within a hive that the driver still reports."""
    for node in snapshot["kfd"]["nodes"]:
        node["io_links"] = [
            link for link in node["io_links"] if link["type"] != 11 or {node["id"], link["node_to"]} != {one, other}
        ]
    for gpu in snapshot["pci"]["gpus"]:
        gpu["hive_id"] = "0x2000000000000001"
    return snapshot


def marked(text: str, state: str) -> str:
    return f"[{state}:{text}]" if state in ("bad", "soft") else text


def test_tree_has_a_line_for_each_device(machine: Maker, nic: Maker) -> None:
    lines = draw_text(of(machine(nics=[nic()]))).splitlines()
    assert lines[0] == "gpu01: 4 GPUs, 12 directed XGMI links, 2 NUMA nodes"
    assert "NUMA node 0, CPUs 0-63" in lines
    assert "  0000:05:00.0 mlx5_0 200 Gb/s  16 GT/s x16" in lines
    assert "    0000:23:00.0 GPU0 (HIP 0)  32 GT/s x16  XGMI GPU1 x1, GPU2 x1, GPU3 x1" in lines


def test_narrow_link_is_marked(machine: Maker, nic: Maker, slot: Maker) -> None:
    text = draw_text(of(machine(slots={0x43: slot(16.0, 8, widest=16)}, nics=[nic()])), marked)
    assert "[bad:16 GT/s x8 of 16 GT/s x16]" in text
    assert text.count("[bad:") == 1


def test_sleeping_link_is_not_called_bad(machine: Maker, nic: Maker, slot: Maker) -> None:
    text = draw_text(of(machine(slots={0x43: slot(2.5, 16, most=16.0)}, nics=[nic()])), marked)
    assert "[soft:2.5 GT/s x16, may be asleep]" in text
    assert "[bad:" not in text


def test_missing_link_of_a_hive_is_marked_at_both_cards(machine: Maker) -> None:
    text = draw_text(of(without_link(machine(), 2, 3)), marked)
    assert "[bad:GPU1 missing]" in text
    assert "[bad:GPU0 missing]" in text


def test_one_way_link_is_marked(machine: Maker) -> None:
    snapshot = machine(buses=QUAD[:2], hives=(QUAD[:2],))
    snapshot["kfd"]["nodes"][-1]["io_links"].pop()
    assert "x1 one way" in draw_text(of(snapshot))


def test_fewer_bridged_cards_than_declared_are_named(machine: Maker) -> None:
    assert "GPU0 0000:23:00.0: bridged with 0 cards, 1 are wanted" in draw_text(of(machine(hives=()), hive_size=2))


@pytest.mark.parametrize(
    "kind",
    [
        {"hives": ()},
        {"buses": tuple(range(0x08, 0x108, 0x10)), "hives": ()},
        {"sockets": 1},
        {"hives": ((0x23, 0x83), (0x43, 0xA3))},
    ],
    ids=["pcie", "sixteen", "one-node", "across-nodes"],
)
def test_drawing_is_one_element_with_every_card(machine: Maker, kind: dict[str, Any]) -> None:
    snapshot = machine(**kind)
    root = ET.fromstring(draw_svg(of(snapshot)))
    words = [text.text or "" for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert root.get("role") == "img"
    assert {gpu["bdf"] for gpu in snapshot["pci"]["gpus"]} <= set(words)


def test_drawing_shows_narrow_and_missing_links_in_colour(machine: Maker, slot: Maker) -> None:
    snapshot = without_link(machine(slots={0x43: slot(8.0, 8, most=16.0, widest=16)}), 2, 3)
    drawing = draw_svg(of(snapshot))
    assert "x8 of x16, 8 of 16 GT/s" in drawing
    assert ">missing</text>" in drawing
    assert "var(--bad" in drawing
    assert "var(--bad" not in draw_svg(of(machine()))


def test_names_from_a_node_cannot_write_into_the_page(machine: Maker, nic: Maker) -> None:
    snapshot = machine(nics=[nic(hca="<script>x</script>")])
    drawing = draw_svg(of(snapshot, host='"><script>'))
    assert "<script" not in drawing
    ET.fromstring(drawing)
