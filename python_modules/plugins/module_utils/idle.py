# SPDX-License-Identifier: Apache-2.0
"""Wait until nothing is at work on the node that would make a plan of it stale. Nothing is stopped, no lock removed."""

from __future__ import annotations

import time
from typing import Callable, Dict, List

from ansible_collections.instinct.bringup.plugins.module_utils.apt_locks import read_locks
from ansible_collections.instinct.bringup.plugins.module_utils.command_runner import Run
from ansible_collections.instinct.bringup.plugins.module_utils.runs_at_work import read_runs_at_work
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

_PAUSE = 1


def at_work(tree: Tree, run: Run) -> Dict[str, str]:
    """Return a sentence for each lock of the package managers, each run of ours and a shutdown that is under way.

    By what it is about: who holds a lock and what a run does changes while one waits, and is told as it was first seen.
    """
    said = {
        lock["path"]: "%s is held by %s (pid %d)" % (lock["path"], lock["name"] or "a process", lock["pid"])
        for lock in read_locks(tree)
    }
    for entry in read_runs_at_work(tree):
        said[entry["run"]] = "run %s, which was interrupted, is still at work: %s (pid %d)" % (
            entry["run"],
            ", ".join(entry["processes"]),
            entry["pid"],
        )
    if run(["systemctl", "is-system-running"]).out.strip() == "stopping":
        said["shutdown"] = "the node is shutting down"
    return said


def wait_until_idle(
    tree: Tree,
    run: Run,
    timeout: float,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> Dict[str, List[str]]:
    """Return waited_for, everything that was at work, and left, what still is after timeout seconds."""
    end = clock() + timeout
    waited_for: Dict[str, str] = {}
    while True:
        now = at_work(tree, run)
        waited_for = {**now, **waited_for}
        if not now or clock() >= end:
            return {"waited_for": list(waited_for.values()), "left": list(now.values())}
        sleep(_PAUSE)
