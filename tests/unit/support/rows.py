# SPDX-License-Identifier: Apache-2.0
"""Tables for the tests of checks: a row breaks one thing of a healthy node and says what the check makes of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from support.machines import Json
from support.snapshots import Node, node

from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.model import OUTCOMES, CheckResult


@dataclasses.dataclass(frozen=True)
class Row:
    """What a check must say of a node.

    outcome: the worst of its results. says: words of that result's reason. change: breaks the snapshot, plan the plan.
    The other texts are compared where they are not None.
    """

    outcome: str
    says: str = ""
    change: Callable[[Json], object] | None = None
    plan: Callable[[Json], object] | None = None
    machine: str = "mi210-8gpu-2hives"
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    subject: str | None = None
    expected: str | None = None
    observed: str | None = None
    evidence: str | None = None
    required: bool | None = None

    def node(self) -> Node:
        made = node(self.machine, self.change, **self.options)
        if self.plan is not None:
            self.plan(made.plan)
        return made

    def assert_holds(self, check_id: str) -> None:
        results = self.node().check(check_id)
        result = worst(results)
        assert result.outcome == self.outcome, results
        assert self.says in result.reason
        for name in ("subject", "expected", "observed", "evidence", "required"):
            if getattr(self, name) is not None:
                assert getattr(result, name) == getattr(self, name)
        assert result.remedy
        if result.outcome in ("fail", "warn", "unknown", "skipped"):
            assert result.reason
        if result.outcome == "fail":
            assert result.observed
            assert result.evidence


def worst(results: list[CheckResult]) -> CheckResult:
    """Return the result that a report shows first."""
    return min(results, key=lambda result: OUTCOMES.index(result.outcome))


def each(rows: Mapping[str, Row]) -> pytest.MarkDecorator:
    """Return the mark that runs a test once for each row, named by what is the case."""
    return pytest.mark.parametrize("row", rows.values(), ids=rows)


def change(path: str, value: Any) -> Callable[[Json], None]:
    """Return a change that sets one value of the snapshot; a number in the path is a position in a list."""

    def apply(snapshot: Json) -> None:
        *parents, last = path.split("/")
        place: Any = snapshot
        for key in parents:
            place = place[int(key)] if isinstance(place, list) else place[key]
        place[int(last) if isinstance(place, list) else last] = value

    return apply


def changes(*several: Callable[[Json], object]) -> Callable[[Json], None]:
    """Return one change made of several."""

    def apply(snapshot: Json) -> None:
        for one in several:
            one(snapshot)

    return apply


def hole(path: str, file: str, message: str = "Permission denied (EACCES)") -> Callable[[Json], None]:
    """Return a change that takes a value away and says that its file could not be read."""
    area = path.partition("/")[0]

    def note(snapshot: Json) -> None:
        snapshot["problems"].append({"area": area, "path": file, "message": message})

    return changes(change(path, None), note)


def not_held(*areas: str) -> Callable[[Json], None]:
    """Return a change to a captured tree that does not hold some areas."""

    def apply(snapshot: Json) -> None:
        snapshot["root"] = "/captures/made"
        for area in areas:
            snapshot["skipped"][area] = "this tree does not hold it"
            if "." not in area:
                snapshot[area] = None

    return apply
