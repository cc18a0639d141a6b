# SPDX-License-Identifier: Apache-2.0
"""Look for what installers leave beside their packages: paths by pattern, and the packages that own them."""

from __future__ import annotations

import fnmatch
import os
import stat
from typing import Any, Dict, List, Optional, Sequence, Set

from ansible_collections.instinct.bringup.plugins.module_utils.dpkg import FileLists
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

Json = Dict[str, Any]


def read_leftovers(tree: Tree, patterns: Sequence[str], files: FileLists) -> List[Json]:
    """Return what the patterns find, each path once, with its type and the packages that own it or something in it.

    patterns: absolute, with * and ? in the last part only. owners: None where there is no dpkg to ask.
    """
    paths: List[str] = []
    for pattern in patterns:
        paths.extend(path for path in _matches(tree, pattern) if path not in paths)
    kinds = {path: _kind(tree, path) for path in paths}
    owners = _owners(files, kinds) if paths else {}
    return [
        {"path": path, "type": kind, "owners": None if owners is None else sorted(owners.get(path, ()))}
        for path, kind in kinds.items()
    ]


def _matches(tree: Tree, pattern: str) -> List[str]:
    folder, name = os.path.split(pattern)
    names = tree.list_folder("leftovers", folder, optional=True) or []
    return ["%s/%s" % (folder, found) for found in names if fnmatch.fnmatchcase(found, name)]


def _kind(tree: Tree, path: str) -> str:
    info = tree.stat(path, follow=False)
    mode = info.st_mode if info is not None else 0
    return "link" if stat.S_ISLNK(mode) else "directory" if stat.S_ISDIR(mode) else "file"


def _owners(files: FileLists, kinds: Dict[str, str]) -> Optional[Dict[str, Set[str]]]:
    """Return {path: packages}. A folder is owned by what has something in it, not by what only lists it."""
    lists = files.lists()
    if lists is None:
        return None
    # On a merged /usr dpkg's lists hold either spelling of /lib.
    needles = [
        (path, ("\n%s%s%s" % (prefix, path, "/" if kind == "directory" else "\n")).encode("utf-8", "surrogateescape"))
        for path, kind in kinds.items()
        for prefix in ("", "/usr")
    ]
    found: Dict[str, Set[str]] = {}
    for package, data in lists:
        for path, needle in needles:
            if needle in data:
                found.setdefault(path, set()).add(package)
    return found
