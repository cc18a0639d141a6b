# SPDX-License-Identifier: Apache-2.0
"""Check the venv: torch built for ROCm, its wheels as the lock has them, and nothing that swaps them."""

from __future__ import annotations

import collections.abc as c
import re

from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.hardware import Json
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.model import (
    FAIL,
    OK,
    CheckContext,
    Finding,
    skipped,
    unknown,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.registry import check
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.vendor import planned_file
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.wheels import lock_pins, normalize

AREAS = ("python_envs",)
REINSTALL = (
    "Run site.yml, which installs the wheels of the lock again. Use the venv's own pip, which reads the constraints."
)
# Both own the folder triton/; whichever was installed last wins.
TRITONS = ("pytorch-triton-rocm", "pytorch-triton", "triton-rocm", "triton")


def _venv(context: CheckContext) -> Json | None:
    path = str(context.option("pytorch_venv"))
    return next((env for env in context.snapshot["python_envs"] if env["path"] == path), None)


def _versions(venv: Json) -> dict[str, str]:
    """Return the distributions of a venv, normalized name to version."""
    return {normalize(name): str(entry["version"]) for name, entry in (venv.get("distributions") or {}).items()}


def _judgeable(context: CheckContext) -> tuple[Json | None, list[Finding]]:
    """Return the venv, or what to say where there is none to look into."""
    venv = _venv(context)
    if venv is None:
        path = str(context.option("pytorch_venv"))
        return None, [unknown(context.problem(path, "python_envs"), path)]
    if not venv["exists"]:
        return None, [skipped("the venv is not there, see py.venv_present")]
    return venv, []


def version_numbers(version: str) -> tuple[int, ...]:
    """Return (2, 0, 1) of "2.0.1+rocm5.4.2"."""
    found = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(int(part) for part in found.group().split(".")) if found else ()


@check(
    "py.venv_present",
    "The venv is there and has a Python",
    areas=AREAS,
    remedy="Run site.yml, which makes the venv. It needs the distribution's python3-venv.",
)
def venv_present(context: CheckContext) -> c.Iterator[Finding]:
    """Look for the venv of pytorch_venv and its interpreter."""
    path = str(context.option("pytorch_venv"))
    venv = _venv(context)
    if venv is None:
        yield unknown(context.problem(path, "python_envs"), path, path)
    elif not venv["exists"]:
        yield Finding(FAIL, path, "a venv", "absent", f"{path} is not there", path)
    elif venv.get("python") is None:
        yield Finding(FAIL, path, "a venv", "no interpreter", "the venv names no Python", f"{path}/pyvenv.cfg")
    else:
        yield Finding(OK, path, "a venv", f"Python {venv['python']}", "", f"{path}/pyvenv.cfg")


@check("py.torch_is_rocm", "torch is the build for this ROCm release", areas=AREAS, remedy=REINSTALL)
def torch_is_rocm(context: CheckContext) -> c.Iterator[Finding]:
    """Read torch/version.py: hip must be set, and the version must be the release's, local tag included."""
    venv, problems = _judgeable(context)
    yield from problems
    if venv is None:
        return
    own = context.option("pytorch_packages") or {}
    wanted = str(own.get("torch") or context.release["torch"]["packages"]["torch"])
    evidence = f"{venv['path']}: torch/version.py"
    torch = venv.get("torch")
    if torch is None:
        if "torch" in _versions(venv):
            yield unknown("torch is installed, but its version.py could not be read", evidence, "torch", wanted)
        else:
            yield Finding(FAIL, "torch", wanted, "not installed", "torch is not in the venv", evidence)
    elif torch.get("hip") is None:
        kind = f"CUDA {torch['cuda']}" if torch.get("cuda") else "the CPU only"
        reason = f"this torch was built for {kind}, not for ROCm"
        yield Finding(FAIL, "torch", wanted, str(torch["version"]), reason, evidence)
    elif str(torch["version"]) != wanted:
        reason = "torch is for ROCm, but not the build of this release"
        yield Finding(FAIL, "torch", wanted, str(torch["version"]), reason, evidence)
    else:
        yield Finding(OK, "torch", wanted, f"{torch['version']}, hip {torch['hip']}", "", evidence)


@check(
    "py.no_nvidia_wheels",
    "No wheel of NVIDIA's came into the venv",
    areas=AREAS,
    remedy=f"They came with a torch for CUDA. Remove them. {REINSTALL}",
)
def no_nvidia_wheels(context: CheckContext) -> c.Iterator[Finding]:
    """Find distributions named nvidia-*."""
    venv, problems = _judgeable(context)
    yield from problems
    if venv is None:
        return
    found = [f"{name} {version}" for name, version in sorted(_versions(venv).items()) if name.startswith("nvidia-")]
    observed = ", ".join(found[:4]) + (f" and {len(found) - 4} more" if len(found) > 4 else "")
    if found:
        reason = "some pip took a torch for CUDA, or a dependency of one"
        yield Finding(FAIL, found[0].split()[0], "none", observed, reason, str(venv["path"]))
    else:
        yield Finding(OK, "", "none", "none", "", str(venv["path"]))


@check(
    "py.numpy_abi",
    "numpy is of the series that torch was built with",
    areas=AREAS,
    remedy="Install numpy<2 in the venv. import torch only warns; the failure comes at the first conversion.",
)
def numpy_abi(context: CheckContext) -> c.Iterator[Finding]:
    """Require numpy 1 beside a torch before 2.3, which was built with it."""
    venv, problems = _judgeable(context)
    yield from problems
    if venv is None:
        return
    versions = _versions(venv)
    torch, numpy = versions.get("torch"), versions.get("numpy")
    if torch is None:
        yield skipped("torch is not in the venv, see py.torch_is_rocm")
    elif version_numbers(torch) >= (2, 3):
        yield skipped(f"torch {torch} takes numpy 1 and 2")
    elif numpy is None:
        reason = "torch cannot exchange arrays without numpy"
        yield Finding(FAIL, "numpy", "numpy<2", "not installed", reason, str(venv["path"]))
    elif version_numbers(numpy) >= (2,):
        reason = f"torch {torch} was built with numpy 1"
        yield Finding(FAIL, "numpy", "numpy<2", numpy, reason, str(venv["path"]))
    else:
        yield Finding(OK, "numpy", "numpy<2", numpy, "", str(venv["path"]))


@check(
    "py.triton_single_owner",
    "One distribution at most owns the folder triton",
    areas=AREAS,
    remedy=f"Remove the Triton that torch does not ask for, and what asks for it. {REINSTALL}",
)
def triton_single_owner(context: CheckContext) -> c.Iterator[Finding]:
    """Find the distributions that provide triton, who asks for each, and require one at most, built for ROCm."""
    venv, problems = _judgeable(context)
    yield from problems
    if venv is None:
        return
    versions = _versions(venv)
    owners = [name for name in TRITONS if name in versions]
    listed = ", ".join(f"{name} {versions[name]} (asked for by {_asked_by(venv, name)})" for name in owners)
    evidence = str(venv["path"])
    if not owners:
        yield skipped("no Triton is installed")
    elif len(owners) > 1:
        reason = f"all of these own the folder triton, the last installed wins: {listed}"
        yield Finding(FAIL, "triton", "one owner", ", ".join(owners), reason, evidence)
    elif "rocm" not in f"{owners[0]} {versions[owners[0]]}":
        yield Finding(FAIL, "triton", "a build for ROCm", listed, "this Triton is not built for ROCm", evidence)
    else:
        yield Finding(OK, "triton", "one owner", listed, "", evidence)


def _asked_by(venv: Json, wanted: str) -> str:
    names = [
        name
        for name, entry in sorted((venv.get("distributions") or {}).items())
        for requirement in entry.get("requires") or []
        if (found := re.match(r"[A-Za-z0-9._-]+", requirement)) and normalize(found.group()) == wanted
    ]
    return ", ".join(names) or "nobody"


@check("py.pins_held", "Every distribution of the lock is installed in its version", areas=AREAS, remedy=REINSTALL)
def pins_held(context: CheckContext) -> c.Iterator[Finding]:
    """Compare the venv with the constraints that the plan leaves there, which are the lock's versions."""
    venv, problems = _judgeable(context)
    yield from problems
    if venv is None:
        return
    constraints = planned_file(context, f"{venv['path']}/constraints.txt")
    pins = lock_pins(str(constraints["content"])) if constraints else {}
    if not pins:
        yield skipped("the profile names no lock")
        return
    versions = _versions(venv)
    wrong = {name: versions.get(name) for name, version in pins.items() if versions.get(name) != version}
    for name, version in sorted(wrong.items()):
        observed = version or "not installed"
        reason = f"the lock has {name} {pins[name]}"
        yield Finding(FAIL, name, pins[name], observed, reason, f"{venv['path']}/constraints.txt")
    if not wrong:
        yield Finding(OK, f"{len(pins)} distributions", "as locked", "as locked", "", f"{venv['path']}/constraints.txt")
