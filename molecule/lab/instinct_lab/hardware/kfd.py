# SPDX-License-Identifier: Apache-2.0
"""The KFD topology below /sys/class/kfd: nodes, memory banks, links.

Values follow the captured tree of a machine with eight MI210 in two hives.
Bandwidths are in MB/s and computed by the kernel, never measured: a degraded
slot does not show here.
"""

from __future__ import annotations

from dataclasses import dataclass

from .machine import Gpu, Machine
from .tree import Tree

ROOT = "sys/devices/virtual/kfd/kfd/topology"

HYPERTRANSPORT, PCIE, XGMI = 1, 2, 11
PCIE_WEIGHT = 20
XGMI_WEIGHT = 15
XGMI_LINK_BANDWIDTH = 50000
# With a large BAR the whole VRAM is public.
_HEAP_SYSTEM, _HEAP_PUBLIC = 0, 1


@dataclass(frozen=True)
class Connection:
    """One link as KFD lists it. `direct` links are in io_links, paths without one in p2p_links."""

    node_from: int
    node_to: int
    type: int
    weight: int
    min_bandwidth: int
    max_bandwidth: int
    engines: int
    flags: int
    direct: bool


def driven(machine: Machine) -> list[Gpu]:
    """Return the GPUs that the driver has taken, in KFD order."""
    return [gpu for gpu in machine.gpus if machine.driver and gpu.driver]


def gpu_id(gpu: Gpu) -> int:
    """Return the 16-bit id that KFD gives to a GPU; made from its unique id."""
    return 0x1000 + (gpu.unique_id * 2654435761 >> 8) % 0xE000


def cpu_node(gpu: Gpu) -> int:
    """Return the CPU node that a GPU hangs on; a GPU without a NUMA node is put on the first."""
    return max(gpu.numa_node, 0)


def connections(machine: Machine) -> list[Connection]:
    """Return every link of the machine in the order in which KFD numbers them."""
    cpus = len(machine.numa)
    gpus = driven(machine)
    found: list[Connection] = []
    for one in range(cpus):
        for other in range(cpus):
            if one != other:
                weight = machine.numa[one].distances[other]
                found.append(Connection(one, other, HYPERTRANSPORT, weight, 0, 0, 0, 0, True))
        for position, gpu in enumerate(gpus, start=cpus):
            found.append(_cpu_gpu(machine, one, position, gpu, to_gpu=True))
    for position, gpu in enumerate(gpus, start=cpus):
        for cpu in range(cpus):
            found.append(_cpu_gpu(machine, cpu, position, gpu, to_gpu=False))
        for peer_position, peer in enumerate(gpus, start=cpus):
            if peer is not gpu:
                found.append(_gpu_gpu(machine, position, gpu, peer_position, peer))
    return found


def _cpu_gpu(machine: Machine, cpu: int, node: int, gpu: Gpu, to_gpu: bool) -> Connection:
    home = cpu_node(gpu)
    ends = (cpu, node) if to_gpu else (node, cpu)
    flags = 3 if to_gpu else 1
    if cpu == home:
        return Connection(*ends, PCIE, PCIE_WEIGHT, 312, 32000, 3, flags, True)
    weight = PCIE_WEIGHT + machine.numa[home].distances[cpu]
    return Connection(*ends, PCIE, weight, 0, 0, 0, flags, False)


def _gpu_gpu(machine: Machine, node: int, gpu: Gpu, peer_node: int, peer: Gpu) -> Connection:
    broken = machine.broken_xgmi.get(frozenset((gpu.bdf, peer.bdf)))
    if gpu.hive and gpu.hive == peer.hive and broken != "missing":
        hops = 2 if broken == "routed" else 1
        most = XGMI_LINK_BANDWIDTH if hops == 1 else 0
        return Connection(
            node, peer_node, XGMI, XGMI_WEIGHT * hops, XGMI_LINK_BANDWIDTH, most, 28, 1, True
        )  # fmt: skip
    weight = 2 * PCIE_WEIGHT
    if cpu_node(gpu) != cpu_node(peer):
        weight += machine.numa[cpu_node(gpu)].distances[cpu_node(peer)]
    # The capture names engines only from a later node to an earlier one.
    engines = 3 if node > peer_node else 0
    return Connection(node, peer_node, PCIE, weight, 0, 0, engines, 3, False)


def add(tree: Tree, machine: Machine) -> None:
    """Put the whole topology, or nothing when no driver runs."""
    if not machine.driver:
        return
    gpus = driven(machine)
    links = connections(machine)
    tree.text(f"{ROOT}/generation_id", 2)
    tree.text(f"{ROOT}/system_properties", "platform_oem 35498446626881\nplatform_id 71791775140929\nplatform_rev 2")
    tree.link("sys/class/kfd/kfd", "sys/devices/virtual/kfd/kfd")
    tree.text("sys/devices/virtual/kfd/kfd/dev", "238:0")
    first_core = 0
    for node, numa in enumerate(machine.numa):
        cores = len(numa.cpu_numbers())
        _add_node(tree, machine, node, links, cpu_properties(machine, cores, first_core), 0, "")
        _add_bank(tree, node, _HEAP_SYSTEM, numa.memory_kib * 1024, 64, 1600)
        first_core += cores
    for node, gpu in enumerate(gpus, start=len(machine.numa)):
        properties = gpu_properties(machine, gpu, node - len(machine.numa))
        _add_node(tree, machine, node, links, properties, gpu_id(gpu), "aldebaran")
        _add_bank(tree, node, _HEAP_PUBLIC, gpu.vram_bytes, 4096, 1600)


def _add_node(
    tree: Tree, machine: Machine, node: int, links: list[Connection], properties: dict[str, int], gpu: int, name: str
) -> None:
    folder = f"{ROOT}/nodes/{node}"
    own = [link for link in links if link.node_from == node]
    properties["io_links_count"] = sum(link.direct for link in own)
    properties["p2p_links_count"] = sum(not link.direct for link in own)
    _add_table(tree, machine, f"{folder}/properties", properties)
    tree.text(f"{folder}/gpu_id", gpu)
    tree.text(f"{folder}/name", name)
    for kind, direct in (("io_links", True), ("p2p_links", False)):
        tree.folder(f"{folder}/{kind}")
        for index, link in enumerate(item for item in own if item.direct == direct):
            _add_table(tree, machine, f"{folder}/{kind}/{index}/properties", link_properties(link))


def _add_table(tree: Tree, machine: Machine, path: str, table: dict[str, int]) -> None:
    rows = (f"{key} {value}" for key, value in table.items() if key not in machine.kfd_absent)
    tree.text(path, "\n".join(rows))


def _add_bank(tree: Tree, node: int, heap: int, size: int, width: int, clock: int) -> None:
    tree.text(
        f"{ROOT}/nodes/{node}/mem_banks/0/properties",
        f"heap_type {heap}\nsize_in_bytes {size}\nflags 0\nwidth {width}\nmem_clk_max {clock}",
    )


def link_properties(link: Connection) -> dict[str, int]:
    """Return the table of one link."""
    return {
        "type": link.type, "version_major": 0, "version_minor": 0,
        "node_from": link.node_from, "node_to": link.node_to, "weight": link.weight,
        "min_latency": 0, "max_latency": 0,
        "min_bandwidth": link.min_bandwidth, "max_bandwidth": link.max_bandwidth,
        "recommended_transfer_size": 0, "recommended_sdma_engine_id_mask": link.engines, "flags": link.flags,
    }  # fmt: skip


def cpu_properties(machine: Machine, cores: int, first_core: int) -> dict[str, int]:
    """Return the table of a CPU node, link counts still 0."""
    table = dict.fromkeys(
        (
            "cpu_cores_count", "simd_count", "mem_banks_count", "caches_count", "io_links_count",
            "p2p_links_count", "cpu_core_id_base", "simd_id_base", "max_waves_per_simd", "lds_size_in_kb",
            "gds_size_in_kb", "num_gws", "wave_front_size", "array_count", "simd_arrays_per_engine",
            "cu_per_simd_array", "simd_per_cu", "max_slots_scratch_cu", "gfx_target_version", "vendor_id",
            "device_id", "location_id", "domain", "drm_render_minor", "hive_id", "num_sdma_engines",
            "num_sdma_xgmi_engines", "num_sdma_queues_per_engine", "num_cp_queues", "max_engine_clk_ccompute",
        ),
        0,
    )  # fmt: skip
    return table | {
        "cpu_cores_count": cores,
        "mem_banks_count": 1,
        "cpu_core_id_base": first_core,
        "max_engine_clk_ccompute": machine.cpu_max_mhz,
    }


def gpu_properties(machine: Machine, gpu: Gpu, position: int) -> dict[str, int]:
    """Return the table of a GPU node, link counts still 0."""
    bus, slot, function = int(gpu.bdf[5:7], 16), int(gpu.bdf[8:10], 16), int(gpu.bdf[11])
    fixed = dict(gpu.kfd)
    clock = fixed.pop("max_engine_clk_fcompute")
    table = cpu_properties(machine, 0, 0)
    cpu_clock = table.pop("max_engine_clk_ccompute")
    # The order is the kernel's.
    return table | {
        **{key: value for key, value in fixed.items() if key in table},
        "mem_banks_count": 1,
        "simd_id_base": 2147487744 + 112 * position,
        "vendor_id": int(gpu.id[:4], 16),
        "device_id": int(gpu.id[5:], 16),
        "location_id": bus << 8 | slot << 3 | function,
        "domain": int(gpu.bdf[:4], 16),
        "drm_render_minor": gpu.render,
        "hive_id": machine.hive_id(gpu),
        "max_engine_clk_fcompute": clock,
        "local_mem_size": 0,
        "fw_version": gpu.firmware["mec"],
        "capability": fixed["capability"],
        "debug_prop": fixed["debug_prop"],
        "sdma_fw_version": gpu.firmware["sdma"],
        "unique_id": gpu.unique_id,
        "num_xcc": 1,
        "max_engine_clk_ccompute": cpu_clock,
    }
