# SPDX-License-Identifier: Apache-2.0
"""Tell which mounts must not be touched, and measure the space of those that may be.

A statvfs or stat on the mount of a dead file server never returns and no alarm ends it, so the
mount table is read first. What still blocks is asked in a child that is left behind.
"""

from __future__ import annotations

import os
import re
from typing import Any, Dict, Optional, Sequence

from ansible_collections.instinct.bringup.plugins.module_utils.child import ChildError, call_in_child
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree, is_absent, reason

MOUNTINFO = "/proc/self/mountinfo"
SECONDS = 3.0

_REMOTE = frozenset(
    (
        *("nfs", "nfs4", "cifs", "smb3", "smbfs", "ncpfs", "9p", "virtiofs", "afs", "coda", "ceph", "glusterfs"),
        *("lustre", "lustre_lite", "gpfs", "beegfs", "beegfs_nodev", "pvfs2", "orangefs", "wekafs"),
        # shared disks, which wait for a lock manager, and what mounts something only when it is touched
        *("ocfs2", "gfs2", "autofs", "fuse"),
    )
)
# Local ones among the file systems in user space: they answer as long as the node does.
_LOCAL_FUSE = frozenset(("fuse.lxcfs", "fuse.fuse-overlayfs", "fuse.snapfuse", "fuse.squashfuse"))
_ESCAPE = re.compile(r"\\([0-7]{3})")


def parse_far_mounts(text: str) -> Dict[str, str]:
    """Return mount point -> type of the network and automounted mounts in a mountinfo text.

    The root itself is never among them: on a diskless node it is on the network, and must be read.
    """
    top: Dict[str, str] = {}
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        fields = before.split(" ", 5)
        kind = after.partition(" ")[0]
        if len(fields) >= 5 and kind:
            # A later line lies on top of an earlier one: an automount that is mounted shows both.
            top[_ESCAPE.sub(lambda found: chr(int(found.group(1), 8)), fields[4])] = kind
    return {point: kind for point, kind in top.items() if point != "/" and is_remote(kind)}


def is_remote(kind: str) -> bool:
    """Say whether a file system of this type may wait for another machine."""
    return kind in _REMOTE or (kind.startswith("fuse.") and kind not in _LOCAL_FUSE)


def read_far_mounts(tree: Tree) -> Dict[str, str]:
    """Return the mounts to keep away from; without a mount table none are known."""
    text = tree.read_text("mounts", MOUNTINFO, limit=64 * 1024 * 1024)
    return parse_far_mounts(text) if text is not None else {}


def read_space(tree: Tree, paths: Sequence[str]) -> Dict[str, Optional[Dict[str, int]]]:
    """Return {path: {"free_bytes", "total_bytes"}}; None with a problem where it cannot be told.

    Free is what a user who is not root may take. A path that does not exist yet is measured at
    the nearest folder above it.
    """
    found: Dict[str, Optional[Dict[str, int]]] = {}
    places: Dict[str, str] = {}
    for path in paths:
        found[path] = None
        try:
            places[path] = _nearest(tree, path)
        except OSError as error:
            tree.problem("space", path, error)
    if not places:
        return found
    try:
        answers: Dict[str, Any] = call_in_child(lambda: _measure(places), SECONDS)
    except ChildError as error:
        for path in places:
            tree.problem("space", path, str(error))
        return found
    for path, answer in answers.items():
        if isinstance(answer, str):
            tree.problem("space", path, answer)
        else:
            found[path] = answer
    return found


def _nearest(tree: Tree, path: str) -> str:
    while True:
        try:
            host = tree.host_path(path)
            os.lstat(host)
            return host
        except OSError as error:
            if not is_absent(error) or path in ("", "/"):
                raise
            path = os.path.dirname(path.rstrip("/"))


def _measure(places: Dict[str, str]) -> Dict[str, Any]:
    answers: Dict[str, Any] = {}
    for path, host in places.items():
        try:
            seen = os.statvfs(host)
            answers[path] = {
                "free_bytes": seen.f_bavail * seen.f_frsize,
                "total_bytes": seen.f_blocks * seen.f_frsize,
            }
        except OSError as error:
            answers[path] = reason(error)
    return answers
