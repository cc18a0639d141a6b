# SPDX-License-Identifier: Apache-2.0
"""Plan what is asked before anything is changed: the sources, the package manager, what an interrupted run left."""

from __future__ import annotations

import typing as t

from ansible_collections.instinct.bringup.plugins.plugin_utils.managed import Change
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan import repositories
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.interrupted import (
    found_changes,
    interrupted_runs,
    needs_settling,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.keep import keep_inputs
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.kernel import victims
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.model import PlanContext, Step
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.purge import simulation_inputs
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.pytorch import index_url
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.rocm import fingerprint
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.wheels import lock_pins


def plan_preflight(ctx: PlanContext, changed: list[Step]) -> Step:
    """Return the probe of what the steps will fetch: only what they fetch is asked for."""
    by_role = {step.role: step for step in changed}
    probe: dict[str, t.Any] = {
        "repositories": [],
        "urls": [],
        "wheel_index": None,
        "timeout": ctx.profile["preflight_timeout"],
    }
    changes = []
    if {"rocm", "rocm_purge"} & set(by_role):
        probe["key_url"], probe["key_fingerprint"] = repositories.key_url(ctx), fingerprint(ctx)
        probe["repositories"] = [
            {"name": "ROCm", "url": repositories.apt_url(ctx), "suite": ctx.codename},
            {"name": "amdgpu driver", "url": repositories.driver_url(ctx), "suite": ctx.codename},
        ]
        changes.append(_probe_change("repositories and their signatures", repositories.apt_url(ctx)))
        if ctx.profile["rocm_method"] == "amdgpu_install":
            probe["urls"] = [
                {
                    "name": "amdgpu-install",
                    "url": repositories.installer_url(ctx),
                    "sha256": ctx.profile["rocm_installer_sha256"],
                }
            ]
    wheels = [change for step in changed if step.role == "pytorch" for change in step.changes if change.kind == "wheel"]
    if ctx.profile["pytorch_wheelhouse"]:
        # The controller fetches them, once for all nodes; a node need not reach the index at all.
        wheels = []
    if wheels:
        pins = lock_pins(ctx.lock or "")
        probe["wheel_index"] = {
            "url": index_url(ctx),
            "tag": ctx.area("python").get("tag"),
            "wheels": [{"name": change.subject, "version": pins[change.subject]} for change in wheels],
        }
        changes.append(_probe_change("wheels for this Python", index_url(ctx)))
    index = str(ctx.profile["deepspeed_index_url"]).rstrip("/")
    if index and "deepspeed" in by_role and any(change.kind == "wheel" for change in by_role["deepspeed"].changes):
        probe["urls"].append({"name": "DeepSpeed", "url": f"{index}/deepspeed/"})
        changes.append(_probe_change("DeepSpeed's index", index))
    packages = sorted({change.subject for step in changed for change in step.changes if change.kind == "package"})
    purge = by_role.get("rocm_purge")
    # What need not be whole before the purge: it goes, or it can be whole only after it.
    going = [*purge.inputs["packages"], *victims(ctx, purge.inputs["packages"])] if purge else []
    changes += found_changes(ctx, going)
    if going:
        subject = "the package manager's simulation of the purge"
        changes.append(Change("probe", subject, "not asked", "takes nothing beyond the list", "before anything goes"))
    inputs = {
        "purge": simulation_inputs(purge, needs_settling(ctx)) if purge else None,
        "keep": keep_inputs(ctx, changed),
        "probe": probe if probe["repositories"] or probe["urls"] or wheels else None,
        "settle": needs_settling(ctx),
        "going": going,
        # Unattended upgrades would take apt's lock between two of our calls, or move what is being installed.
        "pause": any(change.kind == "package" for step in changed for change in step.changes),
        "closes": interrupted_runs(ctx),
        "journal": {"run_id": ctx.run_id, "steps": [step.role for step in changed], "packages": packages},
    }
    return Step("preflight", tuple(changes), inputs)


def _probe_change(subject: str, url: str) -> Change:
    return Change("probe", subject, "not asked", "answers and verifies", f"{url}, before anything is changed")
