# SPDX-License-Identifier: Apache-2.0
"""Say what follows from a topology file for RCCL's planning, as data and as text."""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.instinct.bringup.plugins.plugin_utils.rccl_reader import read_topology
from ansible_collections.instinct.bringup.plugins.plugin_utils.topology.channels import Estimate, Limits, estimate
from ansible_collections.instinct.bringup.plugins.plugin_utils.topology.graph import Graph, build_graph
from ansible_collections.instinct.bringup.plugins.plugin_utils.topology.paths import Path, device_paths


def explain_topology(text: str, rccl_version: str, limits: Limits | None = None) -> dict[str, t.Any]:
    """Return GPUs, network devices, XGMI links, paths between each two, channels and memory of a topology file.

    Speeds are what RCCL plans with, in GB/s and one direction; they are no measurement.

    :raises Rejected: RCCL's parser would not take the text.
    """
    graph = build_graph(read_topology(text), rccl_version)
    bounds = estimate(graph, rccl_version, limits or Limits())
    return {
        "rccl_version": rccl_version,
        "gpus": [dataclasses.asdict(gpu) for gpu in graph.gpus],
        "nets": [dataclasses.asdict(net) for net in graph.nets],
        "xgmi": _xgmi(graph),
        "paths": [_path(path) for path in device_paths(graph)],
        "channels": {"fewest": bounds.channels[0], "most": bounds.channels[1], "p2p": bounds.p2p_channels},
        "memory_mib": {
            "rings_and_trees": list(bounds.rings_and_trees_mib),
            "all_to_all": bounds.p2p_mib,
        },
        "shape": bounds.shape,
        "summary": memory_text(bounds, len(graph.gpus)),
    }


def _xgmi(graph: Graph) -> list[dict[str, t.Any]]:
    gbs = {
        (key[1], edge.target[1]): edge.gbs
        for key, edges in graph.edges.items()
        for edge in edges
        if edge.kind == "xgmi"
    }
    return [
        {"source": source, "target": target, "count": count, "gbs": gbs[source, target]}
        for (source, target), count in sorted(graph.xgmi.items())
    ]


def _path(path: Path) -> dict[str, t.Any]:
    names = {"source": path.source[1], "target": path.target[1]}
    return {**names, "type": path.type, "gbs": path.gbs, "hops": path.hops}


def explanation_text(explained: t.Mapping[str, t.Any]) -> str:
    """Return the matrix of path types, as people know it from rocm-smi, and the bounds below it."""
    paths = {(path["source"], path["target"]): path for path in explained["paths"]}
    columns = [(f"GPU{gpu['dev']}", gpu["busid"]) for gpu in explained["gpus"]]
    columns += [(net["name"], net["name"]) for net in explained["nets"]]
    head = ["", *(title for title, _key in columns)]
    rows = [head]
    for gpu in explained["gpus"]:
        cells = [_cell(paths.get((gpu["busid"], key)), key == gpu["busid"]) for _title, key in columns]
        rows.append([f"GPU{gpu['dev']} {gpu['busid']}", *cells])
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([*lines, "", *_sentences(explained)]) + "\n"


def _cell(path: t.Mapping[str, t.Any] | None, is_self: bool) -> str:
    if is_self:
        return "-"
    return "none" if path is None else f"{path['type']} {path['gbs']:g}"


def _sentences(explained: t.Mapping[str, t.Any]) -> list[str]:
    return [
        "Path and GB/s in one direction that RCCL plans with. XGMI: linked; PIX, PXB: PCI bridges; "
        "PHB: through the processor; SYS: between NUMA nodes.",
        explained["summary"],
    ]


def memory_text(bounds: Estimate, ranks: int) -> str:
    """Return in words how many channels one communicator has, and the device memory of each rank."""
    if bounds.shape:
        source = f"as RCCL 2.13.4 itself planned this wiring ({bounds.shape}) with one network card of 100 Gb/s"
    else:
        source = "which is all that follows by rule"
    text = (
        f"RCCL makes {_range(*bounds.channels)} channels, {source}. Their rings and trees take "
        f"{_range(*bounds.rings_and_trees_mib)} MiB of device memory on each of {ranks} ranks for one communicator"
    )
    if bounds.p2p_mib:
        text += f", and an all-to-all {bounds.p2p_mib} MiB more when it is first used"
    return f"{text}; network peers and further communicators come on top."


def _range(least: int, most: int) -> str:
    return str(least) if least == most else f"{least} to {most}"
