# SPDX-License-Identifier: Apache-2.0
"""Unattended upgrades are held back for a bounded time, by files that a boot clears."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from ansible_collections.instinct.bringup.plugins.module_utils.command_runner import Result
from ansible_collections.instinct.bringup.plugins.module_utils.purge_request import Node
from ansible_collections.instinct.bringup.plugins.module_utils.upgrades_pause import (
    SECONDS,
    PauseError,
    drop_ins,
    pause,
    resume,
)


class Systemctl:
    def __init__(self, rc: int = 0) -> None:
        self.rc = rc
        self.calls: list[str] = []

    def __call__(self, argv: Sequence[str]) -> Result:
        self.calls.append(" ".join(argv))
        return Result(self.rc, "", "Failed to connect to bus" if self.rc else "")


@pytest.fixture
def root(tmp_path: Path) -> str:
    (tmp_path / "run/systemd/system").mkdir(parents=True)
    return str(tmp_path)


def lets_start(path: str) -> bool:
    """Run the condition as systemd would, once it has undone its own doubling of % and $."""
    found = re.search(r"^ExecCondition=/bin/sh -c '(.*)'$", Path(path).read_text(encoding="ascii"), re.M)
    assert found
    command = found.group(1).replace("%%", "%").replace("$$", "$")
    return subprocess.run(["/bin/sh", "-c", command], check=False).returncode == 0


def test_the_services_are_held_back_until_the_moment_and_then_no_more(root: str) -> None:
    systemctl = Systemctl()
    node = Node(systemctl, root)
    now = time.time()
    assert pause(node, now, check_mode=False) == {"changed": True, "until": int(now) + SECONDS}
    paths = drop_ins(root)
    assert [path.split("/")[-2] for path in paths] == ["apt-daily.service.d", "apt-daily-upgrade.service.d"]
    assert all(path.startswith(f"{root}/run/") for path in paths)
    assert not any(lets_start(path) for path in paths)
    # A run that was killed long ago holds nothing back.
    pause(node, now - SECONDS - 60, check_mode=False)
    assert all(lets_start(path) for path in paths)
    assert systemctl.calls == ["systemctl daemon-reload"] * 2


def test_a_pause_is_taken_away_once(root: str) -> None:
    node = Node(Systemctl(), root)
    pause(node, time.time(), check_mode=False)
    assert resume(node, check_mode=True)["changed"]
    assert all(Path(path).exists() for path in drop_ins(root))
    assert resume(node, check_mode=False)["changed"]
    assert not any(Path(path).exists() for path in drop_ins(root))
    assert not resume(node, check_mode=False)["changed"]


def test_a_node_without_systemd_has_nothing_to_hold_back(tmp_path: Path) -> None:
    assert pause(Node(Systemctl(), str(tmp_path)), 0.0, check_mode=False) == {"changed": False, "until": None}
    assert not (tmp_path / "run").exists()


def test_a_systemd_that_does_not_listen_is_told(root: str) -> None:
    with pytest.raises(PauseError, match="Failed to connect to bus"):
        pause(Node(Systemctl(1), root), 0.0, check_mode=False)
