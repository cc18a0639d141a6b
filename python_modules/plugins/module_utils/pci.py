# SPDX-License-Identifier: Apache-2.0
"""Read PCI functions: ids, links, and the ports on the way up to the processor."""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, List, Optional, Set, Tuple

from ansible_collections.instinct.bringup.plugins.module_utils.pci_config import (
    CONFIG_BYTES,
    ConfigError,
    access_control,
    atomics,
    port_type,
)
from ansible_collections.instinct.bringup.plugins.module_utils.pci_config import PCI_ROOT as PCI_ROOT
from ansible_collections.instinct.bringup.plugins.module_utils.pci_errors import read_aer
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree, to_int

BDF = re.compile(r"^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$")

# What the kernel writes where the hardware does not say (PCIE_LNK_WIDTH_UNKNOWN, "Unknown").
_UNKNOWN_WIDTH = 255
_UNKNOWN_SPEED = "unknown"

Json = Dict[str, Any]


class PciBus:
    """The PCI functions below a root. Ports that several devices share are read once."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self._ports: Dict[str, Json] = {}
        self._said: Set[Tuple[str, str]] = set()

    def addresses(self) -> Optional[List[str]]:
        """Return the addresses of all functions, None with a problem when there is no PCI."""
        names = self.tree.list_folder("pci", PCI_ROOT)
        if names is None:
            return None
        for name in names:
            if not BDF.match(name):
                self.tree.problem("pci", "%s/%s" % (PCI_ROOT, name), "not a PCI address")
        return sorted(name for name in names if BDF.match(name))

    def attribute(self, bdf: str, name: str, optional: bool = False) -> Optional[str]:
        """Return a one-line attribute of a function."""
        return self.tree.read_line("pci", "%s/%s/%s" % (PCI_ROOT, bdf, name), optional)

    def hex_id(self, bdf: str, name: str) -> Optional[str]:
        """Return an id attribute without its 0x, such as "740f" or "038000"."""
        text = self.attribute(bdf, name)
        if text is None:
            return None
        digits = text.lower()
        digits = digits[2:] if digits.startswith("0x") else digits
        if to_int(digits, 16) is None:
            self.tree.problem("pci", "%s/%s/%s" % (PCI_ROOT, bdf, name), "not a number: %r" % text[:40])
            return None
        return digits

    def link_name(self, bdf: str, name: str) -> Optional[str]:
        """Return the last part of a link of a function (driver, physfn), None when there is none."""
        target = self.tree.read_link("pci", "%s/%s/%s" % (PCI_ROOT, bdf, name), optional=True)
        return target.rstrip("/").rpartition("/")[2] if target else None

    def numa_node(self, bdf: str) -> Optional[int]:
        """Return the NUMA node as the kernel writes it: -1 where the firmware does not tell."""
        return self.tree.read_int("pci", "%s/%s/numa_node" % (PCI_ROOT, bdf))

    def link(self, bdf: str, optional: bool = False) -> Json:
        """Return the PCI Express link that the function itself reports, values None where it does not.

        optional: the function may be of conventional PCI, which has no link.
        """
        return {
            "current_speed": self._speed(bdf, "current_link_speed", optional),
            "current_width": self._width(bdf, "current_link_width", optional),
            "max_speed": self._speed(bdf, "max_link_speed", optional),
            "max_width": self._width(bdf, "max_link_width", optional),
        }

    def _speed(self, bdf: str, name: str, optional: bool) -> Optional[str]:
        text = self.attribute(bdf, name, optional)
        if text is not None and text.lower().startswith(_UNKNOWN_SPEED):
            self.tree.problem("pci", "%s/%s/%s" % (PCI_ROOT, bdf, name), "the kernel says %r" % text)
            return None
        return text

    def _width(self, bdf: str, name: str, optional: bool) -> Optional[int]:
        path = "%s/%s/%s" % (PCI_ROOT, bdf, name)
        width = self.tree.read_int("pci", path, optional)
        if width == _UNKNOWN_WIDTH:
            self.tree.problem("pci", path, "the kernel says 255, its number for unknown")
            return None
        return width

    def path(self, bdf: str) -> List[Json]:
        """Return the ports between a function and the processor, the nearest first, the root port last."""
        place = "%s/%s" % (PCI_ROOT, bdf)
        target = self.tree.read_link("pci", place)
        if target is None:
            return []
        above = [part for part in target.split("/") if BDF.match(part) and part != bdf]
        return [self._port(part) for part in reversed(above)]

    def _port(self, bdf: str) -> Json:
        port = self._ports.get(bdf)
        if port is None:
            config = self.config(bdf)
            port = self._ports[bdf] = {
                "bdf": bdf,
                "vendor": self.hex_id(bdf, "vendor"),
                "device": self.hex_id(bdf, "device"),
                "class": self.hex_id(bdf, "class"),
                "port_type": self._decoded(bdf, config, port_type),
                "link": self.link(bdf),
                "acs": self._access_control(bdf, config),
                "atomics": self._decoded(bdf, config, atomics),
                "aer": read_aer(self.tree, bdf),
            }
        return port

    def config(self, bdf: str) -> Optional[bytes]:
        """Return the configuration space, as much of it as the kernel gives."""
        return self.tree.read_bytes("pci", "%s/%s/config" % (PCI_ROOT, bdf), limit=CONFIG_BYTES, whole=False)

    def atomics(self, bdf: str) -> Optional[Json]:
        """Return what a function's configuration space says of atomic operations."""
        found: Optional[Json] = self._decoded(bdf, self.config(bdf), atomics)
        return found

    def _access_control(self, bdf: str, config: Optional[bytes]) -> Optional[Json]:
        """Return a port's access control; {"present": False} for a port that has none, None for not known."""

        def decode(space: bytes) -> Json:
            services = access_control(space)
            return {"present": False} if services is None else dict(services, present=True)

        found: Optional[Json] = self._decoded(bdf, config, decode)
        return found

    def _decoded(self, bdf: str, config: Optional[bytes], decode: Callable[[bytes], Any]) -> Any:
        if config is None:
            return None
        try:
            found: Optional[Any] = decode(config)
            return found
        except ConfigError as error:
            # What keeps one register from being read often keeps the others: it is said once.
            if (bdf, str(error)) not in self._said:
                self._said.add((bdf, str(error)))
                self.tree.problem("pci", "%s/%s/config" % (PCI_ROOT, bdf), str(error))
            return None
