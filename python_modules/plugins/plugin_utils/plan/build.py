# SPDX-License-Identifier: Apache-2.0
"""Build a node's plan: the profile minus the snapshot, as ordered steps with their reasons."""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.instinct.bringup.plugins.plugin_utils.catalog import Catalog
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.errors import ConfigError, ConfigRefused
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.example import NAMES as EXAMPLE
from ansible_collections.instinct.bringup.plugins.plugin_utils.env.profile import ProfileError
from ansible_collections.instinct.bringup.plugins.plugin_utils.managed import Change
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan import rccl, repositories, topology
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.deepspeed import plan_deepspeed
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.deepspeed_configs import FILES as CONFIG_FILES
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.deepspeed_install import (
    install_refusals,
    lock_paths,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.interrupted import (
    interrupted_runs,
    waited_notes,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.kernel_tuning import (
    live_paths,
    plan_kernel_tuning,
    tuning_paths,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.launch import launch_paths, plan_launch
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.model import PlanContext, Refusal, Step
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.mpi import mpi_paths, mpi_refusals, plan_mpi
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.preflight import plan_preflight
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.purge import (
    plan_purge,
    purge_refusals,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.pytorch import (
    plan_pytorch,
    pytorch_refusals,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.rccl import plan_rccl
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.reboot import reboot_reasons
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.refusals import (
    change_refusals,
    folder_refusals,
    gpu_users,
    node_refusals,
    only_refusals,
    profile_refusals,
    value_refusal,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.rocm import (
    LD_CONF,
    PATH_PROFILE,
    UDEV_RULES,
    plan_rocm,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.wheels import scratch_path
from ansible_collections.instinct.bringup.plugins.plugin_utils.printable import printable
from ansible_collections.instinct.bringup.plugins.plugin_utils.profile import Profile

# The order in which roles are planned. playbooks/tasks/apply.yml has the order in which they are applied.
ROLES = ("rocm_purge", "rocm", "mpi", "pytorch", "kernel_tuning", "rccl", "deepspeed", "launch")
# Roles that only render files.
RENDERED = ("rccl", "deepspeed", "launch")
# Kinds of change that download something.
_FETCHED = ("package", "wheel", "venv")
# Kinds of change under which a job on the GPUs would lose its driver or its libraries.
_IN_USE = ("package", "dkms", "tree", "alternative", "link")
PlanDict = dict[str, t.Any]


def watched_paths(profile: Profile) -> list[str]:
    """Return the paths that any plan of this profile may manage, for the snapshot to look at."""
    venv, deepspeed = str(profile["pytorch_venv"]), str(profile["deepspeed_directory"])
    return [
        repositories.KEYRING_PATH,
        repositories.PIN_PATH,
        repositories.ROCM_LIST,
        repositories.DRIVER_LIST,
        LD_CONF,
        PATH_PROFILE,
        UDEV_RULES,
        *(f"{venv}/{name}" for name in ("requirements.lock", "constraints.txt", "pip.conf")),
        *lock_paths(venv),
        scratch_path(venv),
        *rccl.PATHS,
        *topology.PATHS,
        *(f"{deepspeed}/{name}" for name in (*CONFIG_FILES, "hostfile")),
        *(f"{deepspeed}/example/{name}" for name in EXAMPLE),
        *launch_paths(profile),
        *mpi_paths(profile),
        *tuning_paths(profile),
        *live_paths(profile),
    ]


def policy_packages(profile: Profile, catalog: Catalog) -> list[str]:
    """Return the packages whose origin and priority the snapshot asks apt about."""
    release = catalog.release(profile["rocm_release"])
    names = {name for packages in release["usecases"].values() for name in packages}
    # The snapshot's reader puts the running kernel in.
    return sorted({*names, *release["shadowed"], "rocm-core", "linux-headers-{kernel}"})


def build_plan(ctx: PlanContext) -> PlanDict:
    """Return the plan of one host as plain data. It reads nothing but its context."""
    refusals = profile_refusals(ctx.profile, ctx.catalog)
    if not refusals:
        refusals = node_refusals(ctx)
    if refusals:
        return _plan(ctx, refusals=refusals)
    purge, kept = plan_purge(ctx)
    going = frozenset(purge.inputs["packages"])
    try:
        steps = [
            purge,
            plan_rocm(ctx, going),
            plan_mpi(ctx),
            plan_pytorch(ctx),
            plan_kernel_tuning(ctx),
            rccl_step := plan_rccl(ctx),
            plan_deepspeed(ctx),
            plan_launch(ctx, rccl_step),
        ]
    except ConfigRefused as error:
        return _plan(ctx, refusals=[Refusal(*reason) for reason in error.reasons])
    except (ProfileError, ConfigError) as error:
        return _plan(ctx, refusals=[value_refusal("a rendered file", str(error), "values that the file can hold")])
    wanted = [step for step in steps if step is not None]
    only = ctx.profile["bringup_only"]
    chosen = [
        step for step in wanted if (step.changes or ctx.profile["bringup_force"]) and (not only or step.role in only)
    ]
    changed = [step for step in chosen if step.changes]
    fetching = {step.role for step in changed if any(change.kind in _FETCHED for change in step.changes)}
    reboot = _reboot(ctx, only)
    refusals = [*only_refusals(only, ROLES), *purge_refusals(ctx, purge), *folder_refusals(ctx, changed)]
    if changed:
        refusals += change_refusals(ctx, fetching, going)
    if _disturbs_jobs(changed) or (reboot["needed"] and reboot["allowed"]):
        refusals += gpu_users(ctx)
    if any(step.role == "mpi" and step.inputs["build"] for step in changed):
        refusals += mpi_refusals(ctx)
    if changed and (not only or "pytorch" in only):
        refusals += pytorch_refusals(ctx)
    if changed and (not only or "deepspeed" in only):
        refusals += install_refusals(ctx)
    if refusals:
        chosen = []
    asked = chosen or reboot["needed"] or (interrupted_runs(ctx) and not only)
    ordered = _with_frame(ctx, chosen, changed, reboot) if asked and not refusals else []
    return _plan(ctx, refusals=refusals, steps=ordered, wanted=wanted, kept=kept, reboot=reboot)


def _disturbs_jobs(changed: list[Step]) -> bool:
    """Say whether a step takes away what a running job on the GPUs uses."""
    return any(
        change.kind in _IN_USE for step in changed if step.role in ("rocm_purge", "rocm") for change in step.changes
    )


def _reboot(ctx: PlanContext, only: list[str]) -> dict[str, t.Any]:
    reasons = reboot_reasons(ctx)
    # A part of the plan leaves the rest as it is: what it would reboot for may not even be installed.
    allowed = bool(ctx.profile["bringup_reboot"]) and not ctx.local and not only
    return {"needed": bool(reasons), "allowed": allowed, "reasons": reasons, "local": ctx.local, "partly": bool(only)}


def _with_frame(ctx: PlanContext, chosen: list[Step], changed: list[Step], reboot: dict[str, t.Any]) -> list[Step]:
    """Put preflight before the steps, and the reboot, where it is allowed, after what is installed.

    What is rendered comes after the reboot: it is made from what the new driver shows.
    """
    frame = [plan_preflight(ctx, changed)] if changed or interrupted_runs(ctx) else []
    frame += [step for step in chosen if step.role not in RENDERED]
    if reboot["needed"] and reboot["allowed"]:
        changes = tuple(
            Change("reboot", "the node", "running", "rebooted once", reason) for reason in reboot["reasons"]
        )
        frame.append(Step("reboot", changes, {}))
    return frame + [step for step in chosen if step.role in RENDERED]


def _adoption(ctx: PlanContext, installed: list[str]) -> list[str]:
    """Say so where packages of the wanted release are there that no run of ours installed: they stay."""
    if not installed or ctx.area("journal").get("runs"):
        return []
    release = ctx.release["release"]
    return [f"ROCm {release} was installed by hand and is adopted: what is missing is added, nothing is torn down"]


def _plan(
    ctx: PlanContext,
    refusals: list[Refusal],
    steps: t.Sequence[Step] = (),
    wanted: t.Sequence[Step] = (),
    kept: t.Sequence[dict[str, str]] = (),
    reboot: dict[str, t.Any] | None = None,
) -> PlanDict:
    rocm = next((step for step in wanted if step.role == "rocm"), None)
    launch = next((step for step in wanted if step.role == "launch"), None)
    adopted = _adoption(ctx, rocm.inputs["hold"]["names"]) if rocm and rocm.changes else []
    return {
        "schema": 1,
        "host": ctx.host,
        "rocm_release": ctx.profile["rocm_release"],
        "refusals": [printable(dataclasses.asdict(refusal)) for refusal in refusals],
        "steps": [
            {
                "role": step.role,
                "reasons": sorted({printable(change.reason) for change in step.changes}),
                "changes": [printable(dataclasses.asdict(change)) for change in step.changes],
                "inputs": step.inputs,
            }
            for step in steps
        ],
        "notes": [
            *map(printable, waited_notes(ctx)),
            *adopted,
            *(printable(note) for step in wanted for note in step.notes),
        ],
        "kept": [printable(entry) for entry in kept],
        "reboot": reboot or {"needed": False, "allowed": False, "reasons": [], "local": ctx.local, "partly": False},
        "files": [{**dataclasses.asdict(file), "role": step.role} for step in wanted for file in step.files],
        "packages": {name: version for step in wanted for name, version in step.packages.items()},
        "holds": rocm.inputs["hold"]["names"] if rocm else [],
        # What is expected of a job, None on a host that no job runs on.
        "launch": launch.inputs["model"] if launch else None,
    }
