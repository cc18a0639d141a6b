# SPDX-License-Identifier: Apache-2.0
"""results.json: the contract that others read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.instinct.bringup.plugins.plugin_utils.report.results import (
    merge_runs,
    node_entry,
    results_of,
    write_report,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.report.run_folder import (
    RunFolder,
    create_run_folder,
    open_run_folder,
    write_node,
)

CHECK = {
    "id": "pcie.link_width", "outcome": "fail", "required": True, "subject": "0000:23:00.0", "expected": "x16",
    "observed": "x8", "reason": "narrow", "remedy": "Reseat.",
    "evidence": "/sys/bus/pci/devices/0000:21:00.0/current_link_width",
}  # fmt: skip


def run(path: Path, hosts: list[str], **options: Any) -> RunFolder:
    return create_run_folder(path, hosts, **{"verb": "site", "rocm_release": "5.4.2", **options})


def test_shape(tmp_path: Path) -> None:
    folder = run(tmp_path, ["gpu02", "gpu01"])
    change = {"kind": "file", "subject": "/etc/x", "before": "absent", "after": "x" * 900, "reason": "wanted"}
    step = {"role": "rocm", "reasons": ["wanted"], "changes": [change]}
    write_node(
        folder.path, "gpu01", {"verdict": "fail", "reason": "1 failed", "plan": {"steps": [step]}, "checks": [CHECK]}
    )
    write_node(folder.path, "gpu02", {"verdict": "pass"})
    folder.finish()
    results = results_of(open_run_folder(folder.path))
    assert list(results) == ["schema", "generated", "complete", "rocm_release", "summary", "nodes"]
    assert (results["schema"], results["complete"], results["rocm_release"]) == (1, True, "5.4.2")
    assert results["summary"] == {
        "nodes": 2, "pass": 1, "fail": 1, "unknown": 0, "unreachable": 0, "refused": 0, "apply_failed": 0, "untouched": 0,
    }  # fmt: skip
    assert list(results["nodes"]) == ["gpu01", "gpu02"]
    assert list(results["nodes"]["gpu01"]) == ["verdict", "reason", "plan", "checks"]
    assert results["nodes"]["gpu01"]["checks"] == [CHECK]
    assert results["nodes"]["gpu01"]["plan"][0]["changes"][0]["after"].endswith("(900 characters)")


def test_a_run_that_was_cut_is_not_complete_and_says_what_is_missing(tmp_path: Path) -> None:
    folder = run(tmp_path, ["a", "b", "c"])
    write_node(folder.path, "a", {"verdict": "pass"})
    write_node(folder.path, "b", {"plan": {"steps": []}})
    results = results_of(folder)
    assert (results["complete"], results["missing"]) == (False, ["b", "c"])
    assert results["nodes"]["b"]["reason"] == "planned, not verified yet"
    assert results["nodes"]["c"] == {"verdict": "untouched", "reason": "not reached yet", "plan": [], "checks": []}


def test_a_run_that_was_cut_after_its_last_node_is_complete(tmp_path: Path) -> None:
    folder = run(tmp_path, ["a"])
    write_node(folder.path, "a", {"verdict": "pass"})
    assert results_of(folder)["complete"] is True


PLAN = {"steps": [], "refusals": []}


@pytest.mark.parametrize(
    ("plan", "info", "ended", "reason"),
    [
        (PLAN, {"check_mode": True}, True, "check mode"),
        (None, {"check_mode": True}, False, "check mode"),
        (PLAN, {"verb": "plan"}, True, "planned only"),
        (PLAN, {"verb": "site"}, True, "planned, but the run ended"),
        (PLAN, {"verb": "site"}, False, "planned, not verified yet"),
        (None, {"verb": "site"}, True, "the run ended before it came"),
        (None, {"verb": "site"}, False, "not reached yet"),
    ],
)
def test_a_node_without_a_verdict_is_untouched_and_says_why(
    plan: dict[str, Any] | None, info: dict[str, Any], ended: bool, reason: str
) -> None:
    entry = node_entry({"verdict": None, "plan": plan}, info, ended)
    assert entry["verdict"] == "untouched"
    assert reason in entry["reason"]


def test_a_plan_that_refuses_is_a_verdict(tmp_path: Path) -> None:
    folder = run(tmp_path, ["a"])
    refusal = {"id": "gpu.in_use", "subject": "/dev/kfd", "seen": "held by x", "wanted": "nobody", "remedy": "stop x"}
    write_node(folder.path, "a", {"plan": {"steps": [], "refusals": [refusal]}})
    results = results_of(folder)
    assert results["complete"] is True
    assert results["nodes"]["a"] == {
        "verdict": "refused", "reason": "/dev/kfd: held by x, wanted nobody", "plan": [refusal], "checks": [],
    }  # fmt: skip


def test_a_verdict_that_nobody_knows_counts_as_none() -> None:
    assert node_entry({"verdict": "great"}, {}, True)["verdict"] == "untouched"


def test_the_report_can_be_made_again_from_the_files(tmp_path: Path) -> None:
    folder = run(tmp_path, ["a"])
    write_node(folder.path, "a", {"verdict": "fail", "checks": [CHECK]})
    paths = write_report(folder, results_of(folder))
    assert [path.name for path in paths] == ["results.json", "index.html", "junit.xml"]
    first = json.loads(paths[0].read_text())
    paths[0].unlink()
    write_report(open_run_folder(folder.path), results_of(open_run_folder(folder.path)))
    again = json.loads(paths[0].read_text())
    assert {**first, "generated": ""} == {**again, "generated": ""}


def test_merged_runs_have_the_newest_record_of_every_node(tmp_path: Path) -> None:
    one, two = run(tmp_path, ["a", "b"]), run(tmp_path, ["b", "c"])
    write_node(one.path, "a", {"verdict": "pass"})
    write_node(one.path, "b", {"verdict": "fail"})
    write_node(two.path, "b", {"verdict": "pass"})
    write_node(two.path, "c", {"verdict": "unreachable"})
    old = one.path / "nodes" / "b.json"
    old.write_text(old.read_text().replace('"updated":"20', '"updated":"19'))
    merged = merge_runs([one, two])
    results = results_of(merged)
    assert {host: node["verdict"] for host, node in results["nodes"].items()} == {
        "a": "pass", "b": "pass", "c": "unreachable",
    }  # fmt: skip
    assert merged.path.parent == tmp_path
    assert merged.path not in (one.path, two.path)
