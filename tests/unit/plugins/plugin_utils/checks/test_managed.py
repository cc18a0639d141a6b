# SPDX-License-Identifier: Apache-2.0
"""The check of managed.py: each managed thing tampered with is named."""

from __future__ import annotations

import pytest
from support.rows import Row, change, each, not_held
from support.snapshots import node

REFUSAL = {
    "id": "gpu.in_use", "subject": "/dev/kfd", "seen": "held open by python3", "wanted": "no process", "remedy": "stop it",
}  # fmt: skip


@each(
    {
        "nothing left": Row("ok", observed="as planned"),
        "a refusal": Row(
            "fail", "gpu.in_use", plan=lambda plan: plan.update(refusals=[REFUSAL]), observed="held open by python3"
        ),
        "a forced plan without changes": Row(
            "ok", plan=lambda plan: plan.update(steps=[{"role": "rccl", "changes": []}])
        ),
        "a captured tree": Row("skipped", "captured tree", not_held("watch")),
    }
)
def test_managed_as_planned(row: Row) -> None:
    row.assert_holds("managed.as_planned")


@pytest.mark.parametrize("number", range(8))
def test_a_managed_file_that_somebody_changed_is_named(number: int) -> None:
    made = node()
    path = made.plan["files"][number]["path"]
    made.snapshot["watch"][path].update(sha256="0" * 64, text="tampered")
    made.replan()
    results = made.check("managed.as_planned")
    assert [(result.outcome, result.subject, result.evidence) for result in results] == [("fail", path, path)]
    assert "other content" in results[0].observed


def test_the_probe_and_the_reboot_of_a_plan_are_not_things_that_are_managed() -> None:
    made = node(change=change("modules/amdgpu/version", "5.16.9"), bringup_reboot=True)
    made.replan()
    assert [step["role"] for step in made.plan["steps"]] == ["reboot"]
    assert made.check("managed.as_planned")[0].outcome == "ok"
    assert made.check("boot.reboot_pending")[0].outcome == "fail"
