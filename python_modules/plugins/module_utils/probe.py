# SPDX-License-Identifier: Apache-2.0
"""Run the few read-only commands of a snapshot, with a fixed locale and a time limit."""

from __future__ import annotations

import subprocess
from typing import Callable, Optional, Sequence

from ansible_collections.instinct.bringup.plugins.module_utils.command_runner import Result, environment
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

SECONDS = 30.0


class ProbeError(Exception):
    """A command could not be run, or did not end in time."""


# Takes a command as a list of words. Raises ProbeError.
Probe = Callable[[Sequence[str]], Result]


def run_probe(argv: Sequence[str], seconds: Optional[float] = None) -> Result:
    """Run a command under LC_ALL=C, end it after so many seconds (30), and return what it said."""
    limit = SECONDS if seconds is None else seconds
    try:
        done = subprocess.run(
            list(argv),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=environment(),
            cwd="/",
            timeout=limit,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ProbeError("no answer after %g seconds" % limit) from None
    except OSError as error:
        raise ProbeError(str(error.strerror)) from None
    return Result(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))


def ask(tree: Tree, area: str, probe: Probe, argv: Sequence[str]) -> Optional[str]:
    """Return a command's output, or None and a problem that names the command."""
    try:
        answer = probe(argv)
    except ProbeError as error:
        tree.problem(area, argv[0], str(error))
        return None
    if answer.rc != 0:
        said = answer.err.strip().splitlines() or ["it said nothing"]
        tree.problem(area, argv[0], "exit code %d: %s" % (answer.rc, said[-1]))
        return None
    return answer.out
