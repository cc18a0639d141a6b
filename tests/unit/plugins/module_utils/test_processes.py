# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.instinct.bringup.plugins.module_utils.processes import is_gpu_node, read_gpu_processes
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

Plant = Callable[[dict[str, Any]], Tree]
FILES: dict[str, Any] = {
    "/proc/1/comm": "systemd\n",
    "/proc/1/fd/0": "-> /dev/null",
    "/proc/12/comm": "python3\n",
    "/proc/12/fd/3": "-> /dev/kfd",
    "/proc/12/fd/4": "-> /dev/dri/renderD128",
    "/proc/12/fd/5": "-> /dev/dri/renderD128",
    "/proc/12/fd/6": "-> socket:[1234]",
    "/proc/77/fd/3": "-> /dev/kfd",
    "/proc/90/comm": "old\n",
    "/proc/90/fd/3": "-> /dev/dri/renderD129 (deleted)",
    "/proc/meminfo": "",
    "/proc/99": None,
}


def test_who_holds_a_gpu_without_oneself(plant: Plant) -> None:
    tree = plant(FILES)
    assert read_gpu_processes(tree, own_pid=77, as_root=True) == [
        {"pid": 12, "name": "python3", "uid": os.geteuid(), "paths": ["/dev/dri/renderD128", "/dev/kfd"]},
        {"pid": 90, "name": "old", "uid": os.geteuid(), "paths": ["/dev/dri/renderD129"]},
    ]
    assert tree.problems() == []


def test_the_drivers_own_list_adds_those_that_keep_memory_mapped(plant: Plant) -> None:
    tree = plant({**FILES, "/sys/class/kfd/kfd/proc/1/pasid": "", "/sys/class/kfd/kfd/proc/4711/pasid": ""})
    found = read_gpu_processes(tree, own_pid=77, as_root=True)
    assert found is not None
    assert [(entry["pid"], entry["paths"]) for entry in found][:1] == [(1, ["/dev/kfd"])]
    # 4711 is a number of the host's, which is nobody in this container.
    assert [entry["pid"] for entry in found] == [1, 12, 90]


@pytest.mark.parametrize(
    ("target", "answer"),
    [
        ("/dev/kfd", True),
        ("/dev/kfd (deleted)", True),
        ("/dev/dri/renderD130", True),
        ("/dev/dri/card0", False),
        ("/dev/kfd2", False),
        ("/dev/dri/renderD", False),
        ("/home/dev/kfd", False),
    ],
)
def test_names_of_nodes(target: str, answer: bool) -> None:
    assert is_gpu_node(target) is answer


def test_blindness_is_not_nobody(open_root: Path, lay_files: Callable[..., None], without_root: Any) -> None:
    lay_files(open_root, {"/proc/5/fd": None})
    os.chmod(open_root / "proc/5/fd", 0)

    def look() -> Any:
        tree = Tree(str(open_root))
        return [read_gpu_processes(tree, own_pid=1, as_root=False), tree.problems()]

    found, problems = without_root(look)
    assert found is None
    assert [entry["message"] for entry in problems] == ["1 processes could not be looked at: that needs root"]
