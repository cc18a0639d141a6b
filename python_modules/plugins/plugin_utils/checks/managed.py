# SPDX-License-Identifier: Apache-2.0
"""Check that nothing is left to do: a fresh plan of the node must be empty."""

from __future__ import annotations

import collections.abc as c

from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.model import (
    FAIL,
    OK,
    CheckContext,
    Finding,
    skipped,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.registry import check


@check(
    "managed.as_planned",
    "Everything that the profile manages is as planned",
    remedy="Run site.yml, which applies the named change. If it comes back, something else changes it too.",
)
def as_planned(context: CheckContext) -> c.Iterator[Finding]:
    """Make a fresh plan of the snapshot: each change that is left, and each refusal, is a failure."""
    root = str(context.snapshot.get("root") or "/")
    if root != "/":
        yield skipped("a captured tree is judged, which nothing is managed on")
        return
    left = 0
    for refusal in context.plan.get("refusals") or []:
        left += 1
        reason = f"{refusal['id']}: the plan refuses this node"
        yield Finding(
            FAIL, refusal["subject"], refusal["wanted"], refusal["seen"], reason, "plan: refusals", refusal["remedy"]
        )
    for step in context.plan.get("steps") or []:
        # These two manage nothing: one asks the mirror, the other's reason is boot.reboot_pending's.
        if step["role"] in ("preflight", "reboot"):
            continue
        for change in step["changes"]:
            left += 1
            evidence = change["subject"] if change["kind"] == "file" else f"plan: {step['role']}"
            reason = f"role {step['role']} would change it: {change['reason']}"
            yield Finding(FAIL, change["subject"], change["after"], change["before"], reason, evidence)
    if not left:
        number = len(context.plan.get("files") or []) + len(context.plan.get("packages") or {})
        yield Finding(OK, f"{number} files and packages", "as planned", "as planned", "", "plan")
