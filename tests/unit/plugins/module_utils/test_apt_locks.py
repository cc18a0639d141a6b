# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from ansible_collections.instinct.bringup.plugins.module_utils.apt_locks import LOCKS, read_locks
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

Plant = Callable[[dict[str, Any]], Tree]
HOLD = (
    "import fcntl, sys\n"
    "stream = open(sys.argv[1], 'r+')\n"
    "fcntl.lockf(stream, fcntl.LOCK_EX)\n"
    "print('held', flush=True)\n"
    "sys.stdin.read()\n"
)


def test_who_holds_a_lock_is_named_and_the_lock_is_left_alone(plant: Plant) -> None:
    tree = plant(dict.fromkeys(LOCKS[:2], ""))
    argv = [sys.executable, "-c", HOLD, tree.root + LOCKS[0]]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        os.makedirs(f"{tree.root}/proc/{holder.pid}")
        with open(f"{tree.root}/proc/{holder.pid}/comm", "w", encoding="utf-8") as stream:
            stream.write("unattended-upgr\n")
        expected = [{"path": LOCKS[0], "pid": holder.pid, "name": "unattended-upgr"}]
        assert read_locks(tree) == expected
        assert read_locks(tree) == expected
        holder.communicate()
    assert read_locks(tree) == []
    assert tree.problems() == []


def test_without_lock_files_nobody_holds_any(plant: Plant) -> None:
    tree = plant({})
    assert read_locks(tree) == []
    assert tree.problems() == []
