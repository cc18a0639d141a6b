# SPDX-License-Identifier: Apache-2.0
"""Say whether a topology file is of the machine that it is used on."""

from __future__ import annotations

import typing as t

from ansible_collections.instinct.bringup.plugins.module_utils.rccl_model import Topology, TopologyError
from ansible_collections.instinct.bringup.plugins.module_utils.rccl_topology import build_topology
from ansible_collections.instinct.bringup.plugins.plugin_utils.rccl_lint import Finding, bus_number
from ansible_collections.instinct.bringup.plugins.plugin_utils.rccl_reader import Node, Rejected, number, read_topology

Machine = t.Mapping[str, t.Any]


def lint_host(text: str, rccl_version: str, machine: Machine) -> list[Finding]:
    """Return in what a file and a machine differ, by line; nothing for a file that RCCL's parser refuses.

    machine: what module_utils.rccl_machine reads, or a snapshot, which knows fewer PCI addresses.
    """
    try:
        nodes = read_topology(text).walk()
    except Rejected:
        return []
    if len(nodes) == 1:
        return []
    findings = list(_addresses(nodes, machine))
    try:
        topology = build_topology(machine, rccl_version)
    except TopologyError as error:
        findings.append(Finding("note", 1, f"GPUs, links and NUMA nodes are not compared with this host: {error}"))
        return findings
    gpus = {bus_number(node.get("busid")): node for node in nodes if node.name == "pci" and _has_gpu(node)}
    findings += _gpus(gpus, topology)
    findings += _links(nodes, gpus, topology)
    findings += _nets(nodes, topology)
    findings += _numa(nodes, topology)
    return sorted(findings, key=lambda finding: finding.line)


def _has_gpu(pci: Node) -> bool:
    return any(child.name == "gpu" for child in pci.children)


def _addresses(nodes: t.Sequence[Node], machine: Machine) -> t.Iterator[Finding]:
    """Look each bus id up. RCCL finds a device by the very text, though it compares links by number."""
    pci = machine.get("pci") or {}
    devices = [*(pci.get("gpus") or ()), *(pci.get("nics") or ())]
    known = [entry["bdf"] for device in devices for entry in (device, *(device.get("path") or ()))]
    there = {bus_number(address): address.lower() for address in (*known, *(pci.get("addresses") or ()))}
    for node in nodes:
        busid = node.get("busid") if node.name == "pci" else None
        exact = there.get(bus_number(busid)) if busid else None
        if busid and exact is None:
            message = f"busid {busid} is not on this host: not below /sys/bus/pci/devices"
            yield Finding("silently_wrong", node.line, message)
        elif busid and busid != exact:
            message = f"busid {busid} is {exact} on this host: RCCL looks for that text, and leaves this element out"
            yield Finding("ignored", node.line, message)


def _gpus(named: t.Mapping[str, Node], topology: Topology) -> t.Iterator[Finding]:
    if len(named) != len(topology.gpus):
        message = f"the file has {len(named)} GPUs and this host {len(topology.gpus)}"
        yield Finding("silently_wrong", 1, message)
    for gpu in topology.gpus:
        if bus_number(gpu.busid) not in named:
            yield Finding("incomplete", 1, f"GPU {gpu.busid} of this host is not in the file; RCCL adds it by itself")
    on_host = {bus_number(gpu.busid): gpu for gpu in topology.gpus}
    for key, pci in named.items():
        dev = next(child.get("dev") for child in pci.children if child.name == "gpu")
        found = on_host.get(key)
        if found is not None and dev is not None and number(dev, -1) != found.dev:
            message = (
                f"dev {dev} of {found.busid}: ROCm SMI counts it as {found.dev}, and RCCL asks it for the XGMI links "
                "of the card of that number"
            )
            yield Finding("note", pci.line, message)


def _links(nodes: t.Sequence[Node], gpus: t.Mapping[str, Node], topology: Topology) -> t.Iterator[Finding]:
    on_host = {(bus_number(link.source), bus_number(link.target)): link for link in topology.links}
    named: dict[tuple[str, str], Node] = {}
    for node in nodes:
        pci = node.parent.parent if node.name == "xgmi" and node.parent is not None else None
        if pci is not None:
            named[bus_number(pci.get("busid")), bus_number(node.get("target"))] = node
    for pair, node in named.items():
        link = on_host.get(pair)
        if link is None:
            yield Finding(
                "silently_wrong", node.line, f"xgmi to {node.get('target')}: KFD of this host has no such link"
            )
        elif node.get("count") is not None and number(node.get("count")) != link.count:
            message = f"xgmi to {node.get('target')} of count {node.get('count')}: KFD of this host has {link.count}"
            yield Finding("silently_wrong", node.line, message)
    for pair, link in on_host.items():
        if pair not in named and pair[0] in gpus:
            message = f"KFD of this host links {link.source} to {link.target} by XGMI, and the file does not"
            yield Finding("incomplete", gpus[pair[0]].line, message)


def _nets(nodes: t.Sequence[Node], topology: Topology) -> t.Iterator[Finding]:
    named = [node for node in nodes if node.name == "net"]
    on_host = {net.name: net for net in topology.nets}
    if len(named) != len(on_host):
        yield Finding("note", 1, f"the file has {len(named)} network devices and this host {len(on_host)} in use")
    for node in named:
        net = on_host.get(node.get("name") or "")
        pci = node.parent.parent if node.parent is not None else None
        if net is None:
            message = f"net {node.get('name')} is not in use on this host; RCCL leaves it out"
            yield Finding("ignored", node.line, message)
        elif pci is not None and pci.name == "pci" and bus_number(pci.get("busid")) != bus_number(net.busid):
            message = f"net {net.name} is on {net.busid} here, and on {pci.get('busid')} in the file"
            yield Finding("silently_wrong", node.line, message)


def _numa(nodes: t.Sequence[Node], topology: Topology) -> t.Iterator[Finding]:
    placed = {bus_number(place.busid): place for place in topology.placements}
    for node in nodes:
        place = placed.get(bus_number(node.get("busid"))) if node.name == "pci" else None
        above: Node | None = node
        while above is not None and above.name != "cpu":
            above = above.parent
        if place is None or above is None:
            continue
        numaid = number(above.get("numaid"), -1)
        # Where PCI names no node, RCCL's own 0 is as right as what we infer.
        if numaid not in (place.numa_node, place.detected):
            message = f"{place.busid} is on NUMA node {place.numa_node} of this host, and on {numaid} in the file"
            yield Finding("silently_wrong", node.line, message)
