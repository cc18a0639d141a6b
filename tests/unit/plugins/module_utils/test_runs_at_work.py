# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.instinct.bringup.plugins.module_utils.runs_at_work import VARIABLE, read_runs_at_work
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

REPOSITORY = Path(__file__).resolve().parents[4]
Plant = Callable[[dict[str, Any]], Tree]


def process(pid: int, comm: str, run: str | None) -> dict[str, Any]:
    """Return the files of a process, with the variable of a run or without it."""
    marked = f"{VARIABLE}={run}\0" if run is not None else ""
    return {f"/proc/{pid}/comm": f"{comm}\n", f"/proc/{pid}/environ": f"HOME=/root\0{marked}LC_ALL=C\0"}


def test_a_module_that_works_on_is_told_with_what_it_started(plant: Plant) -> None:
    tree = plant(
        {
            **process(1, "systemd", None),
            **process(40, "apt-get", "run-1"),
            **process(41, "python3.11", "run-1"),
            **process(55, "dpkg", "run-1"),
            **process(60, "python3", None),
        }
    )
    assert read_runs_at_work(tree) == [{"run": "run-1", "pid": 41, "processes": ["python3.11", "apt-get", "dpkg"]}]
    assert tree.problems() == []


def test_a_service_that_a_packages_script_started_is_no_work(plant: Plant) -> None:
    assert read_runs_at_work(plant(process(70, "gpg-agent", "run-1"))) == []


def test_the_run_that_asks_is_left_out(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "run-2")
    tree = plant({**process(41, "python3", "run-2"), **process(42, "python3", "run-1")})
    assert [entry["run"] for entry in read_runs_at_work(tree)] == ["run-1"]


def test_a_name_that_no_run_of_ours_has_is_not_believed(plant: Plant) -> None:
    assert read_runs_at_work(plant(process(41, "python3", "../\x1b[2J"))) == []


@pytest.mark.parametrize("playbook", ["site.yml", "playbooks/roll-back.yml"])
def test_every_play_that_changes_a_node_marks_its_processes(playbook: str) -> None:
    plays = yaml.safe_load((REPOSITORY / playbook).read_text(encoding="utf-8"))
    assert VARIABLE in plays[-1]["environment"]
