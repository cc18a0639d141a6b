# SPDX-License-Identifier: Apache-2.0
"""Plan the RCCL topology file, only where it helps, and the environment profile."""

from __future__ import annotations

from ansible_collections.instinct.bringup.plugins.module_utils.rccl_model import Topology, TopologyError
from ansible_collections.instinct.bringup.plugins.module_utils.rccl_topology import (
    build_topology,
    differs_from_detection,
    render_xml,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils import env_profile, rccl_memory
from ansible_collections.instinct.bringup.plugins.plugin_utils.managed import ManagedFile, absent_change
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.model import PlanContext, Step

TOPOLOGY_PATH = "/etc/rccl/topology.xml"
CONF_PATH = "/etc/rccl.conf"
PROFILE_PATH = "/etc/profile.d/rccl.sh"


def plan_rccl(ctx: PlanContext) -> Step:
    """Return the step of role rccl.

    :raises ProfileError: a variable of the site cannot be rendered.
    """
    topology, notes = _topology(ctx)
    env = env_profile.render_profile(
        ctx.profile["rccl_profile"],
        ctx.release,
        ctx.gpu,
        ctx.snapshot,
        {name: ctx.profile[name] for name in ("rccl_socket_ifname", "rccl_extra_env")},
        topology_file=TOPOLOGY_PATH if topology else None,
    )
    files = [
        ManagedFile(CONF_PATH, env_profile.as_rccl_conf(env), "RCCL reads it in every process, whoever launched it"),
        ManagedFile(PROFILE_PATH, env_profile.as_profile_d(env), "the same values for shells, with what each does"),
    ]
    absent = []
    if topology:
        files.append(ManagedFile(TOPOLOGY_PATH, render_xml(topology), notes[0]))
    else:
        absent.append(TOPOLOGY_PATH)
    changes = ctx.file_changes(files)
    changes += [change for path in absent if (change := absent_change(path, ctx.watched(path), notes[0]))]
    ranks = sum(gpu["driver"] == "amdgpu" for gpu in ctx.area("pci").get("gpus") or [])
    if ranks:
        variables = {variable.name: variable.value for variable in env.variables}
        notes.append(rccl_memory.memory_note(ranks, ctx.release["rccl"], variables))
    inputs = {"files": [file.as_input() for file in files], "absent": absent}
    return Step("rccl", tuple(changes), inputs, tuple(files), notes=tuple(notes))


def _topology(ctx: PlanContext) -> tuple[Topology | None, list[str]]:
    """Return the topology where it is to be rendered, and why or why not: a wrong file is worse than none."""
    mode = ctx.profile["rccl_topology_mode"]
    if mode == "never":
        return None, ["no RCCL topology file: rccl_topology_mode is never"]
    try:
        topology = build_topology(ctx.snapshot, ctx.release["rccl"])
    except TopologyError as error:
        return None, [f"no RCCL topology file: {error}"]
    if mode == "always":
        return topology, ["RCCL topology file: rccl_topology_mode is always"]
    differences = differs_from_detection(topology)
    if differences:
        return topology, [f"RCCL topology file: {'; '.join(differences)}"]
    return None, ["no RCCL topology file: RCCL detects the same by itself, and a file can go stale"]
