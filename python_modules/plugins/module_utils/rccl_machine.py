# SPDX-License-Identifier: Apache-2.0
"""Read the part of a node that its RCCL topology is made from."""

from __future__ import annotations

import typing as t

from ansible_collections.instinct.bringup.plugins.module_utils.cpu import read_cpu
from ansible_collections.instinct.bringup.plugins.module_utils.gpu import read_gpus
from ansible_collections.instinct.bringup.plugins.module_utils.kfd import read_kfd
from ansible_collections.instinct.bringup.plugins.module_utils.network import read_net, read_nics
from ansible_collections.instinct.bringup.plugins.module_utils.numa import read_numa
from ansible_collections.instinct.bringup.plugins.module_utils.os_release import read_os
from ansible_collections.instinct.bringup.plugins.module_utils.pci import PciBus
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree


def read_machine(root: str) -> t.Dict[str, t.Any]:
    """Return the areas of the snapshot that the topology needs, and every PCI address below a root.

    pci.addresses is not in the snapshot: a topology file may name any device of the machine.
    """
    tree = Tree(root)
    bus = PciBus(tree)
    addresses = bus.addresses() or []
    return {
        "os": read_os(tree),
        "cpu": read_cpu(tree),
        "numa": read_numa(tree),
        "pci": {
            "gpus": read_gpus(tree, bus, addresses),
            "nics": read_nics(tree, bus, addresses),
            "addresses": sorted(addresses),
        },
        "kfd": read_kfd(tree),
        "net": read_net(tree),
    }
