# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.instinct.bringup.plugins.module_utils import opt_rocm
from ansible_collections.instinct.bringup.plugins.module_utils.dpkg import FileLists
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

Plant = Callable[[dict[str, Any]], Tree]
FILES: dict[str, Any] = {
    "/opt/rocm": "-> /etc/alternatives/rocm",
    "/etc/alternatives/rocm": "-> /opt/rocm-5.4.2",
    "/opt/rocm-5.4.2/.info/version": "5.4.2-104\n",
    "/opt/rocm-5.4.2/lib/librccl.so.1.0": "x",
    "/opt/rocm-5.4.2/lib/librccl.so": "-> librccl.so.1.0",
    "/opt/rocm-5.4.2/own/tool": "x",
    "/opt/rocm-5.4.2/own/link": "-> /etc",
    "/opt/rocm-5.1.3/lib/left.so": "x",
    "/opt/rocmless/x": "x",
    "/opt/site/README": "x",
    "/var/lib/dpkg/info/rocm-core.list": "/.\n/opt\n/opt/rocm-5.4.2\n/opt/rocm-5.4.2/.info\n/opt/rocm-5.4.2/.info/version\n",
    "/var/lib/dpkg/info/rccl.list": "/opt/rocm-5.4.2/lib\n/opt/rocm-5.4.2/lib/librccl.so.1.0\n/opt/rocm-5.4.2/lib/librccl.so\n",
    "/var/lib/dpkg/info/base.list": "/opt\n/opt/rocm-5.1.3\n",
}


def test_the_link_the_trees_and_their_owners(plant: Plant) -> None:
    tree = plant(FILES)
    assert opt_rocm.read_opt(tree, FileLists(tree)) == {
        "rocm_link": {"target": "/etc/alternatives/rocm", "resolved": "/opt/rocm-5.4.2"},
        "trees": [
            {"path": "/opt/rocm-5.1.3", "owners": [], "version": None, "unowned_files": 1},
            {"path": "/opt/rocm-5.4.2", "owners": ["rccl", "rocm-core"], "version": "5.4.2-104", "unowned_files": 2},
        ],
    }
    assert tree.problems() == []


def test_a_link_into_nothing_resolves_to_nothing(plant: Plant) -> None:
    tree = plant({**FILES, "/etc/alternatives/rocm": "-> /opt/rocm-5.2.0"})
    seen = opt_rocm.read_opt(tree, FileLists(tree))
    assert seen is not None
    assert seen["rocm_link"] == {"target": "/etc/alternatives/rocm", "resolved": None}


def test_a_folder_in_the_place_of_the_link_is_a_tree(plant: Plant) -> None:
    planted = plant({"/opt/rocm/lib/x": "", "/var/lib/dpkg/info": None})
    seen = opt_rocm.read_opt(planted, FileLists(planted))
    assert seen is not None
    assert seen["rocm_link"] is None
    assert [(tree["path"], tree["owners"], tree["unowned_files"]) for tree in seen["trees"]] == [("/opt/rocm", [], 1)]


def test_without_dpkg_nobody_tells_the_owners(plant: Plant) -> None:
    tree = plant({"/opt/rocm-6.1.2/x": ""})
    seen = opt_rocm.read_opt(tree, FileLists(tree))
    assert seen is not None
    assert seen["trees"] == [{"path": "/opt/rocm-6.1.2", "owners": None, "version": None, "unowned_files": None}]
    assert tree.problems()[0]["path"] == "/var/lib/dpkg/info"


def test_a_node_without_opt_has_no_trees(plant: Plant) -> None:
    tree = plant({})
    assert opt_rocm.read_opt(tree, FileLists(tree)) == {"rocm_link": None, "trees": []}
    assert tree.problems() == []


def test_an_opt_on_the_network_is_not_looked_at(plant: Plant) -> None:
    tree = plant(FILES)
    tree.far["/opt"] = "nfs4"
    assert opt_rocm.read_opt(tree, FileLists(tree)) is None
    assert tree.problems() == [
        {"area": "opt", "path": "/opt", "message": "/opt is a mount of type nfs4: not looked at"}
    ]


def test_a_tree_that_is_a_mount_is_named_rather_than_missed(plant: Plant) -> None:
    tree = plant(FILES)
    tree.far["/opt/rocm-5.4.2"] = "nfs4"
    seen = opt_rocm.read_opt(tree, FileLists(tree))
    assert seen is not None
    assert [entry["path"] for entry in seen["trees"]] == ["/opt/rocm-5.1.3"]
    assert {"area": "opt", "path": "/opt/rocm-5.4.2"}.items() <= tree.problems()[0].items()


def test_counting_is_bounded(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opt_rocm, "MAX_ENTRIES", 3)
    tree = plant({"/var/lib/dpkg/info": None, **{f"/opt/rocm-1/{number}": "" for number in range(9)}})
    seen = opt_rocm.read_opt(tree, FileLists(tree))
    assert seen is not None
    assert seen["trees"][0]["unowned_files"] == 3
    assert tree.problems()[0]["message"] == "more than 3 entries: counting stopped"
