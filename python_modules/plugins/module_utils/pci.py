# SPDX-License-Identifier: Apache-2.0
"""Read PCI functions: ids, links, and the ports on the way up to the processor."""

from __future__ import annotations

import re
from typing import Any, Dict, List, Optional

from ansible_collections.instinct.bringup.plugins.module_utils.pci_config import (
    CONFIG_BYTES,
    ConfigError,
    port_type,
)
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree, to_int

PCI_ROOT = "/sys/bus/pci/devices"
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
            port = self._ports[bdf] = {
                "bdf": bdf,
                "vendor": self.hex_id(bdf, "vendor"),
                "device": self.hex_id(bdf, "device"),
                "class": self.hex_id(bdf, "class"),
                "port_type": self._port_type(bdf),
                "link": self.link(bdf),
            }
        return port

    def _port_type(self, bdf: str) -> Optional[str]:
        path = "%s/%s/config" % (PCI_ROOT, bdf)
        config = self.tree.read_bytes("pci", path, limit=CONFIG_BYTES, whole=False)
        if config is None:
            return None
        try:
            return port_type(config)
        except ConfigError as error:
            self.tree.problem("pci", path, str(error))
            return None
