# SPDX-License-Identifier: Apache-2.0
"""Wait until nothing is at work on the node that would make a plan of it stale. Nothing is stopped, no lock removed."""

from __future__ import annotations

import time
from typing import Any, Callable, Dict, List

from ansible_collections.instinct.bringup.plugins.module_utils.apt_locks import read_locks
from ansible_collections.instinct.bringup.plugins.module_utils.command_runner import Run
from ansible_collections.instinct.bringup.plugins.module_utils.runs_at_work import read_runs_at_work
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

_PAUSE = 1


def at_work(tree: Tree, run: Run) -> List[str]:
    """Return a sentence for each lock of the package managers, each run of ours and a shutdown that is under way."""
    locks = read_locks(tree)
    said = ["%s is held by %s (pid %d)" % (lock["path"], lock["name"] or "a process", lock["pid"]) for lock in locks]
    said += [
        "run %s, which was interrupted, is still at work: %s (pid %d)"
        % (entry["run"], ", ".join(entry["processes"]), entry["pid"])
        for entry in read_runs_at_work(tree)
    ]
    if run(["systemctl", "is-system-running"]).out.strip() == "stopping":
        said.append("the node is shutting down")
    return said


def wait_until_idle(
    tree: Tree,
    run: Run,
    timeout: float,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> Dict[str, Any]:
    """Return waited_for, everything that was at work, and left, what still is after timeout seconds."""
    end = clock() + timeout
    waited_for: List[str] = []
    while True:
        now = at_work(tree, run)
        waited_for += [sentence for sentence in now if sentence not in waited_for]
        if not now or clock() >= end:
            return {"waited_for": waited_for, "left": now}
        sleep(_PAUSE)
