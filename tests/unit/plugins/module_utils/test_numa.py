# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible_collections.instinct.bringup.plugins.module_utils.numa import read_numa
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

Plant = Callable[[dict[str, Any]], Tree]
ROOT = "/sys/devices/system/node"


def test_nodes_in_order_with_a_node_that_has_memory_only(plant: Plant) -> None:
    files = {f"{ROOT}/online": "0-10\n"}
    for number, cpus in ((0, "0-63"), (2, ""), (10, "64-127")):
        files[f"{ROOT}/node{number}/cpulist"] = cpus + "\n"
        files[f"{ROOT}/node{number}/distance"] = "10 12 32\n"
    tree = plant(files)
    assert read_numa(tree) == {
        "nodes": [
            {"id": 0, "cpulist": "0-63", "distance": [10, 12, 32]},
            {"id": 2, "cpulist": "", "distance": [10, 12, 32]},
            {"id": 10, "cpulist": "64-127", "distance": [10, 12, 32]},
        ]
    }
    assert tree.problems() == []


def test_a_distance_that_is_no_number(plant: Plant) -> None:
    tree = plant({f"{ROOT}/node0/cpulist": "0\n", f"{ROOT}/node0/distance": "10 x\n"})
    assert read_numa(tree) == {"nodes": [{"id": 0, "cpulist": "0", "distance": None}]}
    assert tree.problems()[0]["path"] == f"{ROOT}/node0/distance"


def test_no_numa_is_none(plant: Plant) -> None:
    tree = plant({})
    assert read_numa(tree) is None
    assert len(tree.problems()) == 1
