# SPDX-License-Identifier: Apache-2.0
"""Say what of a node is kept in a manifest before its plan is applied."""

from __future__ import annotations

import typing as t

from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.model import PlanContext, Step


def keep_inputs(ctx: PlanContext, changed: t.Iterable[Step]) -> dict[str, t.Any]:
    """Return what the module state_manifest takes: everything that the steps write, remove or make."""
    steps = list(changed)
    files = {change.subject for step in steps for change in step.changes if change.kind in ("file", "key")}
    # A tree of dkms whose package goes is made again with the package; an orphan has nobody who would.
    orphans = [
        f"/var/lib/dkms/{tree['module']}/{tree['version']}"
        for tree in ctx.area("dkms").get("trees") or []
        if not tree["has_source"]
    ]
    trees = {tree for step in steps if step.role == "rocm_purge" for tree in step.inputs["trees"]}
    packages = {
        change.subject
        for step in steps
        for change in step.changes
        if change.kind == "package" and ctx.installed(change.subject)
    }
    return {
        "run_id": ctx.run_id,
        "files": sorted(files),
        "trees": sorted(trees | set(orphans)),
        "made": [change.subject for step in steps for change in step.changes if change.kind == "venv"],
        "packages": sorted(packages),
        "users": list(ctx.profile["bringup_users"]),
    }
