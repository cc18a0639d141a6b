# SPDX-License-Identifier: Apache-2.0
"""Everything of a machine that is not a PCI device or KFD: CPUs, NUMA, DMI, IOMMU groups, network classes."""

from __future__ import annotations

import re

from .machine import Machine, Nic
from .pci import PciDevice
from .tree import Tree

_CPU = "sys/devices/system/cpu"
_NODE = "sys/devices/system/node"


def add(tree: Tree, machine: Machine, devices: list[PciDevice]) -> None:
    """Put the platform's files."""
    _add_cpus(tree, machine)
    _add_memory(tree, machine)
    tree.texts("sys/devices/virtual/dmi/id", dict(machine.dmi))
    tree.link("sys/class/dmi/id", "sys/devices/virtual/dmi/id")
    _add_iommu(tree, machine, devices)
    _add_network(tree, machine, devices)
    _add_module(tree, machine)
    # Places that other software expects to find.
    for folder in ("sys/fs/cgroup", "sys/firmware", "sys/block", "sys/class/block", "sys/power"):
        tree.folder(folder)


def _add_cpus(tree: Tree, machine: Machine) -> None:
    count = sum(len(node.cpu_numbers()) for node in machine.numa)
    span = f"0-{count - 1}"
    tree.texts(_CPU, {"present": span, "online": span, "possible": span, "offline": "", "kernel_max": 8191})
    threads = machine.threads_per_core
    tree.texts(
        f"{_CPU}/smt", {"active": int(threads > 1), "control": "on" if threads > 1 else "off"}
    )  # fmt: skip
    for node in machine.numa:
        numbers = node.cpu_numbers()
        cores = len(numbers) // threads
        for position, cpu in enumerate(numbers):
            siblings = [number for index, number in enumerate(numbers) if index % cores == position % cores]
            folder = f"{_CPU}/cpu{cpu}"
            tree.texts(
                f"{folder}/topology",
                {
                    "physical_package_id": node.socket,
                    "core_id": position % cores,
                    "thread_siblings_list": ",".join(str(number) for number in siblings),
                },
            )
            tree.text(f"{folder}/cpufreq/scaling_governor", "schedutil")
            if cpu:
                tree.text(f"{folder}/online", 1)


def _add_memory(tree: Tree, machine: Machine) -> None:
    span = f"0-{len(machine.numa) - 1}" if len(machine.numa) > 1 else "0"
    tree.texts(_NODE, {"online": span, "possible": span, "has_cpu": span, "has_memory": span})
    for index, node in enumerate(machine.numa):
        folder = f"{_NODE}/node{index}"
        free = node.memory_kib * 97 // 100
        tree.texts(folder, {"cpulist": node.cpus, "distance": " ".join(map(str, node.distances))})
        tree.text(
            f"{folder}/meminfo",
            f"Node {index} MemTotal:       {node.memory_kib} kB\nNode {index} MemFree:        {free} kB",
        )
    tree.text("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never")
    tree.text("sys/kernel/mm/transparent_hugepage/defrag", "always defer defer+madvise [madvise] never")


def _add_iommu(tree: Tree, machine: Machine, devices: list[PciDevice]) -> None:
    """Put one group per function. The type follows the boot parameters: a live node sets it when it boots."""
    words = machine.cmdline.split()
    if "amd_iommu=off" in words or "iommu=off" in words:
        tree.folder("sys/class/iommu")
        return
    kind = "identity" if {"iommu=pt", "iommu.passthrough=1"} & set(words) else "DMA-FQ"
    unit = "ivhd" if machine.cpu_model.startswith("AMD") else "dmar"
    roots = sorted({device.path.split("/")[2] for device in devices})
    for index, _root in enumerate(roots):
        folder = f"sys/devices/virtual/iommu/{unit}{index}"
        tree.folder(f"{folder}/devices")
        tree.link(f"sys/class/iommu/{unit}{index}", folder)
    for group, device in enumerate(devices):
        folder = f"sys/kernel/iommu_groups/{group}"
        tree.text(f"{folder}/type", kind)
        tree.link(f"{folder}/devices/{device.bdf}", device.path)
        tree.link(f"{device.path}/iommu_group", folder)


def _add_network(tree: Tree, machine: Machine, devices: list[PciDevice]) -> None:
    paths = {device.bdf: device.path for device in devices}
    for position, nic in enumerate(machine.nics, start=1):
        _add_netdev(tree, paths[nic.bdf], nic, position)
        if nic.rdma:
            _add_rdma(tree, paths[nic.bdf], nic, position)
    # The container's own interfaces, which lead to no PCI device.
    for name, kind in (("lo", 772), ("eth0", 1)):
        folder = f"sys/devices/virtual/net/{name}"
        tree.texts(folder, {"type": kind, "operstate": "unknown" if name == "lo" else "up", "mtu": 1500})
        tree.link(f"sys/class/net/{name}", folder)


def _add_netdev(tree: Tree, path: str, nic: Nic, position: int) -> None:
    up = nic.state == "ACTIVE"
    folder = f"{path}/net/{nic.netdev}"
    infiniband = nic.rdma is not None and nic.link_layer == "InfiniBand"
    tree.texts(
        folder,
        {
            "address": f"02:00:00:00:00:{position:02x}",
            "type": 32 if infiniband else 1,
            "mtu": 2044 if infiniband else 1500,
            "operstate": "up" if up else "down",
            "carrier": int(up),
            "speed": nic.rate * 1000 if up else -1,
            "dev_port": 0,
            "ifindex": 10 + position,
        },
    )
    tree.link(f"{folder}/device", path)
    tree.link(f"sys/class/net/{nic.netdev}", folder)


def _add_rdma(tree: Tree, path: str, nic: Nic, position: int) -> None:
    up = nic.state == "ACTIVE"
    folder = f"{path}/infiniband/{nic.rdma}"
    tree.texts(
        folder,
        {
            "node_type": "1: CA",
            "node_guid": f"0200:0000:0000:{position:04x}",
            "sys_image_guid": f"0200:0000:0000:{position:04x}",
            "fw_ver": nic.firmware,
            "hca_type": f"MT{int(nic.id[5:], 16)}",
        },
    )
    lanes = {100: "4X EDR", 200: "4X HDR", 400: "4X NDR"}.get(nic.rate, "4X HDR")
    tree.texts(
        f"{folder}/ports/1",
        {
            "state": "4: ACTIVE" if up else "1: DOWN",
            "phys_state": "5: LinkUp" if up else "3: Disabled",
            "rate": f"{nic.rate} Gb/sec ({lanes})",
            "link_layer": nic.link_layer,
            "lid": f"0x{position:x}" if nic.link_layer == "InfiniBand" else "0x0",
        },
    )
    tree.link(f"{folder}/device", path)
    tree.link(f"sys/class/infiniband/{nic.rdma}", folder)


def _add_module(tree: Tree, machine: Machine) -> None:
    for driver in ("amdgpu", "pcieport", "mlx5_core"):
        tree.folder(f"sys/bus/pci/drivers/{driver}")
    if not machine.driver:
        return
    folder = "sys/module/amdgpu"
    tree.texts(folder, {"initstate": "live", "refcnt": 0, "coresize": 9_900_032, "taint": ""})
    tree.texts(f"{folder}/parameters", {"noretry": -1, "vm_fragment_size": 9, "ras_enable": -1, "gpu_recovery": -1})
    tree.link(f"{folder}/drivers/pci:amdgpu", "sys/bus/pci/drivers/amdgpu")
    tree.link("sys/bus/pci/drivers/amdgpu/module", folder)
    if machine.driver_version:
        tree.text(f"{folder}/version", machine.driver_version)


def add_proc(tree: Tree, machine: Machine) -> None:
    """Put the few /proc files of an offline tree; a live node has its kernel's."""
    total = sum(node.memory_kib for node in machine.numa)
    tree.text("proc/cmdline", f"BOOT_IMAGE=/boot/vmlinuz-{machine.kernel} {machine.cmdline}".rstrip())
    tree.text("proc/meminfo", f"MemTotal:       {total} kB\nMemAvailable:   {total * 97 // 100} kB")
    tree.texts("proc/sys/kernel", {"osrelease": machine.kernel, "numa_balancing": 1})
    tree.text("proc/sys/kernel/random/boot_id", "00000000-0000-4000-8000-000000000001")
    modules = ["amdgpu 9900032 0 - Live 0x0000000000000000"] if machine.driver else []
    tree.text("proc/modules", "\n".join([*modules, "mlx5_core 1638400 1 - Live 0x0000000000000000"]))
    blocks = []
    for node in machine.numa:
        numbers = node.cpu_numbers()
        cores = len(numbers) // machine.threads_per_core
        for position, cpu in enumerate(numbers):
            blocks.append(
                f"processor\t: {cpu}\nvendor_id\t: {_vendor(machine)}\n{_cpuid(machine)}"
                f"model name\t: {machine.cpu_model}\n"
                f"physical id\t: {node.socket}\nsiblings\t: {len(numbers)}\n"
                f"core id\t\t: {position % cores}\ncpu cores\t: {cores}\n"
            )
    tree.text("proc/cpuinfo", "\n".join(blocks))


def _vendor(machine: Machine) -> str:
    return "AuthenticAMD" if machine.cpu_model.startswith("AMD") else "GenuineIntel"


def _cpuid(machine: Machine) -> str:
    """Return family and model of the processors whose numbers are known: EPYC 7003 is 25 and 1."""
    is_milan = re.search(r"EPYC 7[0-9]{2}3", machine.cpu_model)
    return "cpu family\t: 25\nmodel\t\t: 1\n" if is_milan else ""
