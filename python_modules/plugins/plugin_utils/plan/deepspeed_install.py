# SPDX-License-Identifier: Apache-2.0
"""Plan DeepSpeed and its stack in the venv: by a lock of their own, DeepSpeed itself built against the venv's torch."""

from __future__ import annotations

import typing as t

from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.version import deepspeed_version
from ansible_collections.instinct.bringup.plugins.plugin_utils.managed import Change, ManagedFile
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.model import PlanContext, Refusal
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.wheels import (
    SOURCES,
    LockSet,
    conflicts,
    index_arguments,
    lock_part,
    lock_pins,
    lock_refusal,
    normalize,
    plan_lock,
    scratch_path,
    seen_venv,
    without_hash,
)

# DeepSpeed publishes its source only, and its setup asks the torch that is there what to build.
BUILT = "deepspeed"


class Install(t.NamedTuple):
    """What the step of role deepspeed has beside its rendered files."""

    changes: list[Change]
    inputs: dict[str, t.Any]
    files: list[ManagedFile]


def lock_paths(venv: str) -> list[str]:
    """Return the paths of the files that the installation leaves in the venv."""
    return [f"{venv}/deepspeed-stack.lock", f"{venv}/deepspeed.lock"]


def plan_install(ctx: PlanContext) -> Install:
    """Return what DeepSpeed's installation needs. Without a lock nothing is installed.

    :raises ConfigError: no version of DeepSpeed is known for the release.
    """
    if ctx.deepspeed_lock is None:
        return Install([], {"missing": [], "locks": [], "scratch": ""}, [])
    lock, source = ctx.deepspeed_lock, " ".join(index_arguments(str(ctx.profile["deepspeed_index_url"])))
    stack_path, built_path = lock_paths(str(ctx.profile["pytorch_venv"]))
    stack = LockSet(stack_path, lock_part(lock, lambda name: name != BUILT), source)
    built = LockSet(
        built_path, lock_part(lock, lambda name: name == BUILT), source, SOURCES, build_environment(ctx), _stale(ctx)
    )
    files = [
        ManagedFile(stack.path, stack.text, "what DeepSpeed and a fine-tuning need, by version and SHA-256"),
        ManagedFile(built.path, built.text, "DeepSpeed's source by version and SHA-256"),
    ]
    packages = list(ctx.distribution["deepspeed_packages"])
    changes = [
        Change("package", name, "not installed", "the distribution's", "what compiles DeepSpeed's ops")
        for name in ctx.missing(packages)
    ]
    locks = []
    for wanted in (stack, built):
        found, work = plan_lock(ctx, wanted)
        changes += found
        locks.append(work)
    inputs = {
        "missing": ctx.missing(packages),
        # Those that pip has something to do for: the role makes and takes away a folder around them.
        "locks": [lock for lock in locks if lock["reinstall"] or lock["damaged"]],
        "scratch": scratch_path(str(ctx.profile["pytorch_venv"])),
    }
    return Install(changes, inputs, files)


def build_environment(ctx: PlanContext) -> dict[str, str]:
    """Return the variables of DeepSpeed's build. Without a GPU in sight it guesses the architecture wrong."""
    ops = [str(op).lower() for op in ctx.profile["deepspeed_build_ops"]]
    environment = {
        "ROCM_HOME": f"/opt/rocm-{ctx.release['release']}",
        "PYTORCH_ROCM_ARCH": str(ctx.gpu["gfx"]),
        "DS_BUILD_OPS": "1" if "all" in ops else "0",
    }
    if "all" in ops:
        left_out = ctx.catalog.deepspeed("install")["ops_that_do_not_build"]["names"]
        return {**environment, **{f"DS_BUILD_{op.upper()}": "0" for op in left_out}}
    return {**environment, **{f"DS_BUILD_{op.upper()}": "1" for op in ops}}


def _stale(ctx: PlanContext) -> dict[str, tuple[str, str]]:
    """Return DeepSpeed, where its own record says that it was built for something else than is asked for."""
    record = (seen_venv(ctx) or {}).get("deepspeed") or {}
    ops, torch = record.get("ops"), record.get("torch")
    if ops is None:
        return {}
    asked = [str(op).lower() for op in ctx.profile["deepspeed_build_ops"] if op != "all"]
    lacking = [op for op in asked if not ops.get(op)]
    if lacking:
        before = f"built without {', '.join(lacking)}"
        return {BUILT: (before, "deepspeed_build_ops names what is compiled beforehand")}
    wanted = str(ctx.torch_packages.get("torch", ""))
    if any(ops.values()) and torch and not f"{wanted.partition('+')[0]}.".startswith(f"{torch}."):
        return {BUILT: (f"its ops were compiled for torch {torch}", f"torch is {wanted}, which cannot load them")}
    return {}


def install_refusals(ctx: PlanContext) -> list[Refusal]:
    """Return what is wrong with DeepSpeed's lock, before anything is changed."""
    option, path = "deepspeed_lock_file", ctx.profile["deepspeed_lock_file"]
    if ctx.deepspeed_lock is None:
        unreadable = f"{path} is no readable text on the controller"
        return [lock_refusal(option, unreadable, "the lock of DeepSpeed and its stack")] if path else []
    version = deepspeed_version(ctx.profile, ctx.release, ctx.catalog)
    wanted = f"a lock with deepspeed=={version} and a --hash for every line, which agrees with pytorch_lock_file"
    pins, torch = lock_pins(ctx.deepspeed_lock), lock_pins(ctx.lock or "")
    seen = [f"deepspeed is {pins.get(BUILT, 'not in the lock')}"] if pins.get(BUILT) != version else []
    if without_hash(ctx.deepspeed_lock):
        seen.append("without --hash: " + ", ".join(without_hash(ctx.deepspeed_lock)))
    seen += [f"the two locks disagree on {both}" for both in conflicts(torch, pins)]
    # Beside the lock of the wheels it would be taken from another index, where it is built for another GPU.
    own = sorted({normalize(name) for name in ctx.torch_packages} & pins.keys() - torch.keys())
    seen += [f"it pins {name}, which belongs into pytorch_lock_file" for name in own]
    return [lock_refusal(option, problem, wanted) for problem in seen]
