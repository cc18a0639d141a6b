# SPDX-License-Identifier: Apache-2.0
"""Path types and speeds between devices are those of RCCL's rules."""

from __future__ import annotations

import collections
import itertools
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from ansible_collections.instinct.bringup.plugins.plugin_utils.rccl_reader import read_topology
from ansible_collections.instinct.bringup.plugins.plugin_utils.topology.explain import explain_topology
from ansible_collections.instinct.bringup.plugins.plugin_utils.topology.graph import build_graph, pcie_gbs
from ansible_collections.instinct.bringup.plugins.plugin_utils.topology.paths import device_paths

GPU = '<gpu dev="{dev}" sm="90" gcn="910" arch="38911" gdr="1">{links}</gpu>'
SWITCH = '<pci busid="{busid}" class="0x060400" vendor="{vendor}" device="0xc010" {more} {link}>{inner}</pci>'
LINK = 'link_speed="16.0 GT/s PCIe" link_width="16"'


def card(bus: int, dev: int, links: str = "", width: int = 16) -> str:
    """Return an MI210 behind its own port."""
    inner = f'<pci busid="0000:{bus:02x}:00.0" class="0x038000" link_speed="32.0 GT/s PCIe" link_width="16">'
    inner += GPU.format(dev=dev, links=links) + "</pci>"
    link = f'link_speed="16.0 GT/s PCIe" link_width="{width}"'
    return f'<pci busid="0000:{bus - 2:02x}:00.0" class="0x060400" {link}>{inner}</pci>'


def switch(busid: str, inner: str, vendor: str = "0x11f8", more: str = "") -> str:
    return SWITCH.format(busid=busid, vendor=vendor, more=more, link=LINK, inner=inner)


def nic(bus: int, name: str = "mlx5_0", speed: int = 200000) -> str:
    net = f'<nic><net name="{name}" dev="0" speed="{speed}"/></nic>'
    return f'<pci busid="0000:{bus:02x}:00.0" class="0x020700" {LINK}>{net}</pci>'


def system(*cpus: str, vendor: str = "AuthenticAMD") -> str:
    inner = "".join(
        f'<cpu numaid="{number}" arch="x86_64" vendor="{vendor}" familyid="175" modelid="1">{cpu}</cpu>'
        for number, cpu in enumerate(cpus)
    )
    return f'<system version="2">{inner}</system>'


def between(text: str, version: str = "2.13.4") -> dict[tuple[str, str], tuple[str, float]]:
    """Return type and speed by the two ends' bus or name."""
    paths = device_paths(build_graph(read_topology(text), version))
    return {(path.source[1][5:7], path.target[1].removeprefix("0000:")[:6]): (path.type, path.gbs) for path in paths}


def test_cards_of_one_processor_meet_in_it() -> None:
    assert between(system(card(0x23, 0) + card(0x43, 1)))["23", "43:00."] == ("PHB", 24.0)


def test_cards_of_two_sockets_are_as_far_as_it_gets() -> None:
    assert between(system(card(0x23, 0), card(0x83, 1)))["23", "83:00."] == ("SYS", 24.0)


def test_between_intels_sockets_the_way_is_slow() -> None:
    assert between(system(card(0x23, 0), card(0x83, 1), vendor="GenuineIntel"))["23", "83:00."] == ("SYS", 6.0)


def test_cards_behind_one_switch_pass_several_bridges() -> None:
    assert between(system(switch("0000:10:00.0", card(0x23, 0) + card(0x43, 1))))["23", "43:00."] == ("PXB", 24.0)


def test_a_card_and_an_adapter_in_its_own_port_pass_one_bridge() -> None:
    inner = f'<pci busid="0000:23:00.0" class="0x038000" {LINK}>{GPU.format(dev=0, links="")}</pci>' + nic(0x24)
    assert between(system(switch("0000:21:00.0", inner)))["23", "mlx5_0"] == ("PIX", 24.0)


def test_bridged_cards_are_as_fast_as_their_links() -> None:
    links = [f'<xgmi target="0000:{bus}:00.0" count="3" tclass="0x038000"/>' for bus in ("43", "23")]
    found = between(system(card(0x23, 0, links[0]), card(0x43, 1, links[1])))
    assert found["23", "43:00."] == ("XGMI", 108.0)


def test_no_path_goes_through_a_card() -> None:
    one, both, other = (
        "".join(f'<xgmi target="0000:{bus}:00.0" count="1" tclass="0x038000"/>' for bus in buses)
        for buses in (("43",), ("23", "63"), ("43",))
    )
    found = between(system(card(0x23, 0, one) + card(0x43, 1, both) + card(0x63, 2, other)))
    assert found["23", "43:00."] == ("XGMI", 36.0)
    assert found["23", "63:00."] == ("PHB", 24.0)


def test_the_slowest_link_counts() -> None:
    assert between(system(card(0x23, 0, width=8) + card(0x43, 1)))["23", "43:00."] == ("PHB", 12.0)


def test_a_switch_that_shows_itself_twice_is_one() -> None:
    broadcom = 'subsystem_vendor="0x1000" subsystem_device="0xa096"'
    inner = f'<pci busid="0000:23:00.0" class="0x038000" {LINK}>{GPU.format(dev=0, links="")}</pci>'
    below = switch("0000:11:00.0", inner, "0x1000", broadcom)
    text = system(switch("0000:10:00.0", below + nic(0x24), "0x1000", broadcom))
    assert between(text)["23", "mlx5_0"] == ("PIX", 24.0)


@pytest.mark.parametrize(
    ("speed", "width", "gbs"),
    [
        ("16.0 GT/s PCIe", "16", 24.0),
        ("16 GT/s", "16", 24.0),
        ("8.0 GT/s PCIe", "8", 6.0),
        ("32.0 GT/s PCIe", "16", 48.0),
        ("Gen4", "16", 12.0),
        ("16.0 GT/s PCIe", "0", 24.0),
        ("16.0 GT/s PCIe", "", 24.0),
    ],
)
def test_speed_of_a_pci_link(speed: str, width: str, gbs: float) -> None:
    assert pcie_gbs(speed, width) == gbs


@pytest.mark.parametrize(
    ("gcn", "version", "gbs"),
    [("910", "2.13.4", 36.0), ("908", "2.13.4", 24.0), ("gfx942", "2.21.5", 48.0), ("940", "2.13.4", 24.0)],
)
def test_speed_of_an_xgmi_link(gcn: str, version: str, gbs: float) -> None:
    links = [
        '<xgmi target="0000:43:00.0" count="1" tclass="0x03"/>',
        '<xgmi target="0000:23:00.0" count="1" tclass="0x03"/>',
    ]
    text = system(card(0x23, 0, links[0]) + card(0x43, 1, links[1])).replace('gcn="910"', f'gcn="{gcn}"')
    assert between(text, version)["23", "43:00."] == ("XGMI", gbs)


def expected_type(first: ET.Element, second: ET.Element, above: dict[ET.Element, ET.Element]) -> str:
    """Tell a pair's path type from where the two stand in the file, by another way than the code's."""
    ways = []
    for element in (first, second):
        way = [element]
        while way[-1] in above:
            way.append(above[way[-1]])
        ways.append(way)
    shared = next(element for element in ways[0] if element in ways[1])
    bridges = [e for way in ways for e in way[: way.index(shared)] if e.tag == "pci"][:]
    between_ends = len(bridges) - 2 + (shared.tag == "pci")
    return {"system": "SYS", "cpu": "PHB"}.get(shared.tag, "PIX" if between_ends == 1 else "PXB")


def test_real_topologies_give_the_paths_that_their_trees_show(captures: Path) -> None:
    for path in sorted((captures / "rccl-topo").glob("*.xml")):
        root = ET.fromstring(path.read_text(encoding="utf-8"))
        above = {child: parent for parent in root.iter() for child in parent}
        pcis = {pci.get("busid", ""): pci for pci in root.iter("pci")}
        gpus = {busid: pci for busid, pci in pcis.items() if pci.find("gpu") is not None}
        links = {
            (busid, link.get("target")): int(link.get("count", ""))
            for busid, pci in gpus.items()
            for link in pci.iter("xgmi")
        }
        explained = explain_topology(path.read_text(encoding="utf-8"), "2.21.5")
        assert {(link["source"], link["target"]): link["count"] for link in explained["xgmi"]} == links, path.name
        found = {(way["source"], way["target"]): way["type"] for way in explained["paths"]}
        for one, other in itertools.permutations(gpus, 2):
            wanted = "XGMI" if (one, other) in links else expected_type(gpus[one], gpus[other], above)
            assert found[one, other] == wanted, (path.name, one, other)
        assert collections.Counter(way["source"] for way in explained["paths"]).keys() == gpus.keys()
