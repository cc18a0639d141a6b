# SPDX-License-Identifier: Apache-2.0
"""Read network adapters: the PCI functions, their interfaces and their RDMA devices."""

from __future__ import annotations

import re
from typing import Any, Dict, List, Optional, Sequence

from ansible_collections.instinct.bringup.plugins.module_utils.pci import BDF, PCI_ROOT, PciBus
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree, to_int

NET_ROOT = "/sys/class/net"
HCA_ROOT = "/sys/class/infiniband"

_NETWORK_CLASS = "02"
_RATE = re.compile(r"^([0-9]+(?:\.[0-9]+)?)\s*Gb/sec")

Json = Dict[str, Any]


def read_nics(tree: Tree, bus: PciBus, addresses: Sequence[str]) -> List[Json]:
    """Return the PCI functions that are network controllers, by address."""
    nics: List[Json] = []
    for bdf in addresses:
        # The class of every function is read by read_gpus too, which reports what cannot be read.
        code = bus.attribute(bdf, "class", optional=True) or ""
        if not code[2:].startswith(_NETWORK_CLASS):
            continue
        folder = "%s/%s" % (PCI_ROOT, bdf)
        nics.append(
            {
                "bdf": bdf,
                "vendor": bus.hex_id(bdf, "vendor"),
                "device": bus.hex_id(bdf, "device"),
                "class": bus.hex_id(bdf, "class"),
                "driver": bus.link_name(bdf, "driver"),
                "numa_node": bus.numa_node(bdf),
                "interfaces": tree.list_folder("pci", folder + "/net", optional=True) or [],
                "hcas": tree.list_folder("pci", folder + "/infiniband", optional=True) or [],
                "path": bus.path(bdf),
                "link": bus.link(bdf, optional=True),
            }
        )
    return nics


def read_net(tree: Tree) -> Json:
    """Return the snapshot's "net": interfaces and RDMA devices, virtual ones included."""
    names = tree.list_folder("net", NET_ROOT)
    return {
        "interfaces": None if names is None else [_interface(tree, name) for name in names if _is_link(tree, name)],
        "hcas": [_hca(tree, name) for name in tree.list_folder("net", HCA_ROOT, optional=True) or []],
    }


def _is_link(tree: Tree, name: str) -> bool:
    # bonding_masters and the like are plain files among the interfaces.
    return tree.is_folder("%s/%s" % (NET_ROOT, name))


def _interface(tree: Tree, name: str) -> Json:
    folder = "%s/%s" % (NET_ROOT, name)
    target = tree.read_link("net", folder) or ""
    return {
        "name": name,
        "operstate": tree.read_line("net", folder + "/operstate"),
        "mtu": tree.read_int("net", folder + "/mtu"),
        "speed_mbps": _speed(tree, folder),
        "bdf": _pci_address(tree, folder),
        "virtual": "/virtual/" in target,
    }


def _speed(tree: Tree, folder: str) -> Optional[int]:
    """Return Mb/s. The kernel refuses to tell (EINVAL), or says -1, while the link is down."""
    number = tree.read_int("net", folder + "/speed", optional=True)
    return number if number is not None and number > 0 else None


def _pci_address(tree: Tree, folder: str) -> Optional[str]:
    """Return the nearest PCI address above a device; virtio's own device lies between."""
    try:
        place = tree.resolve(folder + "/device")
    except OSError:
        return None
    above = [part for part in place.split("/") if BDF.match(part)]
    return above[-1] if above else None


def _hca(tree: Tree, name: str) -> Json:
    folder = "%s/%s" % (HCA_ROOT, name)
    ports: List[Json] = []
    for port in tree.list_folder("net", folder + "/ports") or []:
        number = to_int(port)
        if number is None:
            continue
        place = "%s/ports/%s" % (folder, port)
        state = tree.read_line("net", place + "/state")
        ports.append(
            {
                "port": number,
                # "4: ACTIVE"
                "state": state.rpartition(":")[2].strip() if state else None,
                "rate_mbps": parse_rate(tree.read_line("net", place + "/rate") or ""),
                "link_layer": tree.read_line("net", place + "/link_layer"),
            }
        )
    return {
        "name": name,
        "bdf": _pci_address(tree, folder),
        "numa_node": tree.read_int("net", folder + "/device/numa_node", optional=True),
        "ports": ports,
    }


def parse_rate(text: str) -> Optional[int]:
    """Return Mb/s of an RDMA port's rate such as "200 Gb/sec (4X HDR)"."""
    found = _RATE.match(text)
    return int(float(found.group(1)) * 1000) if found else None
