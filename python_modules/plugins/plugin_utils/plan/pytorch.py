# SPDX-License-Identifier: Apache-2.0
"""Plan the venv: wheels by the lock, and constraints that keep a later pip from swapping them."""

from __future__ import annotations

import hashlib
import typing as t

from ansible_collections.instinct.bringup.plugins.plugin_utils.managed import Change, ManagedFile
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.model import PlanContext, Refusal, Step
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.wheels import (
    LockSet,
    index_arguments,
    lock_pins,
    lock_refusal,
    normalize,
    plan_lock,
    scratch_path,
    seen_venv,
    without_hash,
)


def index_url(ctx: PlanContext) -> str:
    """Return the one index: merged with another, pip would take the highest number of both."""
    given = str(ctx.profile["pytorch_index_url"])
    base = str(ctx.profile["pytorch_base_url"]).rstrip("/")
    return given.rstrip("/") if given else f"{base}/{ctx.release['torch']['index_tag']}"


def plan_pytorch(ctx: PlanContext) -> Step:
    """Return the step of role pytorch."""
    venv, lock = str(ctx.profile["pytorch_venv"]), ctx.lock or ""
    files = _files(ctx, venv, lock)
    seen = seen_venv(ctx)
    changes: list[Change] = []
    if not seen or not seen["exists"]:
        changes.append(Change("venv", venv, "absent", "a venv", "the system's Python belongs to the distribution"))
    changes += ctx.file_changes(files)
    wheels, wheel_inputs = plan_lock(ctx, LockSet(f"{venv}/requirements.lock", lock, _source(ctx, venv)))
    changes += wheels
    scratch = scratch_path(venv)
    if (ctx.watched(scratch) or {}).get("type", "absent") != "absent":
        changes.append(Change("scratch", scratch, "present", "absent", "a run that was cut left it"))
    packages = list(ctx.distribution["venv_packages"])
    changes += [
        Change("package", name, "not installed", "the distribution's", "what makes a venv and its pip")
        for name in ctx.missing(packages)
    ]
    inputs = {
        **wheel_inputs,
        "files": [file.as_input() for file in files],
        "wheelhouse": _wheelhouse(ctx, venv, lock) if wheels else None,
        "packages": packages,
        "missing": ctx.missing(packages),
    }
    return Step("pytorch", tuple(changes), inputs, tuple(files))


def _source(ctx: PlanContext, venv: str) -> str:
    """Return where pip on the node finds the wheels: in the one index, or in what the controller has copied."""
    if ctx.profile["pytorch_wheelhouse"]:
        return f"--no-index --find-links {scratch_path(venv)}/wheelhouse"
    return " ".join(index_arguments(index_url(ctx)))


def _wheelhouse(ctx: PlanContext, venv: str, lock: str) -> dict[str, t.Any] | None:
    """Return what the controller fetches once and copies to each node, None where the nodes fetch themselves.

    One folder a lock and Python: nodes of another distribution need other files.
    """
    if not ctx.profile["pytorch_wheelhouse"]:
        return None
    tag = str(ctx.area("python").get("tag") or "")
    digest = hashlib.sha256(f"{tag}\n{lock}".encode()).hexdigest()[:16]
    return {
        "folder": f"{ctx.profile['pytorch_wheelhouse']}/{digest}",
        "lock": lock,
        "arguments": [
            *index_arguments(index_url(ctx)),
            "--python-version",
            f"{tag[2:3]}.{tag[3:]}",
            "--implementation",
            "cp",
        ],
        "dest": f"{scratch_path(venv)}/wheelhouse",
    }


def pytorch_refusals(ctx: PlanContext) -> list[Refusal]:
    """Return what is wrong with the lock or the interpreter, before anything is changed."""
    torch = ctx.release["torch"]
    tag = ctx.area("python").get("tag")
    wanted = {normalize(name): version for name, version in ctx.torch_packages.items()}
    if ctx.lock is None:
        path = ctx.profile["pytorch_lock_file"]
        seen = f"{path} is no readable text on the controller" if path else "no pytorch_lock_file is set"
        return [_lock_refusal(seen, wanted)]
    pins = lock_pins(ctx.lock)
    refusals = [
        _lock_refusal(f"{name} is {pins.get(name, 'not in the lock')}", wanted)
        for name, version in wanted.items()
        if pins.get(name) != version
    ]
    own = bool(ctx.profile["pytorch_packages"])
    if not own and "numpy" in pins and torch["numpy"] == "<2" and int(pins["numpy"].split(".")[0]) >= 2:
        refusals.append(
            _lock_refusal(f"numpy is {pins['numpy']}, torch {wanted['torch']} was built for numpy 1", wanted)
        )
    if without_hash(ctx.lock):
        refusals.append(_lock_refusal("without --hash: " + ", ".join(without_hash(ctx.lock)), wanted))
    if not own and torch["pythons"] and tag not in torch["pythons"]:
        refusals.append(
            Refusal(
                "py.abi_supported",
                ctx.area("python")["executable"],
                f"Python {ctx.snapshot['python']['version']} ({tag})",
                "one of " + ", ".join(torch["pythons"]),
                f"the index {torch['index_tag']} has no wheel for {tag}; use a distribution with one of those Pythons",
            )
        )
    return refusals


def _lock_refusal(seen: str, wanted: dict[str, str]) -> Refusal:
    pins = ", ".join(f"{name}=={version}" for name, version in wanted.items())
    return lock_refusal("pytorch_lock_file", seen, f"a lock with {pins} and a --hash for every line")


def _files(ctx: PlanContext, venv: str, lock: str) -> list[ManagedFile]:
    # One file for both locks: pip reads it whichever of the two it installs.
    pins = {**lock_pins(ctx.deepspeed_lock or ""), **lock_pins(lock)}
    constraints = "".join(f"{name}=={version}\n" for name, version in sorted(pins.items()))
    config = f"[global]\nconstraint = {venv}/constraints.txt\n"
    return [
        ManagedFile(f"{venv}/requirements.lock", lock, "every wheel by version and SHA-256"),
        ManagedFile(f"{venv}/constraints.txt", constraints, "a later pip in this venv keeps these versions"),
        ManagedFile(f"{venv}/pip.conf", config, "pip of this venv reads the constraints without being asked"),
    ]
