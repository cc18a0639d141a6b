# SPDX-License-Identifier: Apache-2.0
"""Find out who holds apt's and dpkg's locks."""

from __future__ import annotations

import fcntl
import os
import struct
from typing import Any, Dict, List, Optional

from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

LOCKS = (
    "/var/lib/dpkg/lock-frontend",
    "/var/lib/dpkg/lock",
    "/var/lib/apt/lists/lock",
    "/var/cache/apt/archives/lock",
)
# struct flock of 64-bit Linux: type, whence, start, length, pid.
_FLOCK = "hhqqi4x"


def read_locks(tree: Tree) -> List[Dict[str, Any]]:
    """Return the snapshot's apt "locks": who holds which; a lock that is free or not there is left out.

    The lock is asked about, never taken. pid is 0 for a holder in another container.
    """
    found: List[Dict[str, Any]] = []
    for path in LOCKS:
        try:
            pid = _holder(tree.host_path(path))
        except FileNotFoundError:
            continue
        except OSError as error:
            tree.problem("apt", path, error)
            continue
        if pid is not None:
            name = tree.read_line("apt", "/proc/%d/comm" % pid, optional=True) if pid > 0 else None
            found.append({"path": path, "pid": pid, "name": name})
    return found


def _holder(path: str) -> Optional[int]:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        asked = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        kind, _whence, _start, _length, pid = struct.unpack(_FLOCK, fcntl.fcntl(handle, fcntl.F_GETLK, asked))
    finally:
        os.close(handle)
    return None if kind == fcntl.F_UNLCK else max(pid, 0)
