# SPDX-License-Identifier: Apache-2.0
"""From a machine to its tree: the one place that puts the parts together."""

from __future__ import annotations

import json
import re
from pathlib import Path

from . import host, kfd, pci, sysfs_gpu, sysfs_pci
from .machine import Device, Gpu, Machine
from .pci import ENDPOINT
from .tree import Tree, sync

# Mounted over in a live node: must survive a change of the hardware.
LIVE_MOUNTS = frozenset({"sys/fs/cgroup"})
# What the node's boot decides or its administrator writes: a change of the hardware leaves it as it is.
LIVE_FILES = re.compile(
    r"sys/(module/amdgpu/version|kernel/iommu_groups/\d+/type|kernel/mm/transparent_hugepage/\w+"
    r"|devices/system/cpu/cpu\d+/cpufreq/scaling_governor|.*/power_dpm_force_performance_level)"
)


def build_sys(machine: Machine) -> Tree:
    """Return the machine's /sys as a tree with the prefix sys/."""
    tree = Tree()
    devices = pci.enumerate_devices(machine)
    for device in devices:
        sysfs_pci.add(tree, machine, device)
        owner = device.owner
        if isinstance(owner, Gpu) and device.port_type == ENDPOINT and device.driver:
            sysfs_gpu.add(tree, machine, device, owner)
        if isinstance(owner, Device) and owner.card is not None and device.port_type == ENDPOINT:
            sysfs_gpu.add_display(tree, device.path, owner.card)
    kfd.add(tree, machine)
    host.add(tree, machine, devices)
    tree.folder("sys/class/drm")
    return tree


def write_offline(machine: Machine, destination: Path) -> None:
    """Write a plain root with sys/ and proc/ below it, as a captured machine would give."""
    tree = build_sys(machine)
    host.add_proc(tree, machine)
    sync(tree, destination)


def write_live(machine: Machine, destination: Path) -> None:
    """Write or update what a node mounts: sys/ and devices.json."""
    tree = build_sys(machine)
    tree.data("devices.json", (json.dumps(sysfs_gpu.devices_file(machine), indent=1) + "\n").encode())
    sync(tree, destination, LIVE_MOUNTS, LIVE_FILES)
