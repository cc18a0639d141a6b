# SPDX-License-Identifier: Apache-2.0
"""Make of a topology file the graph that RCCL plans on (graph/topo.cc)."""

from __future__ import annotations

import dataclasses

from ansible_collections.instinct.bringup.plugins.plugin_utils.rccl_reader import Node, number

# In GB/s. What RCCL takes for a way inside one processor, and between the sockets of EPYC.
LOCAL_GBS = 5000.0
XGMI_GBS = {"gfx90a": 36.0, "gfx94": 48.0}
OTHER_XGMI_GBS = 24.0
# RCCL before 2.18 knows the speed of gfx90a only.
_KNOWS_GFX94 = (2, 18)
_OLD_GCN = {"906": "gfx906", "908": "gfx908", "910": "gfx90a", "940": "gfx940"}
# Mb/s of each lane, in hundreds, by the beginning of link_speed. The first that fits counts, as in RCCL.
_LANE = (
    ("2.5 GT/s", 15), ("5 GT/s", 30), ("8 GT/s", 60), ("16 GT/s", 120), ("32 GT/s", 240),
    ("5.0 GT/s PCIe", 30), ("8.0 GT/s PCIe", 60), ("16.0 GT/s PCIe", 120), ("32.0 GT/s PCIe", 240),
    ("64.0 GT/s PCIe", 480),
)  # fmt: skip
_UNKNOWN_LANE = 60
_UNKNOWN_WIDTH = 16
_UNKNOWN_NET = 10000
# Beginnings of the classes of PCI functions that are no bridge.
_ENDPOINT_CLASSES = ("0x068000", "0x068001", "0x03", "0x02", "0x12")

_IDENTITY = ("vendor", "device", "subsystem_vendor", "subsystem_device")

Key = tuple[str, str]


@dataclasses.dataclass(frozen=True)
class Edge:
    """Hold one direction of a link. kind: xgmi, pci, sys or net. gbs: what RCCL plans with."""

    target: Key
    kind: str
    gbs: float


@dataclasses.dataclass(frozen=True)
class GraphGpu:
    """Hold a GPU of the graph. gcn: in the new form, such as gfx90a."""

    busid: str
    dev: int
    gcn: str
    numaid: int


@dataclasses.dataclass(frozen=True)
class GraphNet:
    """Hold a network device of the graph. gbs: what RCCL plans with."""

    name: str
    busid: str
    dev: int
    gbs: float
    numaid: int


@dataclasses.dataclass
class Graph:
    """Hold what RCCL plans on. Keys are (kind, id), with gpu, pci, cpu, nic and net as kinds.

    xgmi: (source, target) to the number of links. gpus in the order of dev.
    """

    rccl_version: tuple[int, ...]
    edges: dict[Key, list[Edge]] = dataclasses.field(default_factory=dict)
    gpus: list[GraphGpu] = dataclasses.field(default_factory=list)
    nets: list[GraphNet] = dataclasses.field(default_factory=list)
    xgmi: dict[tuple[str, str], int] = dataclasses.field(default_factory=dict)
    numaids: list[int] = dataclasses.field(default_factory=list)
    is_rome: bool = False

    def connect(self, one: Key, other: Key, kind: str, gbs: float) -> None:
        """Add a link in both directions."""
        self.edges.setdefault(one, []).append(Edge(other, kind, gbs))
        self.edges.setdefault(other, []).append(Edge(one, kind, gbs))


def build_graph(top: Node, rccl_version: str) -> Graph:
    """Return the graph of a text that rccl_reader has read."""
    graph = Graph(tuple(int(part) for part in rccl_version.split(".")))
    cpus = [cpu for system in top.children for cpu in system.children if cpu.name == "cpu"]
    for cpu in cpus:
        _add_cpu(graph, cpu)
    graph.gpus.sort(key=lambda gpu: (gpu.dev, gpu.busid))
    graph.nets.sort(key=lambda net: (net.dev, net.name))
    for node in (found for cpu in cpus for found in cpu.walk() if found.name == "xgmi"):
        _add_xgmi(graph, node)
    between = _between_sockets(cpus[0]) if cpus else LOCAL_GBS
    for position, one in enumerate(graph.numaids):
        for other in graph.numaids[position + 1 :]:
            graph.connect(("cpu", str(one)), ("cpu", str(other)), "sys", between)
    return graph


def pcie_gbs(speed: str | None, width: str | None) -> float:
    """Return what RCCL plans for a PCI link: lanes times speed over 80, 24 GB/s for 16.0 GT/s x16."""
    lane = next((value for text, value in _LANE if (speed or "").startswith(text)), _UNKNOWN_LANE)
    return (number(width) or _UNKNOWN_WIDTH) * lane / 80


def gfx_name(gcn: str | None) -> str:
    """Return an architecture in the form of newer RCCL, gfx90a for 910."""
    return _OLD_GCN.get(gcn or "", gcn or "")


def _add_cpu(graph: Graph, cpu: Node) -> None:
    numaid = number(cpu.get("numaid"), -1)
    if numaid not in graph.numaids:
        graph.numaids.append(numaid)
    family, model = number(cpu.get("familyid")), number(cpu.get("modelid"))
    if cpu.get("vendor") == "AuthenticAMD" and (family == 175 or (family == 143 and model >= 49)):
        graph.is_rome = True
    for child in cpu.children:
        if child.name == "pci":
            _add_pci(graph, child, ("cpu", str(numaid)), numaid, None)
        else:
            graph.connect(("nic", f"of cpu {numaid}"), ("cpu", str(numaid)), "pci", LOCAL_GBS)
            _add_nets(graph, child, ("nic", f"of cpu {numaid}"), "", numaid)


def _add_pci(graph: Graph, pci: Node, parent: Key, numaid: int, flat: tuple[int, ...] | None) -> None:
    """Add a PCI element. flat: the identity of the switch above it, whose own sub-switches RCCL leaves out."""
    busid = (pci.get("busid") or "").lower()
    gbs = pcie_gbs(pci.get("link_speed"), pci.get("link_width"))
    gpu = next((child for child in pci.children if child.name == "gpu"), None)
    nic = next((child for child in pci.children if child.name == "nic"), None)
    if gpu is not None:
        graph.gpus.append(GraphGpu(busid, number(gpu.get("dev")), gfx_name(gpu.get("gcn")), numaid))
        graph.connect(("gpu", busid), parent, "pci", gbs)
    if nic is not None:
        # The functions of one card share its link.
        key = ("nic", busid.rpartition(".")[0] or busid)
        if key not in graph.edges:
            graph.connect(key, parent, "pci", gbs)
        _add_nets(graph, nic, key, busid, numaid)
    elif gpu is None and not (pci.get("class") or "").startswith(_ENDPOINT_CLASSES):
        identity = tuple(number(pci.get(name)) for name in _IDENTITY)
        key, below = ("pci", busid), identity if _is_flat_switch(identity) else None
        if below is not None and below == flat:
            key, below = parent, None
        else:
            graph.connect(key, parent, "pci", gbs)
        for child in pci.children:
            if child.name == "pci":
                _add_pci(graph, child, key, numaid, below)


def _is_flat_switch(identity: tuple[int, ...]) -> bool:
    """Tell Broadcom's Gen4 switches, which show themselves as two levels and are as fast as one."""
    vendor, device, subsystem_vendor, subsystem_device = identity
    return (vendor, device, subsystem_vendor, subsystem_device >> 12) == (0x1000, 0xC010, 0x1000, 0xA)


def _add_nets(graph: Graph, nic: Node, key: Key, busid: str, numaid: int) -> None:
    for net in nic.children:
        if net.get("dev") is None:
            continue
        speed = number(net.get("speed"))
        name, gbs = net.get("name") or "", (speed if speed > 0 else _UNKNOWN_NET) / 8000
        graph.nets.append(GraphNet(name, busid, number(net.get("dev")), gbs, numaid))
        graph.connect(("net", name), key, "net", gbs)


def _add_xgmi(graph: Graph, node: Node) -> None:
    pci = node.parent.parent if node.parent is not None else None
    source, target = ((pci.get("busid") if pci else "") or "").lower(), (node.get("target") or "").lower()
    gcn = {gpu.busid: gpu.gcn for gpu in graph.gpus}
    if source not in gcn or target not in gcn:
        return
    count = number(node.get("count"))
    graph.xgmi[source, target] = count
    graph.edges[("gpu", source)].append(
        Edge(("gpu", target), "xgmi", count * xgmi_gbs(gcn[source], graph.rccl_version))
    )


def xgmi_gbs(gcn: str, rccl_version: tuple[int, ...]) -> float:
    """Return what RCCL plans for one XGMI link."""
    if gcn.startswith("gfx94") and rccl_version >= _KNOWS_GFX94:
        return XGMI_GBS["gfx94"]
    return XGMI_GBS.get(gcn, OTHER_XGMI_GBS)


def _between_sockets(cpu: Node) -> float:
    if cpu.get("arch") == "ppc64":
        return 32.0
    if cpu.get("arch") == "arm64":
        return 6.0
    if cpu.get("vendor") == "GenuineIntel":
        is_skylake = number(cpu.get("familyid")) == 6 and number(cpu.get("modelid")) >= 0x55
        return 9.0 if is_skylake else 6.0
    return LOCAL_GBS
