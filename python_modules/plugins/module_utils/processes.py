# SPDX-License-Identifier: Apache-2.0
"""Find the processes that hold the GPU's device nodes."""

from __future__ import annotations

import os
from typing import Any, Dict, List, Optional

from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

PROC = "/proc"
# The driver's own list: processes of every container, also those that only keep memory mapped.
KFD_PROC = "/sys/class/kfd/kfd/proc"
KFD = "/dev/kfd"
_RENDER = "/dev/dri/renderD"
# The kernel appends this to the name of a node that was removed while open.
_DELETED = " (deleted)"


def read_gpu_processes(tree: Tree, own_pid: int, as_root: bool) -> Optional[List[Dict[str, Any]]]:
    """Return the snapshot's "gpu_processes", by pid, without the process own_pid.

    Only the text of the links in /proc/PID/fd is read: to follow one could block on a dead file
    server. None with a problem when, for lack of root, other users' processes could not be looked
    at and nothing else tells of them.
    """
    paths: Dict[int, List[str]] = {}
    denied = 0
    pids = [int(name) for name in tree.list_folder("gpu_processes", PROC) or [] if name.isdigit()]
    proc = tree.root.rstrip("/") + PROC
    for pid in pids:
        try:
            held = _held(proc, pid)
        except PermissionError:
            denied += 1
            continue
        except OSError:
            # It ended while we looked.
            continue
        if held:
            paths[pid] = held
    listed = tree.list_folder("gpu_processes", KFD_PROC, optional=True)
    # A container sees the driver's list with the host's numbers, which name other processes here.
    known = set(pids)
    for name in listed or []:
        if name.isdigit() and int(name) in known and KFD not in paths.get(int(name), []):
            paths.setdefault(int(name), []).append(KFD)
    paths.pop(own_pid, None)
    if denied:
        advice = "" if as_root else ": that needs root"
        tree.problem("gpu_processes", PROC, "%d processes could not be looked at%s" % (denied, advice))
        if listed is None and not paths and not as_root:
            return None
    return [_describe(tree, pid, sorted(held)) for pid, held in sorted(paths.items())]


def _held(proc: str, pid: int) -> List[str]:
    folder = "%s/%d/fd" % (proc, pid)
    held = set()
    for name in os.listdir(folder):
        try:
            target = os.readlink(folder + "/" + name)
        except FileNotFoundError:
            continue
        if target.startswith("/dev/") and is_gpu_node(target):
            held.add(_without_mark(target))
    return sorted(held)


def is_gpu_node(target: str) -> bool:
    """Say whether the text of a link in /proc/PID/fd names a GPU's device node."""
    path = _without_mark(target)
    return path == KFD or (path.startswith(_RENDER) and path[len(_RENDER) :].isdigit())


def _without_mark(target: str) -> str:
    return target[: -len(_DELETED)] if target.endswith(_DELETED) else target


def _describe(tree: Tree, pid: int, held: List[str]) -> Dict[str, Any]:
    folder = "%s/%d" % (PROC, pid)
    info = tree.stat(folder)
    return {
        "pid": pid,
        "name": tree.read_line("gpu_processes", folder + "/comm", optional=True),
        "uid": info.st_uid if info is not None else None,
        "paths": held,
    }
