# SPDX-License-Identifier: Apache-2.0
"""A snapshot becomes the file that RCCL would read, for every wiring of the cards."""

from __future__ import annotations

import re
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.instinct.bringup.plugins.module_utils.rccl_model import Topology, TopologyError
from ansible_collections.instinct.bringup.plugins.module_utils.rccl_topology import (
    build_topology,
    render_xml,
)

Maker = Callable[..., dict[str, Any]]


def directed(topology: Topology) -> set[tuple[str, str]]:
    return {(link.source, link.target) for link in topology.links}


def build(snapshot: dict[str, Any], version: str = "2.13.4") -> Topology:
    return build_topology(snapshot, version)


class Rejected(Exception):
    """RCCL's parser would not take the text."""


def read_as_rccl(text: str) -> tuple[str, dict[str, str], list[Any]]:
    """Read a text by the rules of RCCL's xml.cc, written anew here: no XML library knows them."""
    position = 0
    count = 0

    def take() -> str:
        nonlocal position
        if position >= len(text):
            raise Rejected("unexpected end")
        position += 1
        return text[position - 1]

    def token(values: bool) -> tuple[str, str, str]:
        name = ""
        while True:
            char = take()
            if char == "=":
                if not values or take() != '"':
                    raise Rejected(f"value at {position}")
                value = ""
                while (char := take()) != '"':
                    value += char
                return name, value, take()
            if char in " >/\n\r":
                return name, "", char
            name += char

    def node() -> tuple[str, str, dict[str, str]] | None:
        nonlocal position
        while position < len(text) and text[position] in " \n\r":
            position += 1
        if position == len(text):
            return None
        if take() != "<":
            raise Rejected(f"expecting < at {position}")
        name, _value, last = token(False)
        if name.startswith("!--"):
            position = text.index("-->", position) + 3
            return node()
        if not name and last == "/":
            name, _value, last = token(False)
            if last != ">":
                raise Rejected("closing tag")
            return "close", name, {}
        attributes: dict[str, str] = {}
        while last == " ":
            key, value, last = token(True)
            if key in attributes or len(value) > 255:
                raise Rejected(f"attribute {key}")
            attributes[key] = value
        kind = "single" if last == "/" else "open"
        if last == "/":
            _name, _value, last = token(False)
        if last != ">" or len(attributes) > 16:
            raise Rejected(f"end of {name}")
        return kind, name, attributes

    def element(kind: str, name: str, attributes: dict[str, str]) -> tuple[str, dict[str, str], list[Any]]:
        nonlocal count
        count += 1
        children: list[Any] = []
        while kind == "open":
            inner = node()
            if inner is None:
                raise Rejected(f"unterminated {name}")
            if inner[0] == "close":
                if inner[1] != name:
                    raise Rejected(f"{name} closed by {inner[1]}")
                break
            children.append(element(*inner))
        if len(children) > 32 or count > 1024:
            raise Rejected(f"too much in {name}")
        return name, attributes, children

    first = node()
    if first is None or first[0] == "close":
        raise Rejected("empty")
    root = element(*first)
    if node() is not None:
        raise Rejected("something after the root")
    return root


def walk(root: tuple[str, dict[str, str], list[Any]], name: str) -> list[dict[str, str]]:
    found = [root[1]] if root[0] == name else []
    return found + [attributes for child in root[2] for attributes in walk(child, name)]


def test_gpu_attributes_are_those_of_a_gfx90a_and_carry_no_rank(machine: Maker) -> None:
    gpus = walk(read_as_rccl(render_xml(build(machine()))), "gpu")
    assert gpus[0] == {"dev": "0", "sm": "90", "gcn": "910", "arch": "38911", "gdr": "1"}


@pytest.mark.parametrize(
    ("family", "written"), [(23, "143"), (25, "175"), (26, "191"), (6, "6")], ids=["rome", "milan", "turin", "xeon"]
)
def test_cpu_family_is_counted_as_rccl_counts_it(machine: Maker, family: int, written: str) -> None:
    snapshot = machine()
    snapshot["cpu"]["family"] = family
    assert walk(read_as_rccl(render_xml(build(snapshot))), "cpu")[0]["familyid"] == written


def test_sixteen_gpus_fit(machine: Maker) -> None:
    buses = tuple(range(0x08, 0x108, 0x10))
    assert len(build(machine(buses=buses, hives=(buses[:8], buses[8:]))).links) == 16 * 7


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param(lambda snapshot: snapshot.update(kfd=None), "topology is not there", id="no-kfd"),
        pytest.param(lambda snapshot: snapshot["pci"].update(gpus=[]), "no usable GPU", id="no-gpu-on-pci"),
        pytest.param(lambda snapshot: snapshot["os"].update(machine="riscv64"), "riscv64", id="architecture"),
    ],
)
def test_node_without_a_right_file_is_refused(machine: Maker, change: Callable[..., None], message: str) -> None:
    snapshot = machine()
    change(snapshot)
    with pytest.raises(TopologyError, match=message):
        build(snapshot)


def test_more_links_than_the_parser_holds_are_refused_with_the_bus_id(machine: Maker) -> None:
    buses = tuple(range(0x08, 0x08 + 34 * 7, 7))
    with pytest.raises(TopologyError, match=r"gpu.*33 children"):
        build(machine(buses=buses, hives=(buses,)))


@settings(max_examples=50)
@given(data=st.data())
def test_every_machine_gives_a_text_that_rccl_reads(
    machine: Maker, nic: Maker, slot: Maker, data: st.DataObject
) -> None:
    buses = data.draw(st.lists(st.sampled_from(range(0x13, 0x100, 8)), min_size=1, max_size=16, unique=True))
    size = data.draw(st.sampled_from([1, 2, 4, 8]))
    sockets = data.draw(st.integers(1, 4))
    speeds, widths = st.sampled_from([2.5, 5.0, 8.0, 16.0, 32.0]), st.sampled_from([1, 4, 8, 16])
    snapshot = machine(
        buses=buses,
        hives=[buses[start : start + size] for start in range(0, len(buses), size)],
        sockets=sockets,
        numa_of=data.draw(st.dictionaries(st.sampled_from(buses), st.integers(-1, sockets - 1))),
        slots={bus: slot(data.draw(speeds), data.draw(widths), most=32.0, widest=16) for bus in buses[:2]},
        nics=data.draw(st.sampled_from([[], [nic()], [nic(hca=None)], [nic(speed=-1)], [nic(up=False)]])),
        domain=data.draw(st.sampled_from([0, 1, 0xFFFF])),
        count=data.draw(st.integers(1, 4)),
    )
    for gpu in data.draw(st.lists(st.sampled_from(snapshot["pci"]["gpus"]), max_size=2)):
        gpu["path"] = gpu["path"][: data.draw(st.integers(0, 3))]
    for gpu in data.draw(st.lists(st.sampled_from(snapshot["pci"]["gpus"]), max_size=1)):
        gpu["link"] = data.draw(st.sampled_from([None, {}]))

    topology = build(snapshot)
    text = render_xml(topology)
    root = read_as_rccl(text)

    assert text == render_xml(build(snapshot))
    assert "\t" not in text
    assert root[:2] == ("system", {"version": "2"})
    pairs = {(link.target, link.source) for link in topology.links}
    assert pairs == directed(topology)
    assert len(walk(root, "gpu")) == len(buses)
    assert sorted(int(gpu["dev"]) for gpu in walk(root, "gpu")) == list(range(len(buses)))
    assert all("rank" not in gpu for gpu in walk(root, "gpu"))
    busids = [pci["busid"] for pci in walk(root, "pci")]
    assert len(busids) == len(set(busids))
    assert {link["target"] for link in walk(root, "xgmi")} <= set(busids)


def kfd_of(archive: Path) -> dict[str, Any]:
    """Read a captured KFD tree with a reader of the test's own."""
    tables: dict[str, dict[str, int]] = {}
    with tarfile.open(archive) as tar:
        for member in tar:
            content = tar.extractfile(member) if member.name.endswith("/properties") else None
            if content is not None:
                rows = (line.split() for line in content.read().decode("ascii").splitlines())
                tables[member.name] = {key: int(value) for key, value in rows}
    nodes = []
    for name in sorted(tables):
        found = re.fullmatch(r"(.*/nodes/([0-9]+))/properties", name)
        if found is None:
            continue
        properties, place = tables[name], tables[name]["location_id"]
        bdf = f"{properties['domain']:04x}:{place >> 8:02x}:{place >> 3 & 31:02x}.{place & 7}" if place else None
        links = [tables[other] for other in sorted(tables) if other.startswith(found[1] + "/io_links/")]
        nodes.append({"id": int(found[2]), "properties": properties, "io_links": links, "bdf": bdf})
    return {"nodes": nodes}


def test_captured_kfd_tree_of_eight_mi210_gives_two_quads(machine: Maker, captures: Path) -> None:
    kfd = kfd_of(captures / "kfd-mi210-8gpu-2hives.tar.gz")
    buses = [int(node["bdf"][5:7], 16) for node in kfd["nodes"] if node["bdf"]]
    snapshot = machine(buses=buses, hives=()) | {"kfd": kfd}
    topology = build(snapshot)
    near = {
        gpu.busid: {target for source, target in directed(topology) if source == gpu.busid} for gpu in topology.gpus
    }
    assert len(topology.links) == 24
    assert {frozenset(peers | {name}) for name, peers in near.items()} == {
        frozenset(f"0000:{bus:02x}:00.0" for bus in quad)
        for quad in ((0x03, 0x26, 0x43, 0x63), (0x83, 0xA3, 0xC3, 0xE3))
    }
    assert {link.count for link in topology.links} == {1}
    assert len(walk(read_as_rccl(render_xml(topology)), "xgmi")) == 24


def test_captured_topologies_are_read_by_the_test_reader(captures: Path) -> None:
    for path in sorted((captures / "rccl-topo").glob("*.xml")):
        assert read_as_rccl(path.read_text(encoding="ascii"))[0] == "system", path.name


def test_sixty_four_gpus_fit(machine: Maker) -> None:
    buses = tuple(range(0x03, 0x103, 4))
    snapshot = machine(buses=buses, hives=[buses[start : start + 8] for start in range(0, 64, 8)])
    snapshot["numa"]["nodes"] = [{"id": n, "cpulist": f"{n * 16}-{n * 16 + 15}"} for n in range(8)]
    for position, gpu in enumerate(snapshot["pci"]["gpus"]):
        gpu["numa_node"] = position // 8
    assert len(walk(read_as_rccl(render_xml(build(snapshot))), "gpu")) == 64
