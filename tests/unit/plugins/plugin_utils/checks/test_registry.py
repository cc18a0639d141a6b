# SPDX-License-Identifier: Apache-2.0
"""The registry: ids, verdicts, and what a broken check costs."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from support.machines import MACHINES
from support.rows import not_held
from support.snapshots import node

from ansible_collections.instinct.bringup.plugins.plugin_utils.checks import CHECKS, check, run_checks, verdict
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.model import CheckContext, CheckResult, Finding
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.registry import Check

AREAS = (
    "os", "kernel", "numa", "pci", "modules", "dkms", "devices", "users", "dpkg", "apt", "opt", "alternatives",
    "python_envs", "watch", "environment", "system", "cpu", "cpu_power", "secure_boot", "sysctl", "shm", "services", "firmware_files",
    "kernel_log", "slurm", "launch", "mpi", "net", "iommu",
)  # fmt: skip


def result(outcome: str, required: bool = True) -> CheckResult:
    return CheckResult("a.b", outcome, required, "", "", "", "", "", "")


@pytest.mark.parametrize("machine", MACHINES)
def test_a_healthy_node_passes(machine: str) -> None:
    results = run_checks(node(machine).context())
    assert {entry.outcome for entry in results} <= {"ok", "skipped"}
    assert verdict(results) == "pass"
    assert {entry.id for entry in results} == set(CHECKS)


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        ([result("ok"), result("skipped"), result("warn"), result("waived")], "pass"),
        ([result("fail"), result("unknown")], "fail"),
        ([result("fail", required=False)], "fail"),
        ([result("unknown")], "unknown"),
        ([result("unknown", required=False)], "pass"),
        ([], "pass"),
    ],
    ids=["pass", "fail before unknown", "any fail", "required unknown", "other unknown", "none"],
)
def test_verdict(outcomes: list[CheckResult], expected: str) -> None:
    assert verdict(outcomes) == expected


def test_a_captured_tree_that_holds_kfd_only_is_judged_by_that() -> None:
    made = node(change=not_held(*AREAS))
    results = run_checks(made.context())
    assert {entry.id for entry in results if entry.outcome == "ok"} == {
        "gpu.count",
        "xgmi.hive",
        "xgmi.matrix_expected",
    }
    assert {entry.outcome for entry in results} == {"ok", "skipped"}
    assert all(entry.reason for entry in results if entry.outcome == "skipped")
    assert verdict(results) == "pass"


@pytest.mark.parametrize("area", AREAS)
def test_an_area_that_could_not_be_read_is_never_ok(area: str) -> None:
    made = node()
    made.snapshot[area] = None
    made.snapshot["problems"] = [{"area": area, "path": "", "message": "the reader broke"}]
    reading = [check_id for check_id, entry in CHECKS.items() if area in {name.split(".")[0] for name in entry.areas}]
    for entry in run_checks(made.context(), only=reading):
        assert entry.outcome in ("unknown", "skipped"), entry


def test_a_check_that_breaks_is_unknown_and_costs_no_other() -> None:
    def broken(context: CheckContext) -> Iterator[Finding]:
        yield Finding("ok")
        raise KeyError("odd")

    entry = Check("a.b", "title", True, "remedy", (), "text", broken)
    results = entry.run(node().context())
    assert [(one.outcome, one.reason) for one in results] == [
        ("unknown", "the check could not judge this snapshot: KeyError: 'odd'")
    ]


def test_an_id_is_taken_once() -> None:
    with pytest.raises(ValueError, match="registered twice"):
        check("gpu.count", "again", remedy="none")(CHECKS["gpu.count"].function)


def test_a_check_says_what_it_does() -> None:
    with pytest.raises(ValueError, match="no docstring"):
        check("a.undocumented", "title", remedy="none")(lambda context: [])


@pytest.mark.parametrize("entry", CHECKS.values(), ids=CHECKS)
def test_every_check_has_an_id_a_title_and_a_remedy(entry: Check) -> None:
    assert re.fullmatch(r"[a-z]+\.[a-z_]+", entry.id)
    assert entry.title[0].isupper() or entry.title.startswith(("apt", "numpy", "torch", "/"))
    assert not entry.title.endswith(".")
    assert len(entry.remedy) > 20
    assert entry.remedy.endswith((".", "!"))


def test_results_come_in_the_order_of_ids_and_only_those_asked_for() -> None:
    asked = {"xgmi.hive", "gpu.count"}
    results = run_checks(node().context(), only=asked)
    assert [entry.id for entry in results] == sorted(entry.id for entry in results)
    assert {entry.id for entry in results} == asked
