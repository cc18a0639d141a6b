# SPDX-License-Identifier: Apache-2.0
"""Tell how many channels RCCL makes, and the device memory that they cost on a rank.

In general only bounds follow by rule. For the wirings of MI210 below, RCCL 2.13.4's own planning code
was run on such topologies, with an EPYC processor and one network card of 100 Gb/s.
"""

from __future__ import annotations

import dataclasses

from ansible_collections.instinct.bringup.plugins.plugin_utils.rccl_memory import (
    DEFAULT_BUFFSIZE,
    MIB,
    channel_limits,
    collective_bounds,
    connection_bytes,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.topology.graph import Graph, GraphGpu
from ansible_collections.instinct.bringup.plugins.plugin_utils.topology.paths import paths_from

# The RCCL whose planner was run, and the slots that it was run with, in GB/s.
_PLANNED_BY = (2, 13)
_GEN4_X16 = 24.0


@dataclasses.dataclass(frozen=True)
class Shape:
    """Hold RCCL's answer for a wiring.

    hives: sizes of the groups that XGMI joins. count: links between two neighbours, 0 without XGMI.
    nodes: 1 for one NUMA node only, 2 for several, 0 where it was not tried apart.
    connections: fewest and most of a rank over all channels, None where only the channels are known.
    """

    name: str
    hives: tuple[int, ...]
    count: int
    nodes: int
    channels: int
    p2p_channels: int
    p2p_per_peer: int
    connections: tuple[int, int] | None


MI210_SHAPES = (
    Shape("one card", (1,), 0, 0, 32, 2, 32, (0, 0)),
    Shape("pair, one link", (2,), 1, 0, 8, 4, 2, (8, 8)),
    Shape("pair, two links", (2,), 2, 0, 12, 4, 8, (12, 12)),
    Shape("pair, three links", (2,), 3, 0, 24, 4, 8, (24, 24)),
    Shape("two pairs", (2, 2), 1, 0, 8, 8, 2, (13, 16)),
    Shape("four pairs", (2, 2, 2, 2), 1, 0, 8, 2, 2, (13, 16)),
    Shape("quad", (4,), 1, 0, 24, 8, 2, (41, 49)),
    Shape("two quads", (4, 4), 1, 0, 8, 2, 2, (13, 16)),
    Shape("four cards, PCIe only", (1,) * 4, 0, 2, 4, 4, 2, (5, 8)),
    Shape("eight cards, PCIe only", (1,) * 8, 0, 2, 4, 4, 2, (5, 8)),
    Shape("eight cards, PCIe only, one NUMA node", (1,) * 8, 0, 1, 4, 4, 2, None),
)


@dataclasses.dataclass(frozen=True)
class Limits:
    """Hold what a job's environment says, None where it says nothing.

    buffsize: NCCL_BUFFSIZE in bytes. The others: NCCL_MIN_NCHANNELS, NCCL_MAX_NCHANNELS, NCCL_MAX_P2P_NCHANNELS.
    """

    buffsize: int | None = None
    min_nchannels: int | None = None
    max_nchannels: int | None = None
    max_p2p_nchannels: int | None = None


@dataclasses.dataclass(frozen=True)
class Estimate:
    """Hold bounds for one communicator of all GPUs of a node, memory in MiB on each rank.

    shape: the wiring that RCCL was run on, None where the bounds follow from the rules alone.
    p2p_mib: what an all-to-all connects when it is first used, None where its channels are not known.
    """

    shape: str | None
    channels: tuple[int, int]
    rings_and_trees_mib: tuple[int, int]
    p2p_channels: int | None
    p2p_mib: int | None


def hives(graph: Graph) -> list[set[str]]:
    """Return the groups of GPUs that XGMI joins, single ones included, the largest first."""
    groups: list[set[str]] = []
    for gpu in graph.gpus:
        joined = {gpu.busid} | {other for pair in graph.xgmi for other in pair if gpu.busid in pair}
        touching = [group for group in groups if group & joined]
        groups = [group for group in groups if not group & joined]
        groups.append(joined.union(*touching))
    return sorted(groups, key=lambda group: (-len(group), min(group)))


def shape_of(graph: Graph) -> Shape | None:
    """Return the known wiring that a graph has, or None: also where a slot is not Gen4 x16, or RCCL another one."""
    if graph.rccl_version[:2] != _PLANNED_BY or any(_slot_gbs(graph, gpu) != _GEN4_X16 for gpu in graph.gpus):
        return None
    groups = hives(graph)
    sizes, counts = tuple(len(group) for group in groups), set(graph.xgmi.values())
    meshed = sum(size * (size - 1) for size in sizes) == len(graph.xgmi)
    if not graph.is_rome or not meshed or len(counts) > 1 or any(gpu.gcn != "gfx90a" for gpu in graph.gpus):
        return None
    count, nodes = next(iter(counts), 0), min(len({gpu.numaid for gpu in graph.gpus}), 2)
    for shape in MI210_SHAPES:
        if shape.hives == sizes and shape.count == count and shape.nodes in (0, nodes):
            return shape
    return None


def _slot_gbs(graph: Graph, gpu: GraphGpu) -> float:
    return paths_from(graph, ("gpu", gpu.busid))["cpu", str(gpu.numaid)].gbs


def estimate(graph: Graph, rccl_version: str, limits: Limits) -> Estimate:
    """Return the bounds for a graph and a job's limits."""
    ranks, shape = len(graph.gpus), shape_of(graph)
    buffsize = limits.buffsize or DEFAULT_BUFFSIZE
    each = sum(connection_bytes(buffsize)) // MIB
    fewest, most = channel_limits(rccl_version, limits.max_nchannels)
    if shape is None:
        fewest = min(max(fewest, limits.min_nchannels or 0), most)
        bounds = collective_bounds(ranks, (fewest, most), buffsize)
        return Estimate(None, (fewest, most), (bounds.least_mib, bounds.most_mib), None, None)
    channels = min(max(shape.channels, limits.min_nchannels or 0), most)
    if shape.connections is None or channels > shape.channels:
        bounds = collective_bounds(ranks, (channels, channels), buffsize)
        memory = (bounds.least_mib, bounds.most_mib)
    else:
        # What was counted over all channels, in proportion.
        memory = (
            shape.connections[0] * channels // shape.channels * each,
            -(-shape.connections[1] * channels // shape.channels) * each,
        )
    p2p = min(shape.p2p_channels, channels, limits.max_p2p_nchannels or channels)
    return Estimate(shape.name, (channels, channels), memory, p2p, min(shape.p2p_per_peer, p2p) * (ranks - 1) * each)
