# SPDX-License-Identifier: Apache-2.0
"""Read the settings of memory that jobs depend on: huge pages, and the shared memory of /dev/shm."""

from __future__ import annotations

import os
import re
from typing import Any, Dict, Optional

from ansible_collections.instinct.bringup.plugins.module_utils.child import ChildError, call_in_child
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

THP = "/sys/kernel/mm/transparent_hugepage"
SHM = "/dev/shm"
SECONDS = 2.0
_CHOSEN = re.compile(r"\[([^\]\s]+)\]")


def read_thp(tree: Tree) -> Dict[str, Optional[str]]:
    """Return {"enabled", "defrag"}: the word in brackets of each, None where the kernel has none."""
    return {name: _chosen(tree, "%s/%s" % (THP, name)) for name in ("enabled", "defrag")}


def _chosen(tree: Tree, path: str) -> Optional[str]:
    text = tree.read_line("thp", path, optional=True)
    if text is None:
        return None
    found = _CHOSEN.search(text)
    if not found:
        tree.problem("thp", path, "no word in brackets: %r" % text[:40])
        return None
    return found.group(1)


def read_shm(tree: Tree) -> Optional[Dict[str, Any]]:
    """Return the total and the free bytes of /dev/shm, None with a problem where it cannot be told."""
    try:
        place = tree.host_path(SHM)
        answer: Dict[str, Any] = call_in_child(lambda: _measure(place), SECONDS)
    except (OSError, ChildError) as error:
        tree.problem("shm", SHM, error if isinstance(error, OSError) else str(error))
        return None
    return answer


def _measure(place: str) -> Dict[str, int]:
    info = os.statvfs(place)
    return {"total_bytes": info.f_frsize * info.f_blocks, "free_bytes": info.f_frsize * info.f_bavail}
