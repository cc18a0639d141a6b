# SPDX-License-Identifier: Apache-2.0
"""Find the path between each two devices as RCCL does (graph/paths.cc): how far apart, how fast."""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.instinct.bringup.plugins.plugin_utils.topology.graph import LOCAL_GBS, Graph, Key

# The nearer first; a path is as far as its farthest link.
# XGMI: a link between the two. PIX: one PCI bridge. PXB: several. PHB: a processor. SYS: two NUMA nodes.
PATH_TYPES = ("LOC", "XGMI", "PIX", "PXB", "PHB", "SYS")
_OF_LINK = {"xgmi": "XGMI", "pci": "PIX", "sys": "SYS", "net": "LOC"}


@dataclasses.dataclass(frozen=True)
class Path:
    """Hold the way from one device to another. hops: links on it. gbs: of its slowest link, in GB/s."""

    source: Key
    target: Key
    type: str
    gbs: float
    hops: int


def paths_from(graph: Graph, source: Key) -> dict[Key, Path]:
    """Return the path to everything that can be reached.

    RCCL takes the way with the fewest links, of those the widest; it never goes through another GPU.
    """
    found = {source: Path(source, source, "LOC", LOCAL_GBS, 0)}
    level = [source]
    while level:
        following: list[Key] = []
        for key in level:
            path = found[key]
            for edge in sorted(graph.edges.get(key, ()), key=lambda edge: -edge.gbs):
                known, gbs = found.get(edge.target), min(path.gbs, edge.gbs)
                if known is not None and (known.hops <= path.hops or known.gbs >= gbs):
                    continue
                kind = _farthest(path.type, _type_of(key, edge.target, edge.kind))
                found[edge.target] = Path(source, edge.target, kind, gbs, path.hops + 1)
                if edge.target[0] != "gpu" and edge.target not in following:
                    following.append(edge.target)
        level = following
    return found


def device_paths(graph: Graph) -> list[Path]:
    """Return the paths from each GPU to each other GPU and to each network device, in the order of dev."""
    keys: list[Key] = [("gpu", gpu.busid) for gpu in graph.gpus]
    targets: list[Key] = [*keys, *(("net", net.name) for net in graph.nets)]
    result = []
    for source in keys:
        found = paths_from(graph, source)
        result += [found[target] for target in targets if target != source and target in found]
    return result


def _type_of(one: Key, other: Key, kind: str) -> str:
    if kind == "pci" and "cpu" in (one[0], other[0]):
        return "PHB"
    if one[0] == other[0] == "pci":
        return "PXB"
    return _OF_LINK[kind]


def _farthest(*types: t.Any) -> str:
    return PATH_TYPES[max(PATH_TYPES.index(kind) for kind in types)]
