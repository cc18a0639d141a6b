# SPDX-License-Identifier: Apache-2.0
"""The callback, fed with Ansible's own result objects."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ansible.executor.task_result import CallbackTaskResult
from ansible.inventory.host import Host
from ansible.playbook.task import Task

from ansible_collections.instinct.bringup.plugins.callback.bringup import CallbackModule
from ansible_collections.instinct.bringup.plugins.plugin_utils.report.run_folder import create_run_folder, write_node


def result(host: str, action: str, data: dict[str, Any], name: str = "Do it", **fields: Any) -> CallbackTaskResult:
    task = Task()
    task.action = action
    return CallbackTaskResult(Host(host), task, data, {"name": name, **fields})


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    return create_run_folder(tmp_path, ["a", "b"], verb="site", rocm_release="5.4.2").path


@pytest.fixture
def callback(run_dir: Path) -> CallbackModule:
    """Return a callback that has seen the run begin."""
    made = CallbackModule()
    made.v2_runner_on_ok(result("a", "instinct.bringup.run", {"run": {"dir": str(run_dir)}}))
    return made


def verdicts(run_dir: Path) -> dict[str, str]:
    results = json.loads((run_dir / "results.json").read_text())
    return {host: node["verdict"] for host, node in results["nodes"].items()}


def test_it_is_used_only_where_it_is_enabled() -> None:
    assert CallbackModule.CALLBACK_NEEDS_ENABLED
    assert CallbackModule.CALLBACK_TYPE == "aggregate"


def test_another_playbook_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    made = CallbackModule()
    made.v2_runner_on_ok(result("a", "ansible.builtin.ping", {"run": {"dir": str(tmp_path)}}))
    made.v2_runner_on_failed(result("a", "ansible.builtin.command", {"msg": "no"}))
    made.v2_runner_on_unreachable(result("a", "ansible.builtin.ping", {"msg": "no route"}))
    made.v2_playbook_on_stats(None)
    assert list(tmp_path.iterdir()) == []
    assert capsys.readouterr().out == ""


def test_plan_and_summary_are_shown(
    callback: CallbackModule, run_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    callback.v2_runner_on_ok(result("a", "instinct.bringup.plan", {"plan_text": "a: ROCm 5.4.2\n  1. rocm"}))
    write_node(run_dir, "a", {"verdict": "pass", "reason": "70 checks are well"})
    callback.v2_runner_on_ok(result("a", "instinct.bringup.verify", {}))
    callback.v2_runner_on_unreachable(result("b", "instinct.bringup.node_facts", {"msg": "no route"}))
    callback.v2_playbook_on_stats(None)
    output = capsys.readouterr().out
    assert "1. rocm" in output
    assert "2 nodes: 1 pass, 1 unreachable" in output
    assert verdicts(run_dir) == {"a": "pass", "b": "unreachable"}


def test_a_failed_step_is_an_apply_that_failed_and_no_argument_is_kept(callback: CallbackModule, run_dir: Path) -> None:
    callback.v2_runner_on_ok(result("a", "instinct.bringup.plan", {"plan_text": "text"}))
    data = {"msg": "E: no space", "invocation": {"module_args": {"password": "secret"}}, "cmd": "apt --token secret"}
    callback.v2_runner_on_failed(result("a", "ansible.builtin.apt", data, "rocm : Install", args={"token": "secret"}))
    callback.v2_playbook_on_stats(None)
    results = json.loads((run_dir / "results.json").read_text())
    assert results["nodes"]["a"]["verdict"] == "apply_failed"
    assert results["nodes"]["a"]["reason"] == "rocm : Install: E: no space"
    for path in run_dir.rglob("*"):
        assert path.is_dir() or "secret" not in path.read_text()


def test_of_a_failed_command_its_last_words_are_told(callback: CallbackModule, run_dir: Path) -> None:
    callback.v2_runner_on_ok(result("a", "instinct.bringup.plan", {}))
    said = "".join(f"line {number}\n" for number in range(20)) + "E: You don't have enough free space in /var\n\n"
    data = {"msg": "non-zero return code", "rc": 100, "stderr": said, "cmd": ["apt-get", "--secret"]}
    callback.v2_runner_on_failed(result("a", "ansible.builtin.command", data, "rocm : Install"))
    callback.v2_playbook_on_stats(None)
    reason = json.loads((run_dir / "results.json").read_text())["nodes"]["a"]["reason"]
    assert reason.startswith("rocm : Install: exit 100 / line 15")
    assert reason.endswith("E: You don't have enough free space in /var")


def test_of_a_loop_the_failed_item_is_told(callback: CallbackModule, run_dir: Path) -> None:
    callback.v2_runner_on_ok(result("a", "instinct.bringup.plan", {}))
    items = [{"msg": "fine"}, {"failed": True, "msg": "the second one"}, "squashed"]
    callback.v2_runner_on_failed(result("a", "ansible.builtin.apt", {"msg": "All items", "results": items}))
    callback.v2_playbook_on_stats(None)
    assert "the second one" in json.loads((run_dir / "results.json").read_text())["nodes"]["a"]["reason"]


def test_hidden_output_stays_hidden(callback: CallbackModule, run_dir: Path) -> None:
    callback.v2_runner_on_ok(result("a", "instinct.bringup.plan", {}))
    callback.v2_runner_on_failed(result("a", "ansible.builtin.uri", {"censored": "the output has been hidden"}))
    callback.v2_playbook_on_stats(None)
    assert "hidden" in json.loads((run_dir / "results.json").read_text())["nodes"]["a"]["reason"]


def test_what_a_play_ignores_is_no_failure(callback: CallbackModule, run_dir: Path) -> None:
    callback.v2_runner_on_failed(result("a", "ansible.builtin.command", {"msg": "no"}), ignore_errors=True)
    callback.v2_runner_on_unreachable(result("b", "ansible.builtin.ping", {"msg": "no"}, ignore_unreachable=True))
    callback.v2_playbook_on_stats(None)
    assert verdicts(run_dir) == {"a": "untouched", "b": "untouched"}


def test_a_report_that_cannot_be_written_warns_and_goes_on(
    callback: CallbackModule, run_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in sorted(run_dir.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    run_dir.rmdir()
    callback.v2_runner_on_unreachable(result("a", "ansible.builtin.ping", {"msg": "no route"}))
    callback.v2_playbook_on_stats(None)
    assert "the report could not be written" in capsys.readouterr().err
