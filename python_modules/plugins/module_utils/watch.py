# SPDX-License-Identifier: Apache-2.0
"""Read the paths that the plan manages: content, mode and owner of each."""

from __future__ import annotations

import hashlib
import os
import stat
from typing import Any, Dict, List, Optional, Sequence

from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree, as_text, is_absent
from ansible_collections.instinct.bringup.plugins.module_utils.users import LocalAccounts

# Longer files are told by their hash alone.
TEXT_BYTES = 256 * 1024
HASH_BYTES = 64 * 1024 * 1024

Json = Dict[str, Any]

_NOTHING: Json = {
    "sha256": None,
    "mode": None,
    "owner": None,
    "group": None,
    "size": None,
    "target": None,
    "text": None,
}


def read_watched(tree: Tree, local: LocalAccounts, paths: Sequence[str]) -> Dict[str, Optional[Json]]:
    """Return the snapshot's "watch". A last link is not followed; None with a problem where nothing can be told.

    A folder's name in a path may hold one *, such as /etc/systemd/system/*.service.d/x.conf: the files that are there
    are told, under their own paths.
    """
    named = [path for path in paths if "*" not in path]
    found = [path for pattern in paths if "*" in pattern for path in _matching(tree, pattern)]
    return {path: _look(tree, local, path) for path in [*named, *found]}


def _matching(tree: Tree, pattern: str) -> List[str]:
    parent, _, rest = pattern.partition("*")
    folder, _, prefix = parent.rpartition("/")
    suffix, _, inner = rest.partition("/")
    names = tree.list_folder("watch", folder, optional=True) or []
    matching = [name for name in names if name.startswith(prefix) and name.endswith(suffix)]
    paths = ["%s/%s/%s" % (folder, name, inner) for name in matching if len(name) >= len(prefix) + len(suffix)]
    return [path for path in paths if os.path.lexists(tree.host_path(path, follow=False))]


def _look(tree: Tree, local: LocalAccounts, path: str) -> Optional[Json]:
    try:
        host = tree.host_path(path, follow=False)
        info = os.lstat(host)
    except (OSError, ValueError) as error:
        if is_absent(error):
            return dict(_NOTHING, type="absent")
        tree.problem("watch", path, error)
        return None
    entry = dict(
        _NOTHING,
        mode="%04o" % stat.S_IMODE(info.st_mode),
        owner=local.user_name(info.st_uid),
        group=local.group_name(info.st_gid),
    )
    if stat.S_ISLNK(info.st_mode):
        return dict(entry, type="link", target=tree.read_link("watch", path))
    if stat.S_ISDIR(info.st_mode):
        return dict(entry, type="directory")
    if not stat.S_ISREG(info.st_mode):
        tree.problem("watch", path, "neither a file nor a folder nor a link")
        return None
    entry.update(type="file", size=info.st_size)
    data = tree.read_bytes("watch", path, limit=HASH_BYTES)
    if data is not None:
        entry["sha256"] = hashlib.sha256(data).hexdigest()
        entry["text"] = as_text(data) if len(data) <= TEXT_BYTES else None
    return entry
