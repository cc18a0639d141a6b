# SPDX-License-Identifier: Apache-2.0
"""The journal grows with a run, closes with it, and refuses what it does not know."""

from __future__ import annotations

import grp
import json
import os
import pwd
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.instinct.bringup.plugins.module_utils.journal_writer import (
    Entry,
    JournalError,
    check_run_id,
    record,
)

ME = (pwd.getpwuid(os.getuid()).pw_name, grp.getgrgid(os.getgid()).gr_name)


def write(folder: Path, state: str, now: str, steps: tuple[str, ...] = (), packages: tuple[str, ...] = ()) -> Any:
    return record(str(folder), state, Entry("r1", steps, packages), now, ME, check_mode=False)


def test_beginning_again_adds_and_keeps_the_first_time(tmp_path: Path) -> None:
    write(tmp_path, "begun", "1", ("rocm",), ("rocm-core", "rccl"))
    assert write(tmp_path, "begun", "2", ("rocm", "mpi"), ("rccl", "openmpi-bin"))["changed"]
    assert not write(tmp_path, "begun", "3", ("mpi",))["changed"]
    assert json.loads((tmp_path / "runs/r1.json").read_text(encoding="utf-8")) == {
        "schema": 1,
        "run": "r1",
        "begun": "1",
        "state": "begun",
        "finished": None,
        "steps": ["rocm", "mpi"],
        "packages": ["rocm-core", "rccl", "openmpi-bin"],
    }


def test_a_finished_run_that_begins_again_is_open(tmp_path: Path) -> None:
    write(tmp_path, "begun", "1")
    write(tmp_path, "finished", "2")
    write(tmp_path, "begun", "3")
    again = json.loads((tmp_path / "runs/r1.json").read_text(encoding="utf-8"))
    assert (again["state"], again["begun"], again["finished"]) == ("begun", "1", None)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": 2}'])
def test_a_record_that_is_not_ours_is_left_and_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "runs/r1.json"
    path.parent.mkdir()
    path.write_text(text, encoding="ascii")
    with pytest.raises(JournalError, match=r"runs/r1\.json is not"):
        write(tmp_path, "begun", "1")
    assert path.read_text(encoding="ascii") == text


@pytest.mark.parametrize("run", ["", ".", "..", "a/b", "../x", "-x", "x" * 129, "a\n"])
def test_a_run_id_that_is_no_file_name_is_refused(run: str) -> None:
    with pytest.raises(JournalError, match="cannot name a file"):
        check_run_id(run)


@pytest.mark.parametrize("run", ["20261201T080000Z", "2026-12-01_08:00:00+site", "r1"])
def test_a_run_id_as_runs_have_it_passes(run: str) -> None:
    assert check_run_id(run) == run
