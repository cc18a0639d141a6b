# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from typing import Any

from ansible_collections.instinct.bringup.plugins.module_utils import watch
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree
from ansible_collections.instinct.bringup.plugins.module_utils.users import LocalAccounts

Plant = Callable[[dict[str, Any]], Tree]
NOBODY = LocalAccounts()


def look(tree: Tree, path: str) -> Any:
    return watch.read_watched(tree, NOBODY, [path])[path]


def test_a_file_with_content_mode_and_owner(plant: Plant) -> None:
    tree = plant({"/etc/x": "text\n"})
    os.chmod(tree.root + "/etc/x", 0o4640)
    info = os.stat(tree.root + "/etc/x")
    assert look(tree, "/etc/x") == {
        "type": "file",
        "sha256": hashlib.sha256(b"text\n").hexdigest(),
        "mode": "4640",
        "owner": str(info.st_uid),
        "group": str(info.st_gid),
        "size": 5,
        "target": None,
        "text": "text\n",
    }


def test_a_long_or_binary_file_is_told_by_its_hash(plant: Plant) -> None:
    tree = plant({"/long": "x" * (watch.TEXT_BYTES + 1), "/binary": b"\0\xff"})
    for path in ("/long", "/binary"):
        seen = look(tree, path)
        assert seen["text"] is None
        assert len(seen["sha256"]) == 64
    assert tree.problems() == []


def test_a_link_is_not_followed(plant: Plant) -> None:
    tree = plant({"/etc/link": "-> /nowhere", "/etc/folder": None})
    assert (look(tree, "/etc/link")["type"], look(tree, "/etc/link")["target"]) == ("link", "/nowhere")
    assert (look(tree, "/etc/folder")["type"], look(tree, "/etc/folder")["sha256"]) == ("directory", None)


def test_what_is_not_there_is_absent(plant: Plant) -> None:
    tree = plant({"/etc/file": ""})
    for path in ("/etc/gone", "/gone/too", "/etc/file/below"):
        assert look(tree, path)["type"] == "absent"
    assert tree.problems() == []


def test_what_cannot_be_told_is_none_and_a_problem(plant: Plant) -> None:
    tree = plant({"/loop": "-> /loop", "/share/x": ""})
    tree.far["/share"] = "cifs"
    os.mkfifo(tree.root + "/pipe")
    assert [look(tree, path) for path in ("/loop/x", "/pipe", "/share/x")] == [None, None, None]
    assert [problem["path"] for problem in tree.problems()] == ["/loop/x", "/pipe", "/share/x"]


def test_a_pattern_tells_what_is_there_under_its_own_path(plant: Plant) -> None:
    units = "/etc/systemd/system"
    tree = plant(
        {
            f"{units}/slurmd.service.d/99-x.conf": "a\n",
            f"{units}/docker.service.d/10-y.conf": "b\n",
            f"{units}/slurmd.service": "c\n",
        }
    )
    seen = watch.read_watched(tree, NOBODY, [f"{units}/sshd.service.d/99-x.conf", f"{units}/*.service.d/99-x.conf"])
    assert {path: entry and entry["type"] for path, entry in seen.items()} == {
        f"{units}/sshd.service.d/99-x.conf": "absent",
        f"{units}/slurmd.service.d/99-x.conf": "file",
    }
    assert watch.read_watched(tree, NOBODY, [f"{units}/*.timer.d/99-x.conf", "/srv/none/*.d/99-x.conf"]) == {}
    assert tree.problems() == []
