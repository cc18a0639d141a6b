# SPDX-License-Identifier: Apache-2.0
"""Read what lies under /opt/rocm*: the link, the trees, and who owns their files."""

from __future__ import annotations

import os
import stat
from typing import Any, Dict, List, Optional, Set

from ansible_collections.instinct.bringup.plugins.module_utils.dpkg import FileLists
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

OPT = "/opt"
LINK = "/opt/rocm"
PREFIX = "rocm"
# A whole ROCm has some 50,000 files. More than this is something else, and counting it costs seconds.
MAX_ENTRIES = 200_000

Json = Dict[str, Any]


def read_opt(tree: Tree, files: FileLists) -> Optional[Json]:
    """Return the snapshot's "opt"; None with a problem when /opt cannot be looked at.

    owners and unowned_files are None where there is no dpkg database to tell them.
    """
    names = tree.list_folder("opt", OPT, optional=True)
    if names is None and tree.presence(OPT) is None:
        return None
    paths = ["%s/%s" % (OPT, name) for name in names or [] if name == PREFIX or name.startswith(PREFIX + "-")]
    folders = [path for path in paths if _is_own_folder(tree, path)]
    owned = files.below(OPT + "/" + PREFIX) if folders else {}
    return {"rocm_link": _link(tree), "trees": [_rocm_tree(tree, path, owned) for path in folders]}


def _is_own_folder(tree: Tree, path: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(tree.host_path(path, follow=False)).st_mode)
    except OSError as error:
        # A tree that is a mount of its own: it must not look as if it were not there.
        tree.problem("opt", path, error)
        return False


def _link(tree: Tree) -> Optional[Json]:
    """Return the link /opt/rocm, or None when it is not there or is a folder of its own."""
    info = tree.stat(LINK, follow=False)
    if info is None or not stat.S_ISLNK(info.st_mode):
        return None
    resolved: Optional[str] = None
    try:
        resolved = tree.resolve(LINK)
    except OSError as error:
        tree.problem("opt", LINK, error)
    return {
        "target": tree.read_link("opt", LINK),
        "resolved": resolved if resolved is not None and tree.exists(resolved) else None,
    }


def _rocm_tree(tree: Tree, path: str, owned: Optional[Dict[str, Set[str]]]) -> Json:
    inside = path + "/"
    owners: Optional[List[str]] = None
    unowned: Optional[int] = None
    if owned is not None:
        mine: Set[str] = set()
        owners = []
        for package, paths in sorted(owned.items()):
            below = {entry for entry in paths if entry.startswith(inside)}
            # A folder that only lists the tree itself, as a base-files would, owns nothing in it.
            if below:
                owners.append(package)
                mine |= below
        unowned = _count_unowned(tree, path, mine)
    return {
        "path": path,
        "owners": owners,
        "version": tree.read_line("opt", path + "/.info/version", optional=True),
        "unowned_files": unowned,
    }


def _count_unowned(tree: Tree, path: str, owned: Set[str]) -> int:
    """Return how many files and links under a tree no package owns. Mounts in it are not entered."""
    seen = count = 0
    # lexists: the tree's own path may lead over a link in a captured root, its inside may not.
    start = tree.host_path(path)
    device = os.lstat(start).st_dev
    todo = [(path, start)]
    while todo:
        folder, host = todo.pop()
        try:
            with os.scandir(host) as entries:
                for entry in entries:
                    seen += 1
                    if seen > MAX_ENTRIES:
                        tree.problem("opt", path, "more than %d entries: counting stopped" % MAX_ENTRIES)
                        return count
                    name = folder + "/" + entry.name
                    if not entry.is_dir(follow_symlinks=False):
                        count += name not in owned
                    elif name not in tree.far and entry.stat(follow_symlinks=False).st_dev == device:
                        todo.append((name, entry.path))
        except OSError as error:
            tree.problem("opt", folder, error)
    return count
