# SPDX-License-Identifier: Apache-2.0
"""Place PCI devices on NUMA nodes, also those that the kernel places nowhere (-1)."""

from __future__ import annotations

import typing as t

from ansible_collections.instinct.bringup.plugins.module_utils.rccl_model import Placement
from ansible_collections.instinct.bringup.plugins.module_utils.rccl_xml import MAX_TEXT
from ansible_collections.instinct.bringup.plugins.module_utils.text import parse_cpulist

Raw = t.Mapping[str, t.Any]

# The source of a placement that nothing on the node tells.
GUESSED = "RCCL's own rule"


def place(device: Raw, name: str, kfd_node: t.Optional[int], snapshot: Raw, warnings: t.List[str]) -> Placement:
    """Return the NUMA node of a device.

    kfd_node: the number of a GPU's KFD node, None for other devices. Where PCI says -1 or nothing,
    the node comes from KFD's link to a CPU, then from the CPUs that the kernel calls local, then it
    is 0 as RCCL has it; each with a warning unless there is but one node.
    """
    numa = device.get("numa_node")
    nodes = {node["id"]: node for node in (snapshot.get("numa") or {}).get("nodes") or ()}
    if numa is not None and numa >= 0:
        if nodes and numa not in nodes:
            warnings.append(
                "{}: PCI says NUMA node {}, which /sys/devices/system/node does not hold".format(name, numa)
            )
        return Placement(name, numa, numa, "pci")
    if len(nodes) == 1:
        return Placement(name, next(iter(nodes)), 0, "only")
    inferred = _from_kfd(kfd_node, snapshot, sorted(nodes)) if kfd_node is not None else None
    source = "KFD's link to a CPU"
    if inferred is None:
        inferred, source = _from_cpus(device.get("local_cpulist"), nodes), "the CPUs local to it"
    if inferred is None:
        inferred, source = 0, GUESSED
    warnings.append("{}: PCI names no NUMA node; {} gives node {}".format(name, source, inferred))
    return Placement(name, inferred, 0, source)


def _from_kfd(kfd_node: int, snapshot: Raw, numa_ids: t.Sequence[int]) -> t.Optional[int]:
    nodes = snapshot["kfd"]["nodes"]
    cpus = sorted(node["id"] for node in nodes if (node.get("properties") or {}).get("cpu_cores_count"))
    links = [link for node in nodes if node["id"] == kfd_node for link in node.get("io_links") or ()]
    near = [(link.get("weight", 0), link["node_to"]) for link in links if link.get("node_to") in cpus]
    if not near:
        return None
    position = cpus.index(min(near)[1])
    # KFD lists the CPUs first and in the order of the NUMA nodes; the numbers agree unless a
    # NUMA node is missing.
    return numa_ids[position] if len(numa_ids) == len(cpus) else min(near)[1]


def _from_cpus(local_cpulist: t.Optional[str], nodes: t.Mapping[int, Raw]) -> t.Optional[int]:
    local = parse_cpulist(local_cpulist or "")
    matches = [number for number, node in nodes.items() if local and parse_cpulist(node.get("cpulist") or "") == local]
    return matches[0] if len(matches) == 1 else None


def affinity_masks(snapshot: Raw, warnings: t.List[str]) -> t.Dict[int, str]:
    """Return the CPU mask of each NUMA node as the kernel's cpumap gives it: groups of 32 bits.

    A node without a readable list has no mask, and RCCL reads that one itself.
    """
    nodes = (snapshot.get("numa") or {}).get("nodes") or ()
    lists = {node["id"]: parse_cpulist(node["cpulist"]) for node in nodes if node.get("cpulist") is not None}
    groups = max((max(cpus) // 32 + 1 for cpus in lists.values() if cpus), default=1)
    masks = {}
    for number, cpus in lists.items():
        if cpus is None:
            continue
        bits = sum(1 << cpu for cpu in cpus)
        words = [bits >> 32 * position & 0xFFFFFFFF for position in range(groups)]
        text = ",".join("{:08x}".format(word) for word in reversed(words))
        if len(text) > MAX_TEXT:
            warnings.append("NUMA node {}: its CPU mask is longer than RCCL's field; left out".format(number))
            continue
        masks[number] = text
    return masks
