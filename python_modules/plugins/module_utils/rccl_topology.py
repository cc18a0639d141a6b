# SPDX-License-Identifier: Apache-2.0
"""Make RCCL's topology file from a snapshot (NCCL_TOPO_FILE)."""

from __future__ import annotations

import typing as t

from ansible_collections.instinct.bringup.plugins.module_utils import rccl_devices, rccl_numa, rccl_xml
from ansible_collections.instinct.bringup.plugins.module_utils.rccl_model import (
    Cpu,
    Gpu,
    PciNode,
    Topology,
    TopologyError,
)
from ansible_collections.instinct.bringup.plugins.module_utils.rccl_pci import (
    CAPABILITY,
    NOW,
    PciTree,
    busid,
    link_text,
    speed_text,
)
from ansible_collections.instinct.bringup.plugins.module_utils.rccl_xml import Element

_ARCH = {"x86_64": "x86_64", "aarch64": "arm64", "ppc64le": "ppc64"}


_SAID_OF_LINKS = {
    NOW: "Link speeds and widths are what the links give now. RCCL alone would take what they could give.",
    CAPABILITY: "Link speeds and widths are what the links could give, as RCCL alone would take them.",
}


def build_topology(snapshot: t.Mapping[str, t.Any], rccl_version: str, link_values: str = NOW) -> Topology:
    """Return the node's topology as the given RCCL would see it.

    snapshot: schema 1, of which os, cpu, numa, pci, kfd and net are read. Whatever is odd becomes a warning.
    link_values: now for what each link gives, capability for what RCCL would read by itself.

    :raises TopologyError: no right file can be made: no KFD, no usable GPU, partitioned cards, or more of
        something than RCCL's parser can hold.
    """
    warnings: t.List[str] = []
    passing: t.List[str] = []
    gpus = rccl_devices.find_gpus(snapshot, rccl_version, warnings)
    links = rccl_devices.find_links(snapshot, [gpu for gpu, _raw in gpus], warnings)
    nets = rccl_devices.find_nets(snapshot, warnings)

    devices: t.Dict[str, t.Dict[str, t.Any]] = {}
    for found_gpu, raw in gpus:
        devices[found_gpu.busid] = {"raw": raw, "gpu": found_gpu}
    for found, raw in nets:
        devices.setdefault(busid(raw["bdf"]), {"raw": raw}).update(nets=found)

    tree = PciTree(link_values, warnings, passing)
    placements = []
    for name in sorted(devices):
        entry = devices[name]
        gpu: t.Optional[Gpu] = entry.get("gpu")
        if gpu is not None and not entry["raw"].get("path"):
            warnings.append("{0}: no port above it in /sys/bus/pci/devices/{0}; it hangs on its CPU".format(name))
        placements.append(rccl_numa.place(entry["raw"], name, gpu.kfd_node if gpu else None, snapshot, warnings))
    # Those that PCI places come first: a switch hangs where the first device below it does.
    for placement in sorted(placements, key=lambda place: (place.source != "pci", place.busid)):
        entry = devices[placement.busid]
        tree.add(entry["raw"], placement.numa_node, entry.get("gpu"), entry.get("nets", ()))
    topology = Topology(
        rccl_version=rccl_version,
        link_values=link_values,
        gpus=tuple(gpu for gpu, _raw in gpus),
        links=tuple(links),
        cpus=_cpus(snapshot, tree, warnings),
        nets=tuple(net for found, _raw in nets for net in found),
        placements=tuple(placements),
        warnings=tuple(warnings),
        passing=tuple(passing),
    )
    try:
        render_xml(topology)
    except rccl_xml.DialectError as error:
        raise TopologyError("RCCL {} cannot hold this node's topology: {}".format(rccl_version, error)) from error
    return topology


def render_xml(topology: Topology) -> str:
    """Return the text of the file, the same for the same topology.

    There is no rank: RCCL counts the ranks itself, and before 2.18 it appends to one that it
    finds, which makes two ranks of one GPU.
    """
    comments = [
        "RCCL topology of this node, for RCCL {}. Made by instinct.bringup from /sys; changes by hand are "
        "overwritten.".format(topology.rccl_version),
        _SAID_OF_LINKS[topology.link_values],
    ]
    comments += ["Warning: {}".format(warning) for warning in topology.warnings]
    return rccl_xml.render(_system(topology), comments)


def differs_from_detection(topology: Topology, speed: float = 0, width: int = 0) -> t.List[str]:
    """Return in which ways the file says something else than RCCL would find by itself.

    Where this is empty the file brings nothing, and RCCL is better left alone.

    speed, width: what a slot must give, in GT/s and lanes. One that gives less is a fault to mend, and
    no reason to write the fault down.
    """
    result = [
        link_text(node.busid, node.link)
        for node in topology.pci_nodes()
        if node.link.differs and node.link.speed >= speed and node.link.width >= width
    ]
    result += [
        "{}: NUMA node {} from {}, where RCCL takes {}".format(
            place.busid, place.numa_node, place.source, place.detected
        )
        for place in topology.placements
        if place.numa_node != place.detected
    ]
    result += [
        "{} to {}: an XGMI link that KFD lists only the other way, which RCCL refuses".format(link.source, link.target)
        for link in topology.links
        if link.mirrored
    ]
    return result


def _cpus(snapshot: t.Mapping[str, t.Any], tree: PciTree, warnings: t.List[str]) -> t.Tuple[Cpu, ...]:
    cpu = snapshot.get("cpu") or {}
    machine = (snapshot.get("os") or {}).get("machine") or "x86_64"
    arch = _ARCH.get(machine)
    if arch is None:
        raise TopologyError("RCCL has no name for the architecture {!r}".format(machine))
    unnamed = [name for name in ("vendor", "family", "model") if cpu.get(name) is None]
    if arch == "x86_64" and unnamed:
        warnings.append("/proc/cpuinfo names no {}; RCCL reads it from the CPU itself".format(" or ".join(unnamed)))
        if unnamed != ["vendor"]:
            # RCCL fills family and model together, or not at all.
            cpu = {"vendor": cpu.get("vendor")}
    masks = rccl_numa.affinity_masks(snapshot, warnings)
    by_numa = tree.by_numa()
    missing = sorted(set(by_numa) - set(masks))
    if missing:
        warnings.append("no CPU list for NUMA node {}; RCCL reads it itself".format(", ".join(map(str, missing))))
    return tuple(
        Cpu(
            numaid=number,
            affinity=masks.get(number),
            arch=arch,
            vendor=cpu.get("vendor") if arch == "x86_64" else None,
            familyid=_family(cpu.get("family")) if arch == "x86_64" else None,
            modelid=cpu.get("model") if arch == "x86_64" else None,
            pci=by_numa[number],
        )
        for number in sorted(by_numa)
    )


def _family(family: t.Optional[int]) -> t.Optional[int]:
    # RCCL adds the extended family shifted by four bits, the kernel adds it as it is: Zen 3 is
    # family 25 in /proc/cpuinfo and 175 in RCCL, which asks for 143 or 175 to know EPYC.
    if family is None or family < 15:
        return family
    return 15 + (family - 15 << 4)


def _system(topology: Topology) -> Element:
    links: t.Dict[str, t.List[Element]] = {}
    classes = {gpu.busid: gpu.pci_class for gpu in topology.gpus}
    for link in topology.links:
        attributes = (("target", link.target), ("count", str(link.count)), ("tclass", classes[link.target]))
        links.setdefault(link.source, []).append(Element("xgmi", attributes))
    cpus = tuple(
        Element(
            "cpu",
            _given(
                numaid=str(cpu.numaid),
                affinity=cpu.affinity,
                arch=cpu.arch,
                vendor=cpu.vendor,
                familyid=_text(cpu.familyid),
                modelid=_text(cpu.modelid),
            ),
            tuple(_pci(node, links) for node in cpu.pci),
        )
        for cpu in topology.cpus
    )
    return Element("system", (("version", "2"),), cpus)


def _pci(node: PciNode, links: t.Mapping[str, t.Sequence[Element]]) -> Element:
    children = [_pci(child, links) for child in node.children]
    if node.gpu is not None:
        gpu = node.gpu
        attributes = _given(dev=str(gpu.dev), sm=str(gpu.sm), gcn=gpu.gcn, arch=str(gpu.arch), gdr=str(gpu.gdr))
        children.append(Element("gpu", attributes, tuple(links.get(node.busid, ()))))
    if node.nets:
        # No gdr, guid or maxconn: they are what RCCL's transport finds out, and a value in the file
        # would win over it. gdr=1 without the kernel's peer memory fails at the first transfer.
        nets = tuple(
            Element("net", _given(name=net.name, dev=str(net.dev), speed=str(net.speed), port=_text(net.port)))
            for net in node.nets
        )
        children.append(Element("nic", (), nets))
    attributes = _given(
        busid=node.busid,
        **{"class": node.pci_class},
        vendor=node.vendor,
        device=node.device,
        subsystem_vendor=node.subsystem_vendor,
        subsystem_device=node.subsystem_device,
        link_speed=speed_text(node.link.speed),
        link_width=str(node.link.width),
    )
    return Element("pci", attributes, tuple(children))


def _given(**values: t.Optional[str]) -> t.Tuple[t.Tuple[str, str], ...]:
    return tuple((key, value) for key, value in values.items() if value is not None)


def _text(number: t.Optional[int]) -> t.Optional[str]:
    return None if number is None else str(number)
