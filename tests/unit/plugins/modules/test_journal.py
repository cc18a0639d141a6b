# SPDX-License-Identifier: Apache-2.0
"""The module keeps what a run has begun and finished."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def test_a_run_is_begun_and_finished_once(run_module: Any, tmp_path: Path) -> None:
    options = {"run_id": "r1", "dir": str(tmp_path / "state")}
    begun = run_module("journal", state="begun", steps=["rocm"], packages=["rocm-core"], **options)
    path = Path(begun["path"])
    assert begun["changed"]
    assert path == tmp_path / "state/runs/r1.json"
    assert path.stat().st_mode & 0o7777 == 0o600
    assert path.parent.stat().st_mode & 0o7777 == 0o700
    assert run_module("journal", state="finished", **options)["changed"]
    assert not run_module("journal", state="finished", **options)["changed"]
    record = json.loads(path.read_text(encoding="utf-8"))
    assert (record["state"], record["steps"], record["packages"]) == ("finished", ["rocm"], ["rocm-core"])


def test_check_mode_writes_nothing(run_module: Any, tmp_path: Path) -> None:
    answer = run_module("journal", check=True, state="begun", run_id="r1", dir=str(tmp_path / "state"))
    assert answer["changed"]
    assert '"begun"' in answer["diff"][0]["after"]
    assert not (tmp_path / "state").exists()


def test_finishing_what_never_began_is_an_error(run_module: Any, tmp_path: Path) -> None:
    answer = run_module("journal", state="finished", run_id="r1", dir=str(tmp_path / "state"))
    assert answer["failed"]
    assert "state=begun comes first" in answer["msg"]


def test_a_run_that_was_interrupted_is_closed_by_the_next(run_module: Any, tmp_path: Path) -> None:
    given = {"dir": str(tmp_path)}
    run_module("journal", state="begun", run_id="first", **given)
    run_module("journal", state="begun", run_id="second", **given)
    done = run_module("journal", state="finished", run_id="second", closes=["first", "never-there"], **given)
    assert done["changed"]
    closed = json.loads((tmp_path / "runs" / "first.json").read_text(encoding="utf-8"))
    assert (closed["state"], closed["closed_by"]) == ("finished", "second")
    assert not run_module("journal", state="finished", run_id="second", closes=["first"], **given)["changed"]
