# SPDX-License-Identifier: Apache-2.0
"""Decide on the files that follow from a node's topology: RCCL's own, only where it helps, and the binding."""

from __future__ import annotations

import dataclasses
import functools
import typing as t

from ansible_collections.instinct.bringup.plugins.module_utils.rccl_model import Topology, TopologyError
from ansible_collections.instinct.bringup.plugins.module_utils.rccl_topology import (
    build_topology,
    differs_from_detection,
    render_xml,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils import rccl_memory
from ansible_collections.instinct.bringup.plugins.plugin_utils.managed import ManagedFile
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.model import PlanContext
from ansible_collections.instinct.bringup.plugins.plugin_utils.rccl_reader import read_topology
from ansible_collections.instinct.bringup.plugins.plugin_utils.topology.binding import (
    bindings_of,
    render_rankfile,
    render_wrapper,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.topology.channels import Limits, estimate
from ansible_collections.instinct.bringup.plugins.plugin_utils.topology.explain import memory_text
from ansible_collections.instinct.bringup.plugins.plugin_utils.topology.graph import Graph, build_graph

TOPOLOGY_PATH = "/etc/rccl/topology.xml"
WRAPPER_PATH = "/etc/rccl/bind-rank"
RANKFILE_PATH = "/etc/rccl/rankfile"
# What a plan may manage here, for the snapshot to look at.
PATHS = (TOPOLOGY_PATH, WRAPPER_PATH, RANKFILE_PATH)


@dataclasses.dataclass(frozen=True)
class TopologyPlan:
    """Hold the decision. absent: path to why it must not be there.

    topology: how RCCL sees the node, None where it cannot be told, whether or not a file is made of it.
    """

    topology: Topology | None
    files: tuple[ManagedFile, ...]
    absent: t.Mapping[str, str]
    notes: tuple[str, ...]

    @functools.cached_property
    def graph(self) -> Graph | None:
        """Return what RCCL plans on, None where the topology cannot be told."""
        topology = self.topology
        return build_graph(read_topology(render_xml(topology)), topology.rccl_version) if topology else None

    @property
    def topology_file(self) -> str | None:
        """Return the path of the topology file, None where there is none."""
        return next((file.path for file in self.files if file.path == TOPOLOGY_PATH), None)


def plan_topology(ctx: PlanContext) -> TopologyPlan:
    """Return which files of the topology the node gets, and why or why not."""
    try:
        topology = build_topology(ctx.snapshot, ctx.release["rccl"], ctx.profile["rccl_topology_links"])
        trouble = ""
    except TopologyError as error:
        topology, trouble = None, str(error)
    wanted, why = _is_wanted(ctx, topology, trouble)
    files = []
    if topology is not None and wanted:
        files.append(ManagedFile(TOPOLOGY_PATH, render_xml(topology), why))
    bound, why_not = _binding_files(ctx, topology, trouble)
    files += bound
    absent = {} if wanted else {TOPOLOGY_PATH: why}
    if not bound:
        absent |= dict.fromkeys((WRAPPER_PATH, RANKFILE_PATH), why_not)
    return TopologyPlan(topology, tuple(files), absent, (why,))


def _is_wanted(ctx: PlanContext, topology: Topology | None, trouble: str) -> tuple[bool, str]:
    """Return whether RCCL gets a file: a wrong one is worse than none."""
    mode = ctx.profile["rccl_topology_mode"]
    if mode == "never":
        return False, "no RCCL topology file: rccl_topology_mode is never"
    if topology is None:
        return False, f"no RCCL topology file: {trouble}"
    if mode == "always":
        return True, "RCCL topology file: rccl_topology_mode is always"
    speed = str(ctx.profile["pcie_expected_speed"] or ctx.gpu["pcie_speed"]).split()[0]
    width = int(ctx.profile["pcie_expected_width"] or ctx.gpu["pcie_width"])
    differences = differs_from_detection(topology, float(speed), width)
    if differences:
        return True, f"RCCL topology file: {'; '.join(differences)}"
    return False, "no RCCL topology file: RCCL detects the same by itself, and a file can go stale"


def _binding_files(ctx: PlanContext, topology: Topology | None, trouble: str) -> tuple[list[ManagedFile], str]:
    if not ctx.profile["rccl_numa_binding"]:
        return [], "rccl_numa_binding is false"
    if topology is None:
        return [], f"no binding: {trouble}"
    bindings = bindings_of(topology, ctx.snapshot)
    if len(bindings) < len(topology.gpus):
        return [], "no binding: the NUMA node of a GPU or its processors are not known"
    note = "ranks run next to their GPUs"
    return [
        ManagedFile(WRAPPER_PATH, render_wrapper(bindings, WRAPPER_PATH), f"a wrapper with which {note}", mode="0755"),
        ManagedFile(RANKFILE_PATH, render_rankfile(bindings, RANKFILE_PATH), f"Open MPI's rankfile with which {note}"),
    ], ""


def memory_note(ctx: PlanContext, planned: TopologyPlan, variables: t.Mapping[str, str]) -> str | None:
    """Return a sentence on the device memory that RCCL takes, None on a node without GPUs.

    variables: the profile's, name to value.
    """
    if planned.graph is None:
        ranks = sum(gpu["driver"] == "amdgpu" for gpu in ctx.area("pci").get("gpus") or [])
        return rccl_memory.memory_note(ranks, ctx.release["rccl"], variables) if ranks else None
    found = estimate(planned.graph, ctx.release["rccl"], limits_of(variables))
    return memory_text(found, len(planned.graph.gpus))


def limits_of(variables: t.Mapping[str, str]) -> Limits:
    """Return what a profile's variables, name to value, limit RCCL to."""
    names = ("NCCL_BUFFSIZE", "NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS", "NCCL_MAX_P2P_NCHANNELS")
    return Limits(*(int(variables[name]) if name in variables else None for name in names))
