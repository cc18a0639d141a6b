# SPDX-License-Identifier: Apache-2.0
"""Hold what is drawn of a node, for the tree in the terminal and the drawing in the report."""

from __future__ import annotations

import collections.abc as c
import dataclasses
import typing as t

from ansible_collections.instinct.bringup.plugins.module_utils.rccl_model import (
    Net,
    PciLink,
    PciNode,
    Topology,
)
from ansible_collections.instinct.bringup.plugins.module_utils.rccl_pci import busid

# Cards whose bridges join each with each: within a hive a link that is not there is missing.
_MESHED = frozenset({"740f", "738c"})


@dataclasses.dataclass(frozen=True)
class Item:
    """Hold one device. kind: bridge, gpu or net.

    link: the PCI link above it in words, short: the same for a narrow place. state: ok, bad or soft.
    """

    kind: str
    name: str
    busid: str
    link: str
    short: str
    state: str
    children: tuple[Item, ...] = ()

    def leaves(self) -> list[Item]:
        """Return the GPUs and network devices at or below this device."""
        own = [self] if self.kind != "bridge" else []
        return own + [leaf for child in self.children for leaf in child.leaves()]


@dataclasses.dataclass(frozen=True)
class NumaBox:
    """Hold one NUMA node with the devices below it."""

    title: str
    items: tuple[Item, ...]


@dataclasses.dataclass(frozen=True)
class Bridge:
    """Hold the XGMI links of two GPUs, by bus id. state: ok, or bad where it is missing or one-way."""

    one: str
    other: str
    text: str
    state: str


@dataclasses.dataclass(frozen=True)
class Picture:
    """Hold a node as it is drawn."""

    title: str
    boxes: tuple[NumaBox, ...]
    bridges: tuple[Bridge, ...]
    remarks: tuple[str, ...]


def picture_of(host: str, topology: Topology, snapshot: t.Mapping[str, t.Any], hive_size: int | None = None) -> Picture:
    """Return the picture of a node.

    hive_size: how many cards a bridge must join, None where nobody declared it; then only a gap within a
    hive that the driver reports is missing.
    """
    nodes = {node["id"]: node for node in (snapshot.get("numa") or {}).get("nodes") or ()}
    boxes = tuple(
        NumaBox(_numa_title(cpu.numaid, nodes), tuple(_item(node, topology) for node in cpu.pci))
        for cpu in topology.cpus
    )
    links = sum(link.count for link in topology.links if not link.mirrored)
    counts = ((len(topology.gpus), "GPU"), (links, "directed XGMI link"), (len(topology.cpus), "NUMA node"))
    title = f"{host}: " + ", ".join(f"{many} {what}{'' if many == 1 else 's'}" for many, what in counts)
    bridges = tuple(_bridges(topology, snapshot))
    remarks = [*_lonely(topology, hive_size), *topology.warnings, *topology.passing]
    return Picture(title, boxes, bridges, tuple(remarks))


def _numa_title(numaid: int, nodes: t.Mapping[int, t.Mapping[str, t.Any]]) -> str:
    cpus = (nodes.get(numaid) or {}).get("cpulist")
    return f"NUMA node {numaid}" + (f", CPUs {cpus}" if cpus else "")


def _item(node: PciNode, topology: Topology) -> Item:
    children = tuple(_item(child, topology) for child in node.children)
    link = _link(node.link)
    if node.gpu is not None:
        return Item("gpu", f"GPU{node.gpu.dev} (HIP {node.gpu.hip})", node.busid, *link, children)
    if node.nets:
        return Item("net", ", ".join(_net(net) for net in node.nets), node.busid, *link, children)
    ids = ":".join(str(value)[2:] for value in (node.vendor, node.device) if value)
    return Item("bridge", f"switch {ids}".strip(), node.busid, *link, children)


def _net(net: Net) -> str:
    return f"{net.name} {net.speed / 1000:g} Gb/s"


def _link(link: PciLink) -> tuple[str, str, str]:
    """Return a link in words, in few words, and its state."""
    text = f"{link.now_speed:g} GT/s x{link.now_width}"
    slow = link.slow and not link.asleep
    if link.narrow or slow:
        parts = [f"x{link.now_width} of x{link.capable_width}"] if link.narrow else []
        parts += [f"{link.now_speed:g} of {link.capable_speed:g} GT/s"] if slow else []
        return f"{text} of {link.capable_speed:g} GT/s x{link.capable_width}", ", ".join(parts), "bad"
    if link.asleep:
        return f"{text}, may be asleep", f"x{link.now_width}, asleep", "soft"
    return text, text, "ok"


def _bridges(topology: Topology, snapshot: t.Mapping[str, t.Any]) -> c.Iterator[Bridge]:
    there = {(link.source, link.target): link for link in topology.links}
    raws = {busid(gpu["bdf"]): gpu for gpu in (snapshot.get("pci") or {}).get("gpus") or ()}
    for position, one in enumerate(topology.gpus):
        for other in topology.gpus[position + 1 :]:
            link = there.get((one.busid, other.busid))
            back = there.get((other.busid, one.busid))
            if link is not None and back is not None:
                one_way = link.mirrored or back.mirrored
                text = f"x{link.count}" + (" one way" if one_way else "")
                yield Bridge(one.busid, other.busid, text, "bad" if one_way else "ok")
            elif _same_hive(raws.get(one.busid) or {}, raws.get(other.busid) or {}):
                yield Bridge(one.busid, other.busid, "missing", "bad")


def _same_hive(one: t.Mapping[str, t.Any], other: t.Mapping[str, t.Any]) -> bool:
    hive = one.get("hive_id")
    is_hive = bool(hive) and str(hive) not in ("0", "0x0") and hive == other.get("hive_id")
    return is_hive and one.get("device") in _MESHED and other.get("device") in _MESHED


def _lonely(topology: Topology, hive_size: int | None) -> c.Iterator[str]:
    for gpu in topology.gpus if hive_size else ():
        seen = 1 + sum(link.source == gpu.busid for link in topology.links)
        if hive_size is not None and seen < hive_size:
            yield f"GPU{gpu.dev} {gpu.busid}: bridged with {seen - 1} cards, {hive_size - 1} are wanted"
