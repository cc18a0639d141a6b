# SPDX-License-Identifier: Apache-2.0
"""Read the NUMA nodes."""

from __future__ import annotations

from typing import Any, Dict, List, Optional

from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree, to_int

NODE_ROOT = "/sys/devices/system/node"


def read_numa(tree: Tree) -> Optional[Dict[str, List[Dict[str, Any]]]]:
    """Return the snapshot's "numa": nodes by id, each with its CPUs and distances in node order."""
    names = tree.list_folder("numa", NODE_ROOT)
    if names is None:
        return None
    nodes: List[Dict[str, Any]] = []
    for name in names:
        number = to_int(name[4:]) if name.startswith("node") else None
        if number is None:
            continue
        path = "%s/%s" % (NODE_ROOT, name)
        cpulist = tree.read_text("numa", path + "/cpulist")
        nodes.append(
            {
                "id": number,
                # A node that holds memory only has an empty list.
                "cpulist": cpulist.strip() if cpulist is not None else None,
                "distance": _distances(tree, path + "/distance"),
            }
        )
    return {"nodes": nodes}


def _distances(tree: Tree, path: str) -> Optional[List[int]]:
    text = tree.read_line("numa", path)
    if text is None:
        return None
    numbers = [to_int(field) for field in text.split()]
    known = [number for number in numbers if number is not None]
    if len(known) != len(numbers):
        tree.problem("numa", path, "not a list of numbers: %r" % text[:40])
        return None
    return known
