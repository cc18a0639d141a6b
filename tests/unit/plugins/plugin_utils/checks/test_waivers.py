# SPDX-License-Identifier: Apache-2.0
"""A failure that a site has accepted is waived until its day, and never silently."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from support.rows import change
from support.snapshots import node

from ansible_collections.instinct.bringup.plugins.plugin_utils.checks import run_checks, verdict
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.model import CheckResult
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.waivers import apply_waivers, waiver_problems
from ansible_collections.instinct.bringup.plugins.plugin_utils.report.summary import summary_table, verdict_reason

TODAY = datetime.date(2026, 12, 1)
WAIVER = {
    "check": "pcie.link_width", "subject": "0000:03:00.0", "until": "2027-03-31", "reason": "riser ordered",
    "owner": "ops@example.org",
}  # fmt: skip


def narrow(**waiver: Any) -> list[CheckResult]:
    made = node(change=change("pci/gpus/0/path/1/link/current_width", 8))
    return apply_waivers(run_checks(made.context()), [{**WAIVER, **waiver}], TODAY)


def widths(results: list[CheckResult]) -> list[CheckResult]:
    return [result for result in results if result.id == "pcie.link_width" and result.outcome != "ok"]


def test_a_waived_failure_no_longer_fails_the_node_and_says_why() -> None:
    results = narrow()
    (width,) = widths(results)
    assert width.outcome == "waived"
    assert width.reason.startswith(
        "waived until 2027-03-31 by ops@example.org: riser ordered. Without it: 0000:03:00.0"
    )
    assert verdict(results) == "pass"
    checks = [result.as_dict() for result in results]
    assert ", 1 waived," in verdict_reason("pass", checks)
    table = summary_table(
        {"nodes": {"gpu01": {"verdict": "pass", "reason": "", "checks": checks}}, "summary": {"nodes": 1, "pass": 1}}
    )
    assert "waived pcie.link_width 0000:03:00.0: x8" in table


@pytest.mark.parametrize("until", ["2026-12-01", datetime.date(2026, 12, 1), "2026-12-01T00:00:00"], ids=str)
def test_the_day_itself_counts(until: object) -> None:
    assert widths(narrow(until=until))[0].outcome == "waived"


def test_a_day_that_is_past_fails_again_and_names_the_owner() -> None:
    (width,) = widths(narrow(until="2026-11-30"))
    assert width.outcome == "fail"
    assert width.reason.endswith("the waiver of ops@example.org (riser ordered) ran out on 2026-11-30")


@pytest.mark.parametrize(
    ("subject", "outcome"), [("0000:*", "waived"), (None, "waived"), ("0000:43:00.0", "fail"), ("", "waived")]
)
def test_subjects(subject: str | None, outcome: str) -> None:
    assert widths(narrow(subject=subject))[0].outcome == outcome


def test_another_check_and_another_outcome_are_left_alone() -> None:
    assert widths(narrow(check="xgmi.hive"))[0].outcome == "fail"
    made = node(change=change("kfd", None))
    results = apply_waivers(run_checks(made.context()), [{**WAIVER, "check": "xgmi.hive", "subject": None}], TODAY)
    assert [result.outcome for result in results if result.id == "xgmi.hive"] == ["unknown"]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ([WAIVER], None),
        ([], None),
        (None, None),
        ("pcie.link_width", "must be a list"),
        (["pcie.link_width"], "must be such as"),
        ([{**WAIVER, "until": "soon"}], "must be a day"),
        ([{**WAIVER, "until": None}], "has no until"),
        ([{**WAIVER, "owner": ""}], "has no owner"),
        ([{**WAIVER, "check": "pcie.width"}], "no check 'pcie.width'"),
        ([{**WAIVER, "untill": "2027-01-01"}], "unknown key untill"),
    ],
    ids=str,
)
def test_what_is_wrong_with_a_waiver_is_said(given: object, says: str | None) -> None:
    problems = waiver_problems(given)
    assert (not problems) if says is None else any(says in problem for problem in problems)
