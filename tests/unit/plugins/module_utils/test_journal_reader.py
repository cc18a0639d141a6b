# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible_collections.instinct.bringup.plugins.module_utils.journal_reader import HOLDS, RUNS, read_journal
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

Plant = Callable[[dict[str, Any]], Tree]


def test_runs_begun_and_finished(plant: Plant) -> None:
    tree = plant(
        {
            f"{RUNS}/20261201-1.json": '{"schema": 1, "state": "finished", "packages": ["rccl"], "steps": ["rocm"]}',
            f"{RUNS}/20261201-2.json": '{"schema": 1, "state": "begun"}',
            f"{RUNS}/.20261201-3.json.x.tmp": "{",
            f"{RUNS}/.hidden.json": "{",
            HOLDS: '{"schema": 1, "packages": ["rccl"]}',
        }
    )
    assert read_journal(tree) == {
        "runs": [
            {"run": "20261201-1", "state": "finished", "packages": ["rccl"], "steps": ["rocm"]},
            {"run": "20261201-2", "state": "begun", "packages": [], "steps": []},
        ],
        "holds": ["rccl"],
    }
    assert tree.problems() == []


def test_a_broken_entry_costs_only_itself(plant: Plant) -> None:
    tree = plant(
        {
            f"{RUNS}/a.json": "{",
            f"{RUNS}/b.json": "[" * 100_000,
            f"{RUNS}/c.json": '{"state": "other"}',
            f"{RUNS}/d.json": '{"state": "begun"}',
        }
    )
    journal = read_journal(tree)
    assert journal is not None
    assert [run["run"] for run in journal["runs"]] == ["d"]
    assert [problem["message"] for problem in tree.problems()] == [
        "not JSON",
        "not JSON",
        "not an entry of the journal: no state begun or finished",
    ]


def test_a_node_that_saw_no_run(plant: Plant) -> None:
    tree = plant({})
    assert read_journal(tree) == {"runs": [], "holds": []}
    assert tree.problems() == []


def test_a_broken_record_of_holds_is_a_problem_and_no_hold(plant: Plant) -> None:
    tree = plant({HOLDS: "[]"})
    assert read_journal(tree) == {"runs": [], "holds": []}
    assert [problem["path"] for problem in tree.problems()] == [HOLDS]
