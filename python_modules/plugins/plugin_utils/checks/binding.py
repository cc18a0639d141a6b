# SPDX-License-Identifier: Apache-2.0
"""Check that every rank is bound to the NUMA node that is nearest to its GPU."""

from __future__ import annotations

import collections.abc as c

from ansible_collections.instinct.bringup.plugins.module_utils.rccl_model import TopologyError
from ansible_collections.instinct.bringup.plugins.module_utils.rccl_topology import build_topology
from ansible_collections.instinct.bringup.plugins.module_utils.text import parse_cpulist
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.hardware import KFD_ROOT, Json, kfd_bdf, kfd_gpus
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.model import (
    FAIL,
    OK,
    CheckContext,
    Finding,
    skipped,
    unknown,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.registry import check
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.topology import WRAPPER_PATH
from ansible_collections.instinct.bringup.plugins.plugin_utils.topology.binding import (
    Binding,
    bindings_of,
    read_wrapper,
)


@check(
    "numa.binding_nearest",
    "No rank is bound farther from its GPU than it could be",
    areas=("kfd", "numa.nodes", "pci.gpus"),
    required=False,
    remedy=(
        "Run site.yml with rccl_numa_binding: true, which makes the binding again from the machine. Where the "
        "firmware names a farther node than the driver, look for NUMA settings and updates of the BIOS."
    ),
)
def binding_nearest(context: CheckContext) -> c.Iterator[Finding]:
    """Compare each GPU's binding with the distances to the processors that the driver lists.

    Judged is the wrapper on the node, whoever wrote it; without one, the binding that would be rendered.
    """
    gpus = kfd_gpus(context)
    nodes = {int(node["id"]): node for node in context.snapshot["numa"]["nodes"]}
    if not gpus:
        yield skipped("the driver shows no GPU")
        return
    if len(nodes) == 1:
        yield skipped("the machine has one NUMA node")
        return
    seen = (context.held("watch") or {}).get(WRAPPER_PATH) or {}
    if seen.get("text"):
        bindings, source = read_wrapper(str(seen["text"])), WRAPPER_PATH
    else:
        try:
            topology = build_topology(context.snapshot, context.release["rccl"])
        except TopologyError as error:
            yield skipped(f"no binding can be made: {error}")
            return
        bindings, source = bindings_of(topology, context.snapshot), "the binding that would be rendered"
    by_busid = {binding.busid: binding for binding in bindings}
    for gpu in gpus:
        yield _judge(context, gpu, by_busid.get(kfd_bdf(gpu).lower()), nodes, source)


def _judge(context: CheckContext, gpu: Json, binding: Binding | None, nodes: dict[int, Json], source: str) -> Finding:
    evidence = f"{KFD_ROOT}/{gpu['id']}/io_links"
    weights = _weights(context, gpu, nodes)
    subject = kfd_bdf(gpu)
    if not weights:
        return unknown("the driver lists no link to a processor", evidence, subject, "the nearest NUMA node")
    best = min(weights.values())
    near = sorted(node for node, weight in weights.items() if weight == best)
    expected = "node " + " or ".join(map(str, near))
    if binding is None:
        return Finding(FAIL, subject, expected, "not bound", f"{source} does not name this GPU", source)
    observed = f"node {binding.numa_node}, CPUs {binding.cpus}"
    own = set(parse_cpulist((nodes.get(binding.numa_node) or {}).get("cpulist") or "") or [])
    if not set(parse_cpulist(binding.cpus) or []) <= own:
        reason = f"{source}: CPUs {binding.cpus} are not all of node {binding.numa_node}"
        return Finding(FAIL, subject, expected, observed, reason, evidence)
    if binding.numa_node not in near:
        weight = weights.get(binding.numa_node, "none")
        reason = f"{source}: weight {weight} to node {binding.numa_node}, and {best} to {expected}"
        return Finding(FAIL, subject, expected, observed, reason, evidence)
    return Finding(OK, subject, expected, observed, "", evidence)


def _weights(context: CheckContext, gpu: Json, nodes: dict[int, Json]) -> dict[int, int]:
    """Return the weight of the driver's link from a GPU to each NUMA node that it lists."""
    listed = (context.snapshot.get("kfd") or {}).get("nodes") or []
    cpus = sorted(node["id"] for node in listed if (node.get("properties") or {}).get("cpu_cores_count"))
    if len(cpus) != len(nodes):
        return {}
    # The driver lists the processors first, in the order of the NUMA nodes.
    numa_of = dict(zip(cpus, sorted(nodes), strict=True))
    links = [*(gpu.get("io_links") or []), *(gpu.get("p2p_links") or [])]
    return {numa_of[link["node_to"]]: int(link["weight"]) for link in links if link.get("node_to") in numa_of}
