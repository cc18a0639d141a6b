# SPDX-License-Identifier: Apache-2.0
"""Build the PCI tree that RCCL would see, from the snapshot's devices and the ports above them."""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ansible_collections.instinct.bringup.plugins.module_utils.rccl_model import (
    Gpu,
    Net,
    PciLink,
    PciNode,
    TopologyError,
)

# What RCCL itself plans with where it cannot understand a link's text (graph/topo.cc).
UNKNOWN_SPEED = 8.0
UNKNOWN_WIDTH = 16

# What the file may say of each link: what it gives, or what RCCL would read by itself.
NOW = "now"
CAPABILITY = "capability"
LINK_VALUES = (NOW, CAPABILITY)
# The speed to which power saving lets a link fall that nobody uses. It says nothing of the slot.
ASLEEP_SPEED = 2.5

_BUSID = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_SPEED = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?) GT/s")

Raw = t.Mapping[str, t.Any]


@dataclasses.dataclass
class _Bridge:
    """Collect one element while the tree grows."""

    raw: Raw
    above: t.Optional[Raw]
    pci_class: str
    gpu: t.Optional[Gpu] = None
    nets: t.Tuple[Net, ...] = ()
    children: t.List[str] = dataclasses.field(default_factory=list)


class PciTree:
    """Collect devices, then give the tree of each NUMA node."""

    def __init__(self, link_values: str, warnings: t.List[str], passing: t.List[str]) -> None:
        self._link_values = link_values
        self._warnings = warnings
        self._passing = passing
        self._nodes: t.Dict[str, _Bridge] = {}
        self._tops: t.Dict[str, int] = {}

    def add(
        self,
        device: Raw,
        numa_node: int,
        gpu: t.Optional[Gpu] = None,
        nets: t.Tuple[Net, ...] = (),
    ) -> None:
        """Add a device with every second port above it.

        RCCL steps up the path in /sys two names at a time, so that a switch's upstream and
        downstream port count once: of an MI210's own pair it names the upstream port, whose link
        is the slot. A root port is named by nothing, unless the number of names is odd.
        """
        ports = list(device.get("path") or ())
        chain = [device, *ports[1::2]]
        above = [ports[index] if index < len(ports) else None for index in range(0, 2 * len(chain), 2)]
        busids = [busid(raw["bdf"]) for raw in chain]
        for position, raw in enumerate(chain):
            if busids[position] not in self._nodes:
                # Where the class is unknown, RCCL takes the element for a bridge; so do we.
                self._nodes[busids[position]] = _Bridge(raw, above[position], _hex(raw.get("class")) or "0x060400")
        node = self._nodes[busids[0]]
        node.gpu, node.nets = gpu, nets
        if gpu is not None:
            node.pci_class = gpu.pci_class
        for child, parent in zip(busids, busids[1:]):
            if child not in self._nodes[parent].children:
                self._nodes[parent].children.append(child)
        # A switch hangs on one NUMA node: that of the first device below it.
        self._tops.setdefault(busids[-1], numa_node)

    def by_numa(self) -> t.Dict[int, t.Tuple[PciNode, ...]]:
        """Return the trees by NUMA node, everything in the order of the bus ids."""
        result: t.Dict[int, t.List[PciNode]] = {}
        for top in sorted(self._tops):
            result.setdefault(self._tops[top], []).append(self._freeze(top))
        return {numa: tuple(nodes) for numa, nodes in result.items()}

    def _freeze(self, name: str) -> PciNode:
        node = self._nodes[name]
        return PciNode(
            busid=name,
            pci_class=node.pci_class,
            vendor=_hex(node.raw.get("vendor")),
            device=_hex(node.raw.get("device")),
            subsystem_vendor=_hex(node.raw.get("subsystem_vendor")),
            subsystem_device=_hex(node.raw.get("subsystem_device")),
            link=self._link(name, node.raw.get("link"), (node.above or {}).get("link")),
            gpu=node.gpu,
            nets=node.nets,
            children=tuple(self._freeze(child) for child in sorted(node.children)),
        )

    def _link(self, name: str, raw: t.Optional[Raw], above: t.Optional[Raw]) -> PciLink:
        # As RCCL does it: the lower of a device and the port above it, each alone where the other is silent.
        ends = [end for end in (raw, above) if end]
        capable_speed = min((s for s in (_speed(end.get("max_speed")) for end in ends) if s), default=None)
        capable_width = min((w for w in (end.get("max_width") for end in ends) if w), default=None)
        speed = min((s for s in (_speed(end.get("current_speed")) for end in ends) if s), default=capable_speed)
        width = min((w for w in (end.get("current_width") for end in ends) if w), default=capable_width)
        if not speed or not width:
            self._warnings.append(
                "{0}: speed or width of its link cannot be read in /sys/bus/pci/devices/{0}; where it is missing "
                "the file says {1}, lanes {2}, what RCCL assumes".format(name, speed_text(UNKNOWN_SPEED), UNKNOWN_WIDTH)
            )
        now_speed, now_width = speed or UNKNOWN_SPEED, width or UNKNOWN_WIDTH
        capable_speed, capable_width = capable_speed or now_speed, capable_width or now_width
        as_capable = self._link_values == CAPABILITY
        asleep = now_speed == ASLEEP_SPEED < capable_speed
        link = PciLink(
            speed=capable_speed if as_capable or asleep else now_speed,
            width=capable_width if as_capable else now_width,
            now_speed=now_speed,
            now_width=now_width,
            capable_speed=capable_speed,
            capable_width=capable_width,
            asleep=asleep,
        )
        if link.narrow or (link.slow and not asleep):
            choice = "what it could, as RCCL would" if as_capable else "what the link gives now"
            self._warnings.append("{}; the file says {}".format(link_text(name, link), choice))
        if asleep:
            self._passing.append(
                "{}: the link runs at {} now, as one that is asleep does; the file says {}, which it could give".format(
                    name, speed_text(now_speed), speed_text(capable_speed)
                )
            )
        return link


def busid(bdf: str) -> str:
    """Return a bus id as RCCL compares it: lower case, with a domain of four digits.

    :raises TopologyError: the domain is longer (a VMD controller's), which RCCL cannot hold.
    """
    lowered = bdf.lower()
    if not _BUSID.fullmatch(lowered):
        raise TopologyError(
            "{} is not of the form dddd:bb:dd.f, the only one that RCCL reads in /sys/bus/pci/devices".format(bdf)
        )
    return lowered


def speed_text(speed: float) -> str:
    """Return a link speed in the spelling of a current kernel, which RCCL's table knows."""
    return "{:.1f} GT/s PCIe".format(speed)


def link_text(name: str, link: PciLink) -> str:
    """Return a sentence on a link that gives something else than it could, the same asleep and awake."""
    return "{}: the link gives {} x{} and could give {} x{}".format(
        name,
        speed_text(link.capable_speed if link.asleep else link.now_speed),
        link.now_width,
        speed_text(link.capable_speed),
        link.capable_width,
    )


def _speed(text: t.Optional[str]) -> t.Optional[float]:
    match = _SPEED.match(text or "")
    return float(match.group(1)) if match else None


def _hex(text: t.Optional[str]) -> t.Optional[str]:
    if not text:
        return None
    return text.lower() if text.lower().startswith("0x") else "0x" + text.lower()
