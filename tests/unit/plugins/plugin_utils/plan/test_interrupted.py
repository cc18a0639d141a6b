# SPDX-License-Identifier: Apache-2.0
"""What an interrupted run left is told in the plan before it is finished."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.text import plan_text

from . import made

BEGUN = {"runs": [{"run": "RUN-1", "state": "begun", "packages": [], "steps": ["rocm"]}], "holds": []}


def found(plan: dict[str, t.Any]) -> dict[str, str]:
    """Return what the plan says that it finishes first."""
    changes = [change for step in plan["steps"] if step["role"] == "preflight" for change in step["changes"]]
    return {change["subject"]: change["before"] for change in changes if change["kind"] in ("journal", "dpkg")}


def test_n01_the_packages_that_dpkg_stopped_in_are_named() -> None:
    snapshot = made.bare()
    snapshot["journal"] = BEGUN
    snapshot["dpkg"]["packages"] = {
        "openmpi-bin": made.package("4.1.2", "iU "),
        "rccl": made.package("2.13.4.50402-104~22.04", "iHR"),
        # Of another release: it goes in the purge, in whatever state it is.
        "hipcub": made.package("2.11.0.50200-65~22.04", "iF "),
    }
    plan = made.plan(snapshot)
    assert found(plan) == {"RUN-1": "interrupted", "openmpi-bin": "unpacked", "rccl": "half installed"}
    preflight = plan["steps"][0]["inputs"]
    assert (preflight["settle"], preflight["going"], preflight["closes"]) == (True, ["hipcub"], ["RUN-1"])


def test_a_dpkg_that_was_killed_is_finished_although_every_package_is_whole() -> None:
    snapshot = made.bare()
    snapshot["dpkg"]["interrupted"] = True
    plan = made.plan(snapshot)
    assert found(plan) == {"dpkg": "stopped in the middle of its work"}
    assert plan["steps"][0]["inputs"]["settle"]


def test_a_whole_node_has_nothing_to_finish() -> None:
    plan = made.plan(made.bare())
    assert found(plan) == {}
    assert not plan["steps"][0]["inputs"]["settle"]


def test_n02_what_was_waited_for_is_told() -> None:
    snapshot = made.bare()
    said = "/var/lib/dpkg/lock-frontend is held by unattended-upgr (pid 24459)"
    snapshot["waited"] = {"waited_for": [said], "left": []}
    plan = made.plan(snapshot)
    assert plan["refusals"] == []
    assert f"note: waited for this to end: {said}" in plan_text(plan)


@pytest.mark.parametrize("converged", [False, True], ids=["something to do", "nothing to do"])
def test_n02_what_does_not_end_is_a_refusal_where_something_would_change(converged: bool) -> None:
    snapshot = made.converged() if converged else made.bare()
    said = "/var/lib/dpkg/lock-frontend is held by unattended-upgr (pid 24459)"
    snapshot["waited"] = {"waited_for": [said], "left": [said]}
    refused = {refusal["id"]: refusal["seen"] for refusal in made.plan(snapshot)["refusals"]}
    assert refused == ({} if converged else {"node.busy": f"still at work after 600 s: {said}"})


def test_what_pip_left_beside_the_wheels_is_taken_away() -> None:
    snapshot = made.converged()
    scratch = "/opt/instinct-bringup/venv/.scratch"
    snapshot["watch"][scratch] = {"type": "directory", "mode": "0700", "owner": "root"}
    (step,) = [step for step in made.plan(snapshot)["steps"] if step["role"] == "pytorch"]
    assert [(change["kind"], change["subject"], change["after"]) for change in step["changes"]] == [
        ("scratch", scratch, "absent")
    ]
    assert step["inputs"]["scratch"] == scratch
