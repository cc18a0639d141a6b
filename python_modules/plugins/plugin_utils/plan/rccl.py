# SPDX-License-Identifier: Apache-2.0
"""Plan the RCCL topology file, only where it helps, and the environment profile in the forms that programs read."""

from __future__ import annotations

import typing as t

from ansible_collections.instinct.bringup.plugins.plugin_utils.env import render
from ansible_collections.instinct.bringup.plugins.plugin_utils.env.facts import NodeFacts
from ansible_collections.instinct.bringup.plugins.plugin_utils.env.profile import EnvProfile, Target, make_profile
from ansible_collections.instinct.bringup.plugins.plugin_utils.managed import ManagedFile, absent_change
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.model import PlanContext, Step
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.topology import (
    TopologyPlan,
    memory_note,
    plan_topology,
)

CONF_PATH = "/etc/rccl.conf"
PROFILE_PATH = "/etc/profile.d/rccl.sh"
SYSTEMD_PATH = "/etc/rccl/rccl.env"
MODULE_PATH = "/etc/rccl/modulefiles/rccl.lua"
DEEPSPEED_PATH = "/etc/rccl/deepspeed_env"
# What a plan may manage here, for the snapshot to look at.
PATHS = (CONF_PATH, PROFILE_PATH, SYSTEMD_PATH, MODULE_PATH, DEEPSPEED_PATH)
# What the plan's notes on memory begin with; verify shows them in the report.
MEMORY = "RCCL's memory"
_UNCOUNTED = "Not counted: kernels' scratch and code, HIP's own context, and some 16 MiB of host memory a communicator"


def plan_rccl(ctx: PlanContext) -> Step:
    """Return the step of role rccl.

    :raises ProfileError: the profile is not for this node, or a variable of the site cannot be rendered.
    """
    planned = plan_topology(ctx)
    env = environment_of(ctx, planned)
    files = [*_environment_files(env), *planned.files]
    changes = ctx.file_changes(files)
    changes += [
        change for path, why in planned.absent.items() if (change := absent_change(path, ctx.watched(path), why))
    ]
    inputs = {"files": [file.as_input() for file in files], "absent": sorted(planned.absent)}
    notes = (*planned.notes, *env.notes, *_cost(ctx, planned, env))
    return Step("rccl", tuple(changes), inputs, tuple(files), notes=notes)


def environment_of(ctx: PlanContext, planned: TopologyPlan) -> EnvProfile:
    """Return the profile of a node, filled in from its devices.

    :raises ProfileError: as plan_rccl.
    """
    options = {name: ctx.profile[name] for name in ("rccl_socket_ifname", "rccl_ib_hca")}
    return make_profile(
        ctx.profile["rccl_profile"],
        Target(ctx.release, ctx.gpu, NodeFacts(ctx.snapshot, options, planned.topology_file)),
        ctx.profile["rccl_extra_env"],
        allow_unread=ctx.profile["rccl_profile_allow_unread"],
    )


def _environment_files(env: EnvProfile) -> list[ManagedFile]:
    return [
        ManagedFile(CONF_PATH, render.as_rccl_conf(env), "RCCL reads it in every process, whoever launched it"),
        ManagedFile(PROFILE_PATH, render.as_shell(env), "the same values for shells, with what each does"),
        ManagedFile(SYSTEMD_PATH, render.as_systemd_environment(env), "the same values for units: EnvironmentFile="),
        ManagedFile(MODULE_PATH, render.as_module_file(env), "the same values for Lmod: module use, module load rccl"),
        ManagedFile(
            DEEPSPEED_PATH, render.as_deepspeed_env(env), "the same values for DeepSpeed's launcher: DS_ENV_FILE"
        ),
    ]


def _cost(ctx: PlanContext, planned: TopologyPlan, env: EnvProfile) -> t.Iterator[str]:
    """Yield what RCCL takes of each card without the profile and with it, nothing on a node without GPUs."""
    before, after = memory_note(ctx, planned, {}), memory_note(ctx, planned, env.values)
    if before is None or after is None:
        return
    if before == after:
        yield f"{MEMORY}, with profile {env.name} as without it: {before} {_UNCOUNTED}"
        return
    yield f"{MEMORY} without a profile: {before}"
    yield f"{MEMORY} with profile {env.name}: {after} {_UNCOUNTED}"
