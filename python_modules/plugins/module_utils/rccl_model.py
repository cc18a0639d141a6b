# SPDX-License-Identifier: Apache-2.0
"""Hold a node's topology as RCCL would see it."""

from __future__ import annotations

import dataclasses
import typing as t


class TopologyError(ValueError):
    """Say why no right topology file can be made of this node, and what was read."""


@dataclasses.dataclass(frozen=True)
class PciLink:
    """Hold what the file says of a link, what it gives now and what its two ends could give.

    Speeds in GT/s, widths in lanes. RCCL itself reads only the capability (max_link_*), so a slot
    that came up narrow is invisible to it. asleep: it runs at the speed of a link that nobody uses.
    """

    speed: float
    width: int
    now_speed: float
    now_width: int
    capable_speed: float
    capable_width: int
    asleep: bool

    @property
    def differs(self) -> bool:
        """Return whether the file says something else than RCCL would read."""
        return (self.speed, self.width) != (self.capable_speed, self.capable_width)

    @property
    def narrow(self) -> bool:
        """Return whether fewer lanes are up than both ends have."""
        return self.now_width < self.capable_width

    @property
    def slow(self) -> bool:
        """Return whether the link runs slower than both ends could, asleep or not."""
        return self.now_speed < self.capable_speed


@dataclasses.dataclass(frozen=True)
class Gpu:
    """Hold one GPU.

    dev: its number in ROCm SMI, by bus id, which RCCL keeps in the file. hip: its number in HIP, in
    the order of KFD's nodes, which a job's local rank counts. gcn: in the form that the RCCL version takes.
    """

    busid: str
    dev: int
    hip: int
    sm: int
    gcn: str
    arch: int
    gdr: int
    pci_class: str
    kfd_node: int


@dataclasses.dataclass(frozen=True)
class XgmiLink:
    """Hold one direction of the XGMI links between two GPUs.

    count: number of physical links. mirrored: KFD lists only the other direction.
    """

    source: str
    target: str
    count: int
    mirrored: bool = False


@dataclasses.dataclass(frozen=True)
class Net:
    """Hold one network device under the name by which RCCL's transport knows it. speed: Mb/s."""

    name: str
    busid: str
    dev: int
    speed: int
    port: t.Optional[int]


@dataclasses.dataclass(frozen=True)
class PciNode:
    """Hold one element of the PCI tree: a device, or every second bridge above it.

    Ids are lower-case hexadecimal with 0x, None where the node did not show them.
    """

    busid: str
    pci_class: str
    vendor: t.Optional[str]
    device: t.Optional[str]
    subsystem_vendor: t.Optional[str]
    subsystem_device: t.Optional[str]
    link: PciLink
    gpu: t.Optional[Gpu] = None
    nets: t.Tuple[Net, ...] = ()
    children: t.Tuple[PciNode, ...] = ()


@dataclasses.dataclass(frozen=True)
class Placement:
    """Hold the NUMA node of one device. detected: what RCCL would write, which makes 0 of -1."""

    busid: str
    numa_node: int
    detected: int
    source: str


@dataclasses.dataclass(frozen=True)
class Cpu:
    """Hold one NUMA node. affinity: groups of 8 hexadecimal digits, or None when it is not known."""

    numaid: int
    affinity: t.Optional[str]
    arch: str
    vendor: t.Optional[str]
    familyid: t.Optional[int]
    modelid: t.Optional[int]
    pci: t.Tuple[PciNode, ...]


@dataclasses.dataclass(frozen=True)
class Topology:
    """Hold the whole node. gpus in the order of dev; links, cpus and nets sorted.

    link_values: now or capability, which of the two the file says of each link. passing: what is odd at
    this moment only and therefore not in the file, which must not change from run to run.
    """

    rccl_version: str
    link_values: str
    gpus: t.Tuple[Gpu, ...]
    links: t.Tuple[XgmiLink, ...]
    cpus: t.Tuple[Cpu, ...]
    nets: t.Tuple[Net, ...]
    placements: t.Tuple[Placement, ...]
    warnings: t.Tuple[str, ...]
    passing: t.Tuple[str, ...]

    def pci_nodes(self) -> t.Iterator[PciNode]:
        """Give every PCI element, parents before children."""
        stack = [node for cpu in reversed(self.cpus) for node in reversed(cpu.pci)]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.children))
