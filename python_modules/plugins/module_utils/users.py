# SPDX-License-Identifier: Apache-2.0
"""Read users and groups, from the files and from the directory service behind them."""

from __future__ import annotations

import grp
import os
import pwd
from typing import Any, Dict, List, NamedTuple, Optional, Sequence

from ansible_collections.instinct.bringup.plugins.module_utils.child import ChildError, call_in_child
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree, to_int

# The groups that give access to /dev/kfd and /dev/dri.
ACCESS_GROUPS = ("render", "video")
# A directory server that does not answer keeps the name service waiting.
SECONDS = 5.0

Json = Dict[str, Any]


class Account(NamedTuple):
    """A line of /etc/passwd."""

    uid: int
    gid: int


class Group(NamedTuple):
    """A line of /etc/group."""

    gid: int
    members: List[str]


class LocalAccounts:
    """The users and groups of a passwd and a group text; None is a text that could not be read."""

    def __init__(self, passwd: Optional[str] = None, group: Optional[str] = None) -> None:
        self.knows_users = passwd is not None
        self.knows_groups = group is not None
        self.users = parse_passwd(passwd or "")
        self.groups = parse_group(group or "")
        self._user_names = {user.uid: name for name, user in reversed(list(self.users.items()))}
        self._group_names = {group.gid: name for name, group in reversed(list(self.groups.items()))}

    def user_name(self, uid: int) -> str:
        """Return a user's name, the number as text where the files do not know it."""
        return self._user_names.get(uid, str(uid))

    def group_name(self, gid: int) -> str:
        """Return a group's name, the number as text where the files do not know it."""
        return self._group_names.get(gid, str(gid))


def read_local(tree: Tree) -> LocalAccounts:
    """Return the accounts of /etc/passwd and /etc/group."""
    return LocalAccounts(_read_accounts(tree, "/etc/passwd"), _read_accounts(tree, "/etc/group"))


def _read_accounts(tree: Tree, path: str) -> Optional[str]:
    """Return the text of an account file. One person's name in another encoding must not hide all accounts."""
    data = tree.read_bytes("users", path)
    if data is not None and b"\0" in data:
        tree.problem("users", path, "not text: it holds NUL bytes")
        return None
    return None if data is None else data.decode("utf-8", "surrogateescape")


def parse_passwd(text: str) -> Dict[str, Account]:
    """Return the users of a passwd text by name; lines of another form are dropped."""
    users: Dict[str, Account] = {}
    for line in text.splitlines():
        fields = line.split(":")
        if len(fields) < 4:
            continue
        uid, gid = to_int(fields[2]), to_int(fields[3])
        if uid is not None and gid is not None:
            users.setdefault(fields[0], Account(uid, gid))
    return users


def parse_group(text: str) -> Dict[str, Group]:
    """Return the groups of a group text by name; lines of another form are dropped."""
    groups: Dict[str, Group] = {}
    for line in text.splitlines():
        fields = line.split(":")
        gid = to_int(fields[2]) if len(fields) >= 4 else None
        if gid is not None:
            groups.setdefault(fields[0], Group(gid, [name for name in fields[3].split(",") if name]))
    return groups


def read_users(tree: Tree, local: LocalAccounts, names: Sequence[str], live: bool) -> Dict[str, Optional[Json]]:
    """Return the snapshot's "users".

    live: ask the name service of this machine too, which knows users that the files do not. When
    it does not answer in time, local users are told from the files, others are None. So is everybody
    of a root whose /etc/passwd cannot be read.
    """
    from_files = {name: _from_files(local, name) if local.knows_users else None for name in names}
    if not live or not names:
        return from_files
    try:
        answers: Dict[str, Json] = call_in_child(lambda: {name: _from_service(name) for name in names}, SECONDS)
    except ChildError as error:
        tree.problem("users", "/etc/nsswitch.conf", "the name service gave no answer: %s" % error)
        return {name: user if user is not None and user["exists"] else None for name, user in from_files.items()}
    return {
        name: dict(answer, local=name in local.users if local.knows_users else None) for name, answer in answers.items()
    }


def _from_files(local: LocalAccounts, name: str) -> Json:
    user = local.users.get(name)
    if user is None:
        return {"exists": False, "local": False, "uid": None, "gid": None, "groups": [], "gids": {}}
    named = {
        group: entry.gid for group, entry in local.groups.items() if name in entry.members or entry.gid == user.gid
    }
    ids = {"uid": user.uid, "gid": user.gid}
    return {"exists": True, "local": True, **ids, "groups": sorted(named), "gids": _access(named)}


def _from_service(name: str) -> Json:
    try:
        user = pwd.getpwnam(name)
    except KeyError:
        return {"exists": False, "uid": None, "gid": None, "groups": [], "gids": {}}
    named = {_service_group_name(gid): gid for gid in os.getgrouplist(name, user.pw_gid)}
    return {"exists": True, "uid": user.pw_uid, "gid": user.pw_gid, "groups": sorted(named), "gids": _access(named)}


def _access(named: Dict[str, int]) -> Dict[str, int]:
    """Return the numbers of the groups that give access, which a directory may give another number."""
    return {group: named[group] for group in ACCESS_GROUPS if group in named}


def _service_group_name(gid: int) -> str:
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)


def read_groups(local: LocalAccounts) -> Optional[Dict[str, int]]:
    """Return the snapshot's "groups": the local numbers of the access groups that exist."""
    if not local.knows_groups:
        return None
    return {name: local.groups[name].gid for name in ACCESS_GROUPS if name in local.groups}
