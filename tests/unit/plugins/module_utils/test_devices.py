# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import pwd
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.instinct.bringup.plugins.module_utils import devices
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree
from ansible_collections.instinct.bringup.plugins.module_utils.users import LocalAccounts

Plant = Callable[[dict[str, Any]], Tree]
FILES = {
    "/dev/kfd": "",
    "/dev/dri/renderD128": "",
    "/dev/dri/renderD129": "",
    "/dev/dri/card0": "",
    "/dev/dri/by-path/x": "",
}


def myself() -> dict[str, Any]:
    return {"exists": True, "uid": os.geteuid(), "gid": os.getegid()}


def test_nodes_with_mode_and_owner(plant: Plant) -> None:
    tree = plant(FILES)
    os.chmod(tree.root + "/dev/kfd", 0o660)
    local = LocalAccounts(f"me:x:{os.geteuid()}:0:::\n", f"mine:x:{os.getegid()}:\n")
    nodes = devices.read_nodes(tree, local)
    assert [node["path"] for node in nodes] == [
        "/dev/kfd",
        "/dev/dri/card0",
        "/dev/dri/renderD128",
        "/dev/dri/renderD129",
    ]
    assert nodes[0] == {
        "path": "/dev/kfd",
        "mode": "0660",
        "uid": os.geteuid(),
        "gid": os.stat(tree.root + "/dev/kfd").st_gid,
        "owner": "me",
        "group": LocalAccounts("", f"mine:x:{os.getegid()}:\n").group_name(os.stat(tree.root + "/dev/kfd").st_gid),
    }


def test_a_real_open_as_oneself(plant: Plant) -> None:
    tree = plant(FILES)
    nodes = devices.read_nodes(tree, LocalAccounts())
    assert devices.open_as(tree, {"me": myself()}, nodes) == {"me": {"/dev/kfd": "ok", "/dev/dri/renderD128": "ok"}}
    assert tree.problems() == []


def test_a_node_that_is_not_there(plant: Plant) -> None:
    assert devices.open_as(plant({}), {"me": myself()}, []) == {"me": {"/dev/kfd": "ENOENT"}}


@pytest.mark.skipif(os.geteuid() != 0, reason="becoming another user needs root")
@pytest.mark.parametrize(("mode", "result"), [(0o660, "EACCES"), (0o666, "ok")])
def test_a_real_open_as_another_user(open_root: Path, lay_files: Callable[..., None], mode: int, result: str) -> None:
    lay_files(open_root, FILES)
    os.chmod(open_root / "dev/kfd", mode)
    other = pwd.getpwnam("nobody")
    user = {"exists": True, "uid": other.pw_uid, "gid": other.pw_gid}
    assert devices.open_as(Tree(str(open_root)), {"nobody": user}, []) == {"nobody": {"/dev/kfd": result}}
    assert os.geteuid() == 0


def test_users_who_do_not_exist_are_left_out_with_a_problem(plant: Plant) -> None:
    tree = plant(FILES)
    assert devices.open_as(tree, {"ghost": {"exists": False}, "unasked": None}, []) == {}
    assert [entry["message"] for entry in tree.problems()] == [
        "not opened as ghost: there is no such user",
        "not opened as unasked: there is no such user",
    ]


def test_a_user_whom_one_may_not_become_is_a_problem(
    open_root: Path, lay_files: Callable[..., None], without_root: Any
) -> None:
    lay_files(open_root, FILES)

    def look() -> Any:
        tree = Tree(str(open_root))
        return [devices.open_as(tree, {"root": {"exists": True, "uid": 0, "gid": 0}}, []), tree.problems()]

    opened, problems = without_root(look)
    assert opened == {}
    assert "not opened as root: PermissionError" in problems[0]["message"]
