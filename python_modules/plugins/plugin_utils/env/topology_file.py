# SPDX-License-Identifier: Apache-2.0
"""Compare the GPUs of a topology file with those of a machine, by the rules of RCCL's own parser."""

from __future__ import annotations

import collections.abc as c

from ansible_collections.instinct.bringup.plugins.plugin_utils.rccl_lint import bus_number
from ansible_collections.instinct.bringup.plugins.plugin_utils.rccl_reader import Rejected, read_topology


def differences(text: str, addresses: c.Sequence[str]) -> str:
    """Return how the GPUs of a file differ from a machine's, empty where they are the same."""
    try:
        nodes = read_topology(text).walk()
    except Rejected as error:
        return f"RCCL refuses it: {error}"
    named = [
        bus_number(node.get("busid"))
        for node in nodes
        if node.name == "pci" and any(child.name == "gpu" for child in node.children)
    ]
    there = {bus_number(address): address for address in addresses}
    foreign = sorted(set(named) - set(there))
    missing = sorted(address for number, address in there.items() if number not in named)
    parts = [f"not on this machine: {', '.join(foreign)}"] if foreign else []
    parts += [f"not in the file: {', '.join(missing)}"] if missing else []
    if not parts and len(set(named)) < len(named):
        parts.append("it names a GPU twice")
    return "; ".join(parts)
