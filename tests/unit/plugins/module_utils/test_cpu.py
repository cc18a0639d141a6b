# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.instinct.bringup.plugins.module_utils import cpu
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

Plant = Callable[[dict[str, Any]], Tree]
CPUINFO = "".join(
    f"processor\t: {number}\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 1\nphysical id\t: {number // 2}\n\n"
    for number in range(4)
)


def test_sockets_come_from_sysfs(plant: Plant) -> None:
    tree = plant(
        {
            "/proc/cpuinfo": CPUINFO,
            "/sys/devices/system/cpu/online": "0-1,3\n",
            "/sys/devices/system/cpu/smt/active": "1\n",
            **{
                f"/sys/devices/system/cpu/cpu{number}/topology/physical_package_id": f"{package}\n"
                for number, package in ((0, 0), (1, 1), (3, 2))
            },
        }
    )
    assert cpu.read_cpu(tree) == {
        "logical": 3,
        "sockets": 3,
        "vendor": "AuthenticAMD",
        "family": 25,
        "model": 1,
        "smt_active": True,
    }
    assert tree.problems() == []


def test_without_sysfs_cpuinfo_tells(plant: Plant) -> None:
    seen = cpu.read_cpu(plant({"/proc/cpuinfo": CPUINFO}))
    assert (seen["logical"], seen["sockets"], seen["smt_active"]) == (4, 2, None)


def test_nothing_to_read_is_none_and_a_problem(plant: Plant) -> None:
    tree = plant({"/sys/devices/system/cpu/online": "many\n"})
    assert set(cpu.read_cpu(tree).values()) == {None}
    assert {entry["path"] for entry in tree.problems()} == {"/proc/cpuinfo", "/sys/devices/system/cpu/online"}


def test_memory_is_in_bytes(plant: Plant) -> None:
    assert cpu.read_memory(plant({"/proc/meminfo": "MemFree: 1 kB\nMemTotal:  527597108 kB\n"})) == {
        "total_bytes": 527597108 * 1024,
        "group_limit_bytes": None,
    }


@pytest.mark.parametrize(
    ("files", "limit"),
    [
        pytest.param({"/sys/fs/cgroup/memory.max": "137438953472\n"}, 137438953472, id="container"),
        pytest.param({"/sys/fs/cgroup/memory.max": "max\n"}, None, id="no-limit"),
        pytest.param(
            {"/sys/fs/cgroup/memory.max": "2000\n", "/sys/fs/cgroup/user.slice/memory.max": "1000\n"}, 1000, id="least"
        ),
        pytest.param(
            {"/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, None, id="first-no-limit"
        ),
        pytest.param({"/sys/fs/cgroup/memory/memory.limit_in_bytes": "4096\n"}, 4096, id="first"),
        pytest.param({"/sys/fs/cgroup/memory.max": "lots\n"}, None, id="odd"),
    ],
)
def test_the_least_limit_of_the_groups_of_jobs(plant: Plant, files: dict[str, str], limit: int | None) -> None:
    assert cpu.read_memory(plant({"/proc/meminfo": "MemTotal: 1 kB\n", **files}))["group_limit_bytes"] == limit


def test_memory_that_is_not_told(plant: Plant) -> None:
    tree = plant({"/proc/meminfo": "MemTotal: lots\n"})
    assert cpu.read_memory(tree) == {"total_bytes": None, "group_limit_bytes": None}
    assert tree.problems()[0]["message"] == "no MemTotal in it"
