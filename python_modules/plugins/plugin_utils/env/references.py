# SPDX-License-Identifier: Apache-2.0
"""Judge what a value refers to on a node: interfaces, adapters and files that are there or not."""

from __future__ import annotations

import collections.abc as c

from ansible_collections.instinct.bringup.plugins.plugin_utils.env.host import Host
from ansible_collections.instinct.bringup.plugins.plugin_utils.env.selectors import select_hcas, select_interfaces
from ansible_collections.instinct.bringup.plugins.plugin_utils.env.topology_file import differences

TOPOLOGY = "NCCL_TOPO_FILE"
GRAPH = "NCCL_GRAPH_FILE"


def reference_problem(name: str, value: str, host: Host) -> str:
    """Return what is wrong with what a value refers to; empty where it is there, or nothing could be looked at."""
    judge = _JUDGES.get(name)
    return judge(value, host) if judge else ""


def _interfaces(value: str, host: Host) -> str:
    if host.interfaces is None:
        return ""
    there = ", ".join(host.interfaces) or "none"
    selection = select_interfaces(value, host.interfaces)
    if not selection.chosen:
        return f"it selects no interface; there are {there}"
    if selection.exclude:
        return ""
    for item, names in selection.matches.items():
        if not names:
            return f"{item!r} matches no interface; there are {there}"
        if len(names) > 1:
            return (
                f"{item!r} is the beginning of {', '.join(names)}; write ={item if item in names else names[0]} for one"
            )
    return ""


def _adapters(value: str, host: Host) -> str:
    if host.hcas is None:
        return ""
    there = ", ".join(host.hcas) or "none"
    selection = select_hcas(value, host.hcas)
    missing = [item for item, names in selection.matches.items() if not names]
    if missing:
        return f"{', '.join(missing)} is no adapter of this node; there are {there}"
    return "" if selection.chosen else f"it leaves no adapter; there are {there}"


def _topology(value: str, host: Host) -> str:
    if value not in host.files:
        return ""
    text = host.files[value]
    if text is None:
        return f"{value} is not there or no text: RCCL warns and detects the topology itself"
    if host.addresses is None:
        return ""
    different = differences(text, host.addresses)
    return f"{value} is not of this host: {different}" if different else ""


def _graph(value: str, host: Host) -> str:
    if value in host.files and host.files[value] is None:
        return f"{value} is not there or no text: the job ends at its start"
    return ""


_JUDGES: dict[str, c.Callable[[str, Host], str]] = {
    "NCCL_SOCKET_IFNAME": _interfaces,
    "NCCL_IB_HCA": _adapters,
    TOPOLOGY: _topology,
    GRAPH: _graph,
}
