# SPDX-License-Identifier: Apache-2.0
"""The checks of processor.py, and the settings that no host can read."""

from __future__ import annotations

from typing import Any

from support.rows import Row, change, each, hole, not_held
from support.snapshots import node


@each(
    {
        "performance": Row("ok", observed="128 x performance"),
        "mixed": Row(
            "warn", "short collectives", change("cpu_power/governors", {"performance": 1, "schedutil": 127}),
            observed="1 x performance, 127 x schedutil",
        ),
        "not scaled": Row("skipped", "does not scale", change("cpu_power/governors", {})),
        "captured tree without it": Row("skipped", "does not hold", not_held("cpu_power")),
    }
)  # fmt: skip
def test_governor(row: Row) -> None:
    row.assert_holds("cpu.governor")


@each(
    {
        "off": Row("ok", subject="C2", observed="disabled"),
        "on for one": Row("warn", "1 of 128", change("cpu_power/idle_states/0/disabled", 127)),
        "not readable": Row("unknown", "not hold", change("cpu_power/idle_states/0/processors", 0)),
        "none": Row("skipped", "no deep idle", change("cpu_power/idle_states", [])),
    }
)
def test_idle_states(row: Row) -> None:
    row.assert_holds("cpu.idle_states")


@each(
    {
        "off": Row("ok", observed="off"),
        "on": Row("warn", "share a core", change("cpu/smt_active", True)),
        "not readable": Row("unknown", "EACCES", hole("cpu/smt_active", "/sys/devices/system/cpu/smt/active")),
        "a model whose guide does not ask": Row(
            "skipped",
            "does not ask",
            change("cpu/smt_active", True),
            options={"gpu_model": "mi300x", "gpu_hive_size": 8},
        ),
    }
)
def test_smt(row: Row) -> None:
    row.assert_holds("cpu.smt")


def numa(count: int) -> Any:
    return change("numa/nodes", [{"id": number, "cpulist": f"{number}", "distance": []} for number in range(count)])


@each(
    {
        "one a socket": Row("ok", observed="NPS1", expected="NPS1 or NPS2 or NPS4"),
        "four a socket": Row("ok", observed="NPS4", change=numa(8)),
        "declared, and another": Row("fail", "2 NUMA nodes on 2", options={"numa_per_socket": 4}, observed="NPS1"),
        "no whole number": Row("warn", "3 NUMA nodes", numa(3), observed="3 nodes on 2 sockets"),
        "MI300X wants one": Row(
            "warn", "8 NUMA nodes", numa(8), options={"gpu_model": "mi300x", "gpu_hive_size": 8}, expected="NPS1"
        ),
        "sockets not known": Row("unknown", "not hold", change("cpu/sockets", None)),
        "captured tree without NUMA": Row("skipped", "does not hold", not_held("numa")),
    }
)
def test_nps(row: Row) -> None:
    row.assert_holds("numa.nps")


def test_settings_of_the_bios_are_told_with_their_values_and_never_ok() -> None:
    results = node().check("bios.settings")
    assert len(results) > 8
    assert {result.outcome for result in results} == {"skipped"}
    assert all(result.subject and result.expected and result.reason for result in results)
    assert ("4-link xGMI max speed, link width", "18 Gbps; manual, force, 2 (x16)") in {
        (result.subject, result.expected) for result in results
    }
