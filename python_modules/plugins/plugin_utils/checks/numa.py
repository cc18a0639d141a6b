# SPDX-License-Identifier: Apache-2.0
"""Check that the firmware tells which NUMA node each GPU is near."""

from __future__ import annotations

import collections.abc as c

from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.hardware import PCI_ROOT, Json, pci_gpus
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.model import (
    OK,
    WARN,
    CheckContext,
    Finding,
    skipped,
    unknown,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.registry import check


@check(
    "numa.gpu_node_known",
    "The NUMA node of every GPU is known",
    areas=("pci.gpus", "numa.nodes"),
    required=False,
    remedy=(
        "Look for the NUMA settings in the BIOS (nodes per socket, ACPI SRAT) and update the BIOS. "
        "Until then bind ranks by the CPUs that the reason names."
    ),
)
def gpu_node_known(context: CheckContext) -> c.Iterator[Finding]:
    """Read each GPU's numa_node. -1 on a machine with several nodes is warned of, with what can be inferred."""
    nodes = context.snapshot["numa"].get("nodes") or []
    gpus = pci_gpus(context)
    if len(nodes) == 1:
        yield skipped("the machine has one NUMA node")
        return
    for gpu in gpus:
        path = f"{PCI_ROOT}/{gpu['bdf']}/numa_node"
        node = gpu.get("numa_node")
        known = [int(entry["id"]) for entry in nodes]
        if node is None:
            yield unknown(context.problem(path, "pci"), path, gpu["bdf"], "a NUMA node")
        elif node in known:
            yield Finding(OK, gpu["bdf"], "a NUMA node", f"node {node}", "", path)
        else:
            yield Finding(WARN, gpu["bdf"], "a NUMA node", str(node), _inferred(gpu, nodes), path)


def _inferred(gpu: Json, nodes: list[Json]) -> str:
    """Say which node's CPUs are local to the GPU; the kernel lists all CPUs when it does not know either."""
    cpus = gpu.get("local_cpulist")
    near = [str(entry["id"]) for entry in nodes if cpus and entry.get("cpulist") == cpus]
    if near:
        return f"the firmware does not tell; inferred from local_cpulist {cpus}: node {near[0]}"
    return f"the firmware does not tell, and local_cpulist {cpus or 'is not there'} is no single node's"
