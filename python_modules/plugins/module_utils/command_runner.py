# SPDX-License-Identifier: Apache-2.0
"""Run a command on the node in a fixed environment, without a shell."""

from __future__ import annotations

import os
import subprocess
from typing import Callable, Dict, List, NamedTuple, Sequence

# A become method may leave PATH without the places where dpkg's and dkms's helpers live.
_SYSTEM_PATH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")

_FIXED = {
    "LC_ALL": "C",
    "LANGUAGE": "C",
    "DEBIAN_FRONTEND": "noninteractive",
    # needrestart would restart the site's services in the middle of a purge
    "NEEDRESTART_SUSPEND": "1",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PIP_NO_INPUT": "1",
}

NOT_FOUND = 127


class Result(NamedTuple):
    """What a command answered: exit code (127 when it is not there), stdout, stderr."""

    rc: int
    out: str
    err: str


Run = Callable[[Sequence[str]], Result]


def environment() -> Dict[str, str]:
    """Return the environment every command gets: the caller's, with locale and front ends fixed."""
    env = dict(os.environ)
    path: List[str] = [part for part in env.get("PATH", "").split(os.pathsep) if part]
    path.extend(part for part in _SYSTEM_PATH if part not in path)
    env.update(_FIXED)
    env["PATH"] = os.pathsep.join(path)
    return env


def run_command(argv: Sequence[str]) -> Result:
    """Run argv and return its Result; a program that is missing or not runnable gives rc 127."""
    try:
        done = subprocess.run(
            list(argv),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=environment(),
            cwd="/",
            check=False,
        )
    except OSError as error:
        return Result(NOT_FOUND, "", "%s: %s" % (argv[0], error.strerror))
    return Result(
        done.returncode,
        done.stdout.decode("utf-8", "replace"),
        done.stderr.decode("utf-8", "replace"),
    )


def last_words(result: Result, lines: int = 6) -> str:
    """Return the end of what a failed command said, on one line, for an error message."""
    text = result.err.strip() or result.out.strip()
    said = [line.strip() for line in text.splitlines() if line.strip()]
    return " / ".join(said[-lines:]) or "it said nothing"
