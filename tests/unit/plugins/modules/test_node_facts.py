# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.instinct.bringup.plugins.modules import node_facts

RunModule = Callable[..., dict[str, Any]]


@pytest.mark.parametrize("check_mode", [False, True])
def test_it_reads_a_root_and_changes_nothing(run_module: RunModule, tmp_path: Path, check_mode: bool) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/os-release").write_text("ID=ubuntu\nVERSION_ID=22.04\n")
    result = run_module("node_facts", check_mode, root=str(tmp_path), watch=["/etc/os-release"])
    assert result["changed"] is False
    snapshot = json.loads(result["snapshot"])
    assert (snapshot["schema"], snapshot["root"], snapshot["os"]["version_id"]) == (1, str(tmp_path), "22.04")
    assert snapshot["watch"]["/etc/os-release"]["text"] == "ID=ubuntu\nVERSION_ID=22.04\n"
    assert snapshot["skipped"]["gpu_processes"]
    assert [path.name for path in tmp_path.iterdir()] == ["etc"]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"root": "/no/such/folder"}, "root /no/such/folder is neither a folder nor a manifest on this machine"),
        ({"watch": ["etc/x", "/etc/y"], "spaces": ["opt"]}, "paths must be absolute: watch: etc/x, spaces: opt"),
    ],
)
def test_arguments_that_cannot_be(run_module: RunModule, params: dict[str, Any], message: str) -> None:
    result = run_module("node_facts", **params)
    assert result["failed"] is True
    assert result["msg"] == message


def test_this_machine_is_read_whoever_runs_the_test(run_module: RunModule) -> None:
    snapshot = json.loads(run_module("node_facts", spaces=["/"])["snapshot"])
    assert snapshot["kernel"]["release"]
    assert snapshot["space"]["/"]["total_bytes"] > 0
    assert snapshot["skipped"] == {}
    assert [problem for problem in snapshot["problems"] if "reader broke" in problem["message"]] == []


def test_what_is_documented_is_returned() -> None:
    documented = yaml.safe_load(node_facts.RETURN)["snapshot"]["contains"]
    assert {"schema", "problems", "skipped", "cpu_seconds", "pci", "kfd"} == set(documented)
