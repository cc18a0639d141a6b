# SPDX-License-Identifier: Apache-2.0
"""Read the KFD topology: what the compute driver offers to the runtime."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple

from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree, to_int

TOPOLOGY = "/sys/class/kfd/kfd/topology"
NODE_ROOT = TOPOLOGY + "/nodes"

Json = Dict[str, Any]


def parse_properties(text: str) -> Tuple[Dict[str, int], List[str]]:
    """Return the "key number" lines of a KFD properties text, and what is wrong with the other lines."""
    values: Dict[str, int] = {}
    odd: List[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        fields = line.split()
        value = to_int(fields[1]) if len(fields) == 2 else None
        if value is not None:
            values[fields[0]] = value
        elif fields:
            odd.append("line %d is not a key and a number: %r" % (number, line[:60]))
    return values, odd


def bdf_of(properties: Dict[str, int]) -> Optional[str]:
    """Return the PCI address of a GPU node's properties; None for a CPU node or an impossible number.

    location_id holds bus, device and function; drivers before 5.3 write no domain, which is then 0.
    """
    if properties.get("simd_count", 0) <= 0 or "location_id" not in properties:
        return None
    location, domain = properties["location_id"], properties.get("domain", 0)
    if not 0 <= location <= 0xFFFF or not 0 <= domain <= 0xFFFFFFFF:
        return None
    return "%04x:%02x:%02x.%x" % (domain, location >> 8, location >> 3 & 0x1F, location & 7)


def read_kfd(tree: Tree) -> Optional[Dict[str, List[Json]]]:
    """Return the snapshot's "kfd": the nodes by number, or None when there is no KFD.

    properties is None where the node's file cannot be read: the driver refuses it to a container
    that may not use the GPU. A link or bank whose file cannot be read is an empty dict.
    """
    names = tree.list_folder("kfd", NODE_ROOT)
    if names is None:
        return None
    nodes: List[Json] = []
    for name in names:
        number = to_int(name)
        if number is None:
            tree.problem("kfd", "%s/%s" % (NODE_ROOT, name), "not a node number")
            continue
        nodes.append(_node(tree, number, "%s/%s" % (NODE_ROOT, name)))
    return {"nodes": nodes}


def _node(tree: Tree, number: int, folder: str) -> Json:
    properties = _properties(tree, folder + "/properties")
    # The name is empty on CPU nodes.
    name = tree.read_text("kfd", folder + "/name")
    return {
        "id": number,
        "name": name.strip() if name is not None else None,
        "gpu_id": tree.read_int("kfd", folder + "/gpu_id"),
        "properties": properties,
        "io_links": _members(tree, folder + "/io_links"),
        # Not there before kernel 5.19 and in a driver built without CONFIG_HSA_AMD_P2P.
        "p2p_links": _members(tree, folder + "/p2p_links", optional=True),
        "mem_banks": _members(tree, folder + "/mem_banks"),
        "bdf": bdf_of(properties or {}),
    }


def _members(tree: Tree, folder: str, optional: bool = False) -> Optional[List[Dict[str, int]]]:
    names = tree.list_folder("kfd", folder, optional)
    if names is None:
        return [] if optional and tree.presence(folder) is False else None
    return [_properties(tree, "%s/%s/properties" % (folder, name)) or {} for name in names if to_int(name) is not None]


def _properties(tree: Tree, path: str) -> Optional[Dict[str, int]]:
    text = tree.read_text("kfd", path)
    if text is None:
        return None
    values, odd = parse_properties(text)
    for message in odd:
        tree.problem("kfd", path, message)
    return values or None
