# SPDX-License-Identifier: Apache-2.0
"""The program is run as the launchers run it: as ranks that are processes of their own."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import typing as t

import pytest

from ansible_collections.instinct.bringup.plugins.module_utils import report_rank


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def start(rank: int, world: int, port: int, **more: str) -> subprocess.Popen[str]:
    variables = {
        "RANK": str(rank), "WORLD_SIZE": str(world), "LOCAL_RANK": str(rank), "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port), "LAUNCH_HOST": "gpu01", "NCCL_DEBUG": "INFO", "SECRET": "no", **more,
    }  # fmt: skip
    return subprocess.Popen([sys.executable, report_rank.__file__], env=variables, stdout=subprocess.PIPE, text=True)


def told(process: subprocess.Popen[str]) -> dict[str, t.Any]:
    output, _errors = process.communicate(timeout=90)
    assert process.returncode == 0
    report: dict[str, t.Any] = json.loads(output.partition("INSTINCT-RANK ")[2])
    return report


def test_ranks_meet_and_tell_what_they_have() -> None:
    port = free_port()
    reports = [told(process) for process in [start(rank, 3, port) for rank in (2, 1, 0)]]
    assert [report["rank"] for report in reports] == [2, 1, 0]
    assert [report["trouble"] for report in reports] == ["", "", ""]
    assert reports[0]["environment"] == {"NCCL_DEBUG": "INFO"}
    assert reports[0]["versions"]["python"] == ".".join(map(str, sys.version_info[:3]))
    allowed = report_rank.numbers(reports[0]["cpus"])
    assert allowed == os.sched_getaffinity(0)


def test_a_rank_without_its_place_says_so() -> None:
    assert "is not set" in told(start(0, 1, 1, WORLD_SIZE=""))["trouble"]


def test_a_port_that_something_else_holds_is_told_by_rank_0() -> None:
    with socket.socket() as holder:
        holder.bind(("", 0))
        holder.listen()
        port = int(holder.getsockname()[1])
        assert "Address already in use" in told(start(0, 1, port))["trouble"]
        # torchrun's own agent answers there.
        assert told(start(0, 1, port, TORCHELASTIC_RUN_ID="none"))["trouble"] == ""


@pytest.mark.parametrize(
    ("text", "wanted"), [("0-3,8", {0, 1, 2, 3, 8}), ("", set()), ("5", {5})], ids=["runs", "empty", "one"]
)
def test_lists_of_processors_are_read(text: str, wanted: set[int]) -> None:
    assert report_rank.numbers(text) == wanted
