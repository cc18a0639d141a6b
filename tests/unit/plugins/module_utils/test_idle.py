# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ansible_collections.instinct.bringup.plugins.module_utils.command_runner import Result
from ansible_collections.instinct.bringup.plugins.module_utils.idle import wait_until_idle
from ansible_collections.instinct.bringup.plugins.module_utils.runs_at_work import VARIABLE
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

Plant = Callable[[dict[str, Any]], Tree]


class Systemd:
    """Answers what systemd says, one word a call, the last one for ever."""

    def __init__(self, *words: str) -> None:
        self.words = list(words)

    def __call__(self, argv: Sequence[str]) -> Result:
        assert list(argv) == ["systemctl", "is-system-running"]
        return Result(1, (self.words.pop(0) if len(self.words) > 1 else self.words[0]) + "\n", "")


class Clock:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def test_an_idle_node_is_not_waited_for(plant: Plant) -> None:
    clock = Clock()
    assert wait_until_idle(plant({}), Systemd("running"), 600, clock.sleep, clock) == {"waited_for": [], "left": []}
    assert clock.now == 0


def test_what_ends_is_told_and_the_wait_with_it(plant: Plant) -> None:
    clock = Clock()
    seen = wait_until_idle(plant({}), Systemd("stopping", "stopping", "degraded"), 600, clock.sleep, clock)
    assert seen == {"waited_for": ["the node is shutting down"], "left": []}
    assert 0 < clock.now < 600


def test_what_does_not_end_is_named_after_the_time(plant: Plant) -> None:
    tree = plant({"/proc/41/comm": "python3\n", "/proc/41/environ": f"{VARIABLE}=run-1\0"})
    clock = Clock()
    seen = wait_until_idle(tree, Systemd("running"), 30, clock.sleep, clock)
    assert seen["left"] == seen["waited_for"]
    assert seen["left"] == ["run run-1, which was interrupted, is still at work: python3 (pid 41)"]
    assert clock.now >= 30


def test_what_a_run_does_meanwhile_is_told_once(plant: Plant) -> None:
    tree = plant({"/proc/41/comm": "python3\n", "/proc/41/environ": f"{VARIABLE}=run-1\0"})
    other = Path(tree.root) / "proc" / "42"
    other.mkdir()
    clock = Clock()

    def sleep(seconds: float) -> None:
        clock.sleep(seconds)
        (other / "comm").write_text(f"dpkg-{clock.now:.0f}\n", encoding="utf-8")
        (other / "environ").write_text(f"{VARIABLE}=run-1\0", encoding="utf-8")

    seen = wait_until_idle(tree, Systemd("running"), 5, sleep, clock)
    assert seen["waited_for"] == ["run run-1, which was interrupted, is still at work: python3 (pid 41)"]
    assert seen["left"] == ["run run-1, which was interrupted, is still at work: python3, dpkg-5 (pid 41)"]
