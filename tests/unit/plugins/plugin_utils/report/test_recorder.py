# SPDX-License-Identifier: Apache-2.0
"""The recorder: what is on disk at any moment of a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.instinct.bringup.plugins.plugin_utils.report.recorder import RunRecorder, first_lines
from ansible_collections.instinct.bringup.plugins.plugin_utils.report.run_folder import create_run_folder, write_node


class Clock:
    """A clock that a test moves, and on which every look takes a while."""

    def __init__(self) -> None:
        self.seconds = 100.0
        self.step = 0.0

    def __call__(self) -> float:
        self.seconds += self.step
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def recorder(tmp_path: Path, clock: Clock) -> RunRecorder:
    """Return the recorder of a run of three hosts that has begun."""
    folder = create_run_folder(tmp_path, ["a", "b", "c"], verb="site", rocm_release="5.4.2")
    started = RunRecorder(clock)
    started.start(folder.path)
    return started


def on_disk(recorder: RunRecorder) -> dict[str, Any]:
    assert recorder.folder is not None
    return dict(json.loads((recorder.folder.path / "results.json").read_text()))


def give(recorder: RunRecorder, host: str, verdict: str) -> None:
    """Do what the action verify does, and let the recorder hear of it."""
    assert recorder.folder is not None
    write_node(recorder.folder.path, host, {"verdict": verdict})
    recorder.refresh(host)


def test_a_run_that_has_only_begun_says_so(recorder: RunRecorder) -> None:
    results = on_disk(recorder)
    assert (results["complete"], results["missing"]) == (False, ["a", "b", "c"])
    assert results["summary"]["untouched"] == 3


def test_a_small_run_is_written_at_every_event(recorder: RunRecorder) -> None:
    give(recorder, "a", "pass")
    give(recorder, "b", "fail")
    results = on_disk(recorder)
    assert (results["summary"]["pass"], results["summary"]["fail"], results["missing"]) == (1, 1, ["c"])
    assert results["complete"] is False


def test_writing_takes_a_tenth_of_the_time_and_what_was_held_back_is_written_later(
    recorder: RunRecorder, clock: Clock
) -> None:
    clock.step = 0.2
    give(recorder, "a", "pass")
    clock.step = 0.0
    give(recorder, "b", "pass")
    assert on_disk(recorder)["summary"]["pass"] == 1
    clock.seconds += 1.0
    recorder.tick()
    assert on_disk(recorder)["summary"]["pass"] == 1
    clock.seconds += 1.0
    recorder.tick()
    assert on_disk(recorder)["summary"]["pass"] == 2


def test_the_end_writes_everything(recorder: RunRecorder) -> None:
    give(recorder, "a", "pass")
    recorder.unreachable("b", "Failed to connect\nno route")
    results = recorder.finish()
    assert results == on_disk(recorder)
    assert results is not None
    assert results["complete"] is True
    assert {host: node["verdict"] for host, node in results["nodes"].items()} == {
        "a": "pass", "b": "unreachable", "c": "untouched",
    }  # fmt: skip
    assert results["nodes"]["b"]["reason"] == "Failed to connect no route"
    assert results["nodes"]["c"]["reason"] == "the run ended before it came to this node"
    assert recorder.folder is not None
    assert (recorder.folder.path / "index.html").is_file()
    assert (recorder.folder.path / "junit.xml").is_file()


@pytest.mark.parametrize(
    ("planned", "given", "action", "role", "verdict"),
    [
        (True, None, "ansible.builtin.apt", "rocm", "apply_failed"),
        (True, None, "instinct.bringup.repository_probe", "preflight", "refused"),
        (True, None, "instinct.bringup.node_facts", "", "apply_failed"),
        (True, "refused", "instinct.bringup.node_facts", "", "apply_failed"),
        (True, None, "instinct.bringup.verify", "", "unknown"),
        (True, "fail", "instinct.bringup.verify", "", "fail"),
        (False, None, "instinct.bringup.node_facts", "", "refused"),
        (False, None, "instinct.bringup.plan", "", "refused"),
        (False, None, "ansible.builtin.assert", "", "refused"),
        (True, "pass", "ansible.builtin.assert", "", "apply_failed"),
    ],
)
def test_verdict_of_a_failed_task(
    recorder: RunRecorder, planned: bool, given: str | None, action: str, role: str, verdict: str
) -> None:
    assert recorder.folder is not None
    if planned:
        recorder.planned("a")
    if given is not None:
        write_node(
            recorder.folder.path, "a", {"verdict": given, "reason": "given", "plan": {"steps": [{"role": "rocm"}]}}
        )
    recorder.failed("a", "rocm : Install", "no space\n\nleft\non\nthe device", action=action, role=role)
    results = recorder.finish()
    assert results is not None
    entry = results["nodes"]["a"]
    assert entry["verdict"] == verdict
    if entry["reason"] != "given":
        assert entry["reason"] == "rocm : Install: no space left on"
    if given is not None:
        assert entry["plan"] == [{"role": "rocm", "reasons": [], "changes": []}]


def test_a_failure_that_was_rescued_gives_way_to_the_verdict(recorder: RunRecorder) -> None:
    recorder.planned("a")
    recorder.failed("a", "rocm : Try", "first way failed", action="ansible.builtin.command", role="rocm")
    give(recorder, "a", "pass")
    results = recorder.finish()
    assert results is not None
    assert results["nodes"]["a"]["verdict"] == "pass"


def test_without_a_run_of_ours_nothing_is_written(tmp_path: Path) -> None:
    recorder = RunRecorder()
    recorder.failed("a", "task", "message")
    recorder.unreachable("a", "message")
    recorder.planned("a")
    recorder.refresh("a")
    recorder.write_progress()
    assert recorder.finish() is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (None, "no message"),
        ("", "no message"),
        ("one", "one"),
        ("a\n\n b \nc\nd", "a b c"),
        ("x" * 500, "x" * 400 + " …"),
    ],
)
def test_first_lines(message: str | None, text: str) -> None:
    assert first_lines(message) == text
