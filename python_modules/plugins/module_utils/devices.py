# SPDX-License-Identifier: Apache-2.0
"""Read the GPU's device nodes, and try to open them as the users who need them."""

from __future__ import annotations

import errno
import os
import stat
from typing import Any, Dict, List, Mapping, Optional, Sequence

from ansible_collections.instinct.bringup.plugins.module_utils.child import ChildError, call_in_child
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree
from ansible_collections.instinct.bringup.plugins.module_utils.users import LocalAccounts

KFD = "/dev/kfd"
DRI = "/dev/dri"
SECONDS = 5.0

Json = Dict[str, Any]


def read_nodes(tree: Tree, local: LocalAccounts) -> List[Json]:
    """Return /dev/kfd and the nodes of /dev/dri with mode and owner; what is not there is left out."""
    names = tree.list_folder("devices", DRI, optional=True) or []
    paths = [KFD] + ["%s/%s" % (DRI, name) for name in names if name.startswith(("card", "renderD"))]
    nodes: List[Json] = []
    for path in paths:
        info = tree.stat(path)
        if info is None or stat.S_ISDIR(info.st_mode):
            continue
        mode, uid, gid = tree.owners.get(path, (stat.S_IMODE(info.st_mode), info.st_uid, info.st_gid))
        nodes.append(
            {
                "path": path,
                "mode": "%04o" % mode,
                "uid": uid,
                "gid": gid,
                "owner": local.user_name(uid),
                "group": local.group_name(gid),
            }
        )
    return nodes


def open_as(tree: Tree, users: Mapping[str, Optional[Json]], nodes: Sequence[Json]) -> Dict[str, Dict[str, str]]:
    """Return {user: {path: "ok" or the errno's name}} of a real open of /dev/kfd and one render node.

    A user who does not exist, or whom this process may not become, is left out, with a problem.
    """
    render = [node["path"] for node in nodes if node["path"].startswith(DRI + "/renderD")]
    paths = [KFD, *render[:1]]
    results: Dict[str, Dict[str, str]] = {}
    for name, user in users.items():
        if user is None or not user["exists"]:
            tree.problem("devices", KFD, "not opened as %s: there is no such user" % name)
            continue
        try:
            results[name] = call_in_child(_opener(tree, name, user, paths), SECONDS)
        except ChildError as error:
            tree.problem("devices", KFD, "not opened as %s: %s" % (name, error))
    return results


def _opener(tree: Tree, name: str, user: Json, paths: Sequence[str]) -> Any:
    return lambda: _become_and_open(tree, name, user, paths)


def _become_and_open(tree: Tree, name: str, user: Json, paths: Sequence[str]) -> Dict[str, str]:
    """Run in a child: take the user's identity for good, then open each node once."""
    if os.geteuid() != user["uid"]:
        os.setgroups(os.getgrouplist(name, user["gid"]))
        os.setgid(user["gid"])
        os.setuid(user["uid"])
    return {path: _open(tree, path) for path in paths}


def _open(tree: Tree, path: str) -> str:
    try:
        os.close(os.open(tree.host_path(path), os.O_RDWR | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC))
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, str(error.errno))
    return "ok"
