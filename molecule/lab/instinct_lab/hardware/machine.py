# SPDX-License-Identifier: Apache-2.0
"""The description of a machine: read from YAML, checked, as typed values."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

import yaml

from .. import settings
from ..podman import LabError

BDF = re.compile(r"^[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$")
_ID = re.compile(r"^[0-9a-f]{4}:[0-9a-f]{4}$")
SPEEDS = (2.5, 5.0, 8.0, 16.0, 32.0)
WIDTHS = (1, 2, 4, 8, 16)

T = TypeVar("T")


class MachineError(LabError):
    """A machine description, or a change to it, does not make sense."""


@dataclass
class Link:
    """A PCI Express link: speed in GT/s, width in lanes, and the most that both ends can do."""

    speed: float
    width: int
    max_speed: float
    max_width: int


@dataclass
class NumaNode:
    """A NUMA node: its CPUs as a list like 0-63, memory in KiB, distances in node order."""

    socket: int
    cpus: str
    memory_kib: int
    distances: list[int]

    def cpu_numbers(self) -> list[int]:
        """Return the CPU numbers of the list."""
        numbers: list[int] = []
        for part in self.cpus.split(","):
            first, _, last = part.partition("-")
            numbers.extend(range(int(first), int(last or first) + 1))
        return numbers


@dataclass
class RootPort:
    """A root port of a socket, with the slot or the soldered device below it."""

    bdf: str
    id: str
    numa_node: int
    slot: int = 0


@dataclass
class Gpu:
    """An accelerator card: its two on-card ports, the endpoint and the driver's view of it."""

    bdf: str
    root_port: str
    upstream: str
    downstream: str
    numa_node: int
    card: int
    render: int
    hive: str | None
    unique_id: int
    slot: Link
    endpoint: Link
    id: str
    subsystem: str
    revision: int
    product_name: str
    product_number: str
    vbios: str
    vram_bytes: int
    vram_vendor: str
    firmware: dict[str, int]
    kfd: dict[str, int]
    driver: bool = True
    aer_correctable: int = 0
    aer_nonfatal: int = 0
    aer_fatal: int = 0
    replays: int = 0
    ecc_correctable: int = 0
    ecc_uncorrectable: int = 0
    runtime_status: str = "active"


@dataclass
class Nic:
    """A network adapter, with an RDMA device when `rdma` is given. Rate in Gb/s."""

    bdf: str
    root_port: str
    id: str
    subsystem: str
    numa_node: int
    netdev: str
    driver: str
    link: Link
    rate: int
    rdma: str | None = None
    link_layer: str = "InfiniBand"
    firmware: str = ""
    state: str = "ACTIVE"


@dataclass
class Device:
    """Any other PCI device. `class_code` is the 24-bit class; `card` a DRM card number for a display."""

    bdf: str
    root_port: str
    id: str
    subsystem: str
    class_code: int
    numa_node: int
    driver: str | None
    link: Link
    card: int | None = None


@dataclass
class Machine:
    """A whole machine."""

    name: str
    description: str
    dmi: dict[str, str]
    cpu_model: str
    cpu_max_mhz: int
    threads_per_core: int
    numa: list[NumaNode]
    root_ports: list[RootPort]
    gpus: list[Gpu]
    nics: list[Nic]
    devices: list[Device]
    kernel: str
    cmdline: str
    driver: bool
    driver_version: str | None
    acs: bool
    kfd_absent: list[str]
    broken_xgmi: dict[frozenset[str], str] = field(default_factory=dict)

    def gpu(self, bdf: str) -> Gpu:
        """Return the GPU at this address; MachineError when there is none."""
        for gpu in self.gpus:
            if gpu.bdf == bdf:
                return gpu
        raise MachineError(f"{self.name} has no GPU at {bdf}: it has {', '.join(g.bdf for g in self.gpus)}")

    def root_port(self, bdf: str) -> RootPort:
        """Return the root port at this address; MachineError when there is none."""
        for port in self.root_ports:
            if port.bdf == bdf:
                return port
        raise MachineError(f"{self.name} has no root port at {bdf}")

    def hives(self) -> list[str]:
        """Return the names of the hives in the order in which they are first met."""
        return list(dict.fromkeys(gpu.hive for gpu in self.gpus if gpu.hive))

    def hive_id(self, gpu: Gpu) -> int:
        """Return the 64-bit id of the GPU's hive, 0 when it is in none."""
        return (2 << 60) + 1 + self.hives().index(gpu.hive) if gpu.hive else 0


def names() -> list[str]:
    """Return the names of all machines."""
    return sorted(path.stem for path in settings.MACHINES_DIR.glob("*.yml"))


def load(name: str) -> Machine:
    """Read and check the machine of this name."""
    path = settings.MACHINES_DIR / f"{name}.yml"
    if not path.exists():
        raise MachineError(f"unknown machine {name!r}: known are {', '.join(names())}")
    return parse(name, path)


def parse(name: str, path: Path) -> Machine:
    """Read and check one machine file."""
    raw = yaml.safe_load(path.read_text(encoding="utf-8"))
    gpu_defaults = raw.pop("gpu_defaults", {})
    gpus = [_gpu(index, {**gpu_defaults, **entry}) for index, entry in enumerate(raw.pop("gpus"))]
    machine = _make(
        Machine,
        {
            "acs": False,
            "driver": True,
            "driver_version": None,
            "kernel": settings.KERNEL,
            "kfd_absent": [],
            **raw,
            "name": name,
            "gpus": gpus,
            "numa": [_make(NumaNode, entry, f"{name}: numa") for entry in raw["numa"]],
            "root_ports": [_make(RootPort, entry, f"{name}: root_ports") for entry in raw["root_ports"]],
            "nics": [_with_link(Nic, entry, f"{name}: nics") for entry in raw.get("nics", [])],
            "devices": [_with_link(Device, entry, f"{name}: devices") for entry in raw.get("devices", [])],
        },
        name,
    )
    check(machine)
    return machine


def _gpu(index: int, entry: dict[str, Any]) -> Gpu:
    where = f"gpus[{index}]"
    entry = {"hive": None, "render": 128 + index, "unique_id": (1 << 60) + 1 + index, **entry}
    for link in ("slot", "endpoint"):
        entry[link] = _link(entry[link], f"{where}.{link}")
    # A change to one card must not reach the others through the shared defaults.
    entry |= {"firmware": dict(entry["firmware"]), "kfd": dict(entry["kfd"])}
    return _make(Gpu, entry, where)


def _with_link(kind: type[T], entry: dict[str, Any], where: str) -> T:
    return _make(kind, {**entry, "link": _link(entry["link"], where)}, where)


def _link(entry: dict[str, Any], where: str) -> Link:
    # What both ends can do is what they do, unless the file says otherwise.
    return _make(Link, {"max_speed": entry["speed"], "max_width": entry["width"], **entry}, where)


def _make(kind: type[T], values: dict[str, Any], where: str) -> T:
    known = {item.name for item in fields(kind)}  # type: ignore[arg-type]
    unknown = sorted(set(values) - known)
    if unknown:
        raise MachineError(f"{where}: unknown key {', '.join(unknown)}; known are {', '.join(sorted(known))}")
    try:
        return kind(**values)
    except TypeError as error:
        raise MachineError(f"{where}: {error}") from error


def check(machine: Machine) -> None:
    """Raise MachineError when the parts of a machine do not fit together."""
    seen: set[str] = set()
    nodes = range(-1, len(machine.numa))
    leaves: list[Gpu | Nic | Device] = [*machine.gpus, *machine.nics, *machine.devices]
    addresses = [port.bdf for port in machine.root_ports] + [leaf.bdf for leaf in leaves]
    addresses += [bdf for gpu in machine.gpus for bdf in (gpu.upstream, gpu.downstream)]
    for bdf in addresses:
        if not BDF.match(bdf):
            raise MachineError(f"{machine.name}: {bdf!r} is not a PCI address like 0000:63:00.0")
        if bdf in seen:
            raise MachineError(f"{machine.name}: {bdf} is used twice")
        seen.add(bdf)
    items: list[RootPort | Gpu | Nic | Device] = [*machine.root_ports, *leaves]
    for item in items:
        if not _ID.match(item.id):
            raise MachineError(f"{machine.name}: {item.bdf}: {item.id!r} is not an id like 1002:740f")
        if item.numa_node not in nodes:
            raise MachineError(f"{machine.name}: {item.bdf}: no NUMA node {item.numa_node}")
    for leaf in leaves:
        machine.root_port(leaf.root_port)
    for gpu in machine.gpus:
        for link in (gpu.slot, gpu.endpoint):
            if link.speed not in SPEEDS or link.width not in WIDTHS:
                raise MachineError(f"{machine.name}: {gpu.bdf}: no link of {link.speed} GT/s x{link.width}")
    for node in machine.numa:
        if len(node.distances) != len(machine.numa):
            raise MachineError(f"{machine.name}: {len(node.distances)} distances for {len(machine.numa)} nodes")
