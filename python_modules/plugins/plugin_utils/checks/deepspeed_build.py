# SPDX-License-Identifier: Apache-2.0
"""Check DeepSpeed in the venv: its version, what its ops were compiled for, and whether they load."""

from __future__ import annotations

import collections.abc as c

from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.model import (
    FAIL,
    OK,
    CheckContext,
    Finding,
    skipped,
    unknown,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.registry import check
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.errors import ConfigError
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.version import deepspeed_version
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.wheels import normalize


@check(
    "ds.version_pair",
    "DeepSpeed is the one of the profile, and its compiled ops are for the torch that is there",
    areas=("python_envs",),
    remedy="Run site.yml with deepspeed_lock_file, which builds the DeepSpeed of the lock against the venv's torch.",
)
def version_pair(context: CheckContext) -> c.Iterator[Finding]:
    """Compare DeepSpeed with deepspeed_version or the catalog's pair, and the torch of its build with the venv's."""
    path = str(context.option("pytorch_venv"))
    venv = next((env for env in context.snapshot["python_envs"] if env["path"] == path), None)
    if venv is None:
        yield unknown(context.problem(path, "python_envs"), path, "deepspeed")
        return
    versions = {normalize(name): str(entry["version"]) for name, entry in (venv["distributions"] or {}).items()}
    seen, asked = versions.get("deepspeed"), bool(context.option("deepspeed_lock_file"))
    if seen is None and not asked:
        yield skipped("DeepSpeed is not installed, and deepspeed_lock_file asks for none")
        return
    try:
        wanted = deepspeed_version(context.profile, context.release, context.catalog)
    except ConfigError as error:
        yield skipped(f"no DeepSpeed is known for this release: {error}")
        return
    if seen is None:
        yield Finding(FAIL, "deepspeed", wanted, "not installed", "deepspeed_lock_file asks for it", path)
    elif seen.partition("+")[0] != wanted:
        yield Finding(FAIL, "deepspeed", wanted, seen, "the configs were made for another version", path)
    else:
        yield Finding(OK, "deepspeed", wanted, seen, "", path)
    record, torch = venv.get("deepspeed") or {}, versions.get("torch")
    built, compiled = record.get("torch"), sorted(op for op, there in (record.get("ops") or {}).items() if there)
    if built and torch and compiled and not f"{torch.partition('+')[0]}.".startswith(f"{built}."):
        reason = f"{', '.join(compiled)} cannot be loaded beside this torch"
        yield Finding(FAIL, "compiled ops", f"for torch {torch}", f"for torch {built}", reason, path)


@check(
    "ds.ops_probe",
    "DeepSpeed's ops compile and load as the job's user",
    required=False,
    areas=("deepspeed_ops",),
    remedy=(
        "The first line of the error says what lacks: hipcc and the headers of this ROCm (rocm_usecases with hiplibsdk), "
        "g++, Python's headers, ninja in the venv, or a folder that the user may write."
    ),
)
def ops_probe(context: CheckContext) -> c.Iterator[Finding]:
    """Read what fused_adam and cpu_adam did when they were compiled in a clean cache, and name the first error."""
    if not context.option("deepspeed_probe_ops"):
        yield skipped("not asked for; deepspeed_probe_ops compiles the ops on the node, which takes minutes")
        return
    seen = context.snapshot["deepspeed_ops"]
    if seen is None:
        yield unknown(context.problem("", "deepspeed_ops"), "deepspeed_ops", "deepspeed")
        return
    evidence = f"DeepSpeed {seen['version']}, {seen['gpus']} GPUs seen by torch"
    for name, op in sorted(seen["ops"].items()):
        if op["loads"]:
            yield Finding(OK, name, "loads", "loads", "", evidence)
        elif name == "fused_adam" and not seen["gpus"]:
            yield skipped("fused_adam runs on a GPU, and torch sees none here")
        else:
            yield Finding(FAIL, name, "loads", "does not load", str(op["error"]), evidence)
