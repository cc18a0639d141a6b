# SPDX-License-Identifier: Apache-2.0
"""Who holds apt's or dpkg's lock, and how to wait for it. Lock files are never removed."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Callable, Optional, Sequence

from ansible_collections.instinct.bringup.plugins.module_utils.command_runner import Result, Run

LOCK_TIMEOUT = 600
"""Seconds that apt-get and this module wait for another package manager."""

_PAUSE = 3

# apt: "Could not get lock FILE. It is held by process 24459 (unattended-upgr)"
# dpkg: "dpkg frontend lock was locked by another process with pid 24459", "... is locked by another process"
_LOCKED = re.compile(r"could not get lock|is locked by another process|was locked by another process", re.I)
_PID = re.compile(r"(?:held by process|with pid) (\d+)(?: \(([^)]+)\))?", re.I)
_FILE = re.compile(r"(?:could not get lock|unable to lock(?: the)?) (/[^\s.]+(?:\.[^\s.]+)*)", re.I)


def is_locked(result: Result) -> bool:
    """Say whether a command failed because another process holds the package lock."""
    return result.rc != 0 and bool(_LOCKED.search(result.err + result.out))


def describe_lock(result: Result, proc: Path = Path("/proc")) -> Optional[str]:
    """Return a sentence that names the lock's holder, or None when the failure was another one."""
    if not is_locked(result):
        return None
    text = result.err + result.out
    lock = _FILE.search(text)
    what = lock.group(1) if lock else "the package database's lock"
    pid = _PID.search(text)
    if not pid:
        return "%s is held by another process, which was not named" % what
    name = pid.group(2) or _name_of(pid.group(1), proc)
    return "%s is held by process %s (%s)" % (what, pid.group(1), name)


def run_when_unlocked(
    run: Run,
    argv: Sequence[str],
    timeout: float = LOCK_TIMEOUT,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> Result:
    """Run a command that has no lock timeout of its own (dpkg, apt-mark), again until it gets the lock.

    timeout is in seconds. The last Result is returned, so that the caller words the failure.
    """
    end = clock() + timeout
    result = run(argv)
    while is_locked(result) and clock() < end:
        sleep(_PAUSE)
        result = run(argv)
    return result


def _name_of(pid: str, proc: Path) -> str:
    try:
        return (proc / pid / "comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return "gone since"
