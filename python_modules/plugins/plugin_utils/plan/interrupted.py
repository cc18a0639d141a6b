# SPDX-License-Identifier: Apache-2.0
"""Say what an interrupted run, or another process that was at work, left on the node, and what becomes of it."""

from __future__ import annotations

import typing as t

from ansible_collections.instinct.bringup.plugins.plugin_utils.managed import Change
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.model import PlanContext, Refusal

# The second letter of dpkg's state for packages that are wholly there or wholly gone.
_WHOLE = ("i", "c", "n")
_STATES = {
    "H": "half installed",
    "U": "unpacked",
    "F": "half configured",
    "W": "waiting for a trigger",
    "t": "waiting for a trigger",
}


def interrupted_runs(ctx: PlanContext) -> list[str]:
    """Return the runs that have begun on the node and not finished."""
    return [str(run["run"]) for run in ctx.area("journal").get("runs") or [] if run["state"] == "begun"]


def unfinished_packages(ctx: PlanContext) -> dict[str, str]:
    """Return the packages in which dpkg stopped, and its state of each."""
    return {name: str(row["status"]) for name, row in ctx.packages.items() if row["status"][1:2] not in _WHOLE}


def needs_settling(ctx: PlanContext) -> bool:
    """Say whether dpkg or apt has something to finish before anything else is asked of them."""
    return bool(interrupted_runs(ctx) or unfinished_packages(ctx) or ctx.area("dpkg").get("interrupted"))


def found_changes(ctx: PlanContext, going: t.Collection[str]) -> list[Change]:
    """Return what is finished first. going: packages that are purged next, which may stay half-done until then."""
    changes = [
        Change("journal", run, "interrupted", "finished by this run", "what it left half-done is finished first")
        for run in interrupted_runs(ctx)
    ]
    if ctx.area("dpkg").get("interrupted"):
        reason = "apt refuses any work before dpkg has looked at what it was doing"
        changes.append(Change("dpkg", "dpkg", "stopped in the middle of its work", "finished", reason))
    changes += [
        Change("dpkg", name, _STATES.get(status[1:2], status.strip()), "finished", "dpkg stopped in the middle of it")
        for name, status in sorted(unfinished_packages(ctx).items())
        if name not in going
    ]
    return changes


def waited_notes(ctx: PlanContext) -> list[str]:
    """Return what the run waited for before it looked at the node."""
    return [f"waited for this to end: {sentence}" for sentence in ctx.area("waited").get("waited_for") or []]


def busy_refusals(ctx: PlanContext) -> list[Refusal]:
    """Refuse a node on which something is still at work after the wait: a plan of it would be stale."""
    left = ctx.area("waited").get("left") or []
    if not left:
        return []
    return [
        Refusal(
            "node.busy",
            "the node",
            f"still at work after 600 s: {'; '.join(left)}",
            "nothing else that changes packages",
            "let it end, or look at what it waits for, then run again; do not remove a lock file",
        )
    ]
