# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pwd
from collections.abc import Callable
from typing import Any

from ansible_collections.instinct.bringup.plugins.module_utils import users
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

Plant = Callable[[dict[str, Any]], Tree]
PASSWD = "root:x:0:0:root:/root:/bin/sh\ntoor:x:0:0::/:/bin/sh\ndeploy:x:1000:1000::/:/bin/sh\ncut:x\nodd:x:a:b:::\n"
GROUP = "root:x:0:\nvideo:x:44:\nrender:x:104:deploy,other\ndeploy:x:1000:\nodd\n"


def test_local_users_and_their_groups(plant: Plant) -> None:
    tree = plant({"/etc/passwd": PASSWD, "/etc/group": GROUP})
    local = users.read_local(tree)
    assert users.read_users(tree, local, ["deploy", "ghost", "odd"], live=False) == {
        "deploy": {
            "exists": True,
            "local": True,
            "uid": 1000,
            "gid": 1000,
            "groups": ["deploy", "render"],
            "gids": {"render": 104},
        },
        "ghost": {"exists": False, "local": False, "uid": None, "gid": None, "groups": [], "gids": {}},
        "odd": {"exists": False, "local": False, "uid": None, "gid": None, "groups": [], "gids": {}},
    }
    assert users.read_groups(local) == {"render": 104, "video": 44}
    assert tree.problems() == []


def test_names_of_numbers_and_numbers_without_name() -> None:
    local = users.LocalAccounts(PASSWD, GROUP)
    assert (local.user_name(0), local.user_name(1000), local.user_name(71017)) == ("root", "deploy", "71017")
    assert (local.group_name(104), local.group_name(39)) == ("render", "39")


def test_a_user_whom_only_the_name_service_knows_is_not_local(plant: Plant) -> None:
    tree = plant({"/etc/passwd": "", "/etc/group": ""})
    known = pwd.getpwuid(0)
    seen = users.read_users(tree, users.read_local(tree), [known.pw_name, "no-such-user"], live=True)
    root = seen[known.pw_name]
    assert root is not None
    assert (root["exists"], root["local"], root["uid"], root["gid"]) == (True, False, 0, known.pw_gid)
    assert root["groups"]
    assert seen["no-such-user"] == {"exists": False, "local": False, "uid": None, "gid": None, "groups": [], "gids": {}}


def test_an_unreadable_file_is_not_nobody(plant: Plant) -> None:
    tree = plant({"/etc/passwd": b"\0", "/etc/group": b"\0"})
    local = users.read_local(tree)
    assert users.read_users(tree, local, ["deploy"], live=False) == {"deploy": None}
    assert users.read_groups(local) is None
    root = users.read_users(tree, local, ["root"], live=True)["root"]
    assert root is not None
    assert (root["exists"], root["local"]) == (True, None)
    assert [problem["path"] for problem in tree.problems()] == ["/etc/passwd", "/etc/group"]


def test_without_an_access_group_there_is_no_number() -> None:
    assert users.read_groups(users.LocalAccounts("", "video:x:44:\n")) == {"video": 44}
