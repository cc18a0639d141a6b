# SPDX-License-Identifier: Apache-2.0
"""The checks of tuning.py. CASES R-08 (memlock), R-09 (NUMA balancing), S-11 (shared memory)."""

from __future__ import annotations

from typing import Any

import pytest
from support.rows import Row, change, changes, each, hole, not_held

BALANCING = "sysctl/kernel.numa_balancing"
FILE = "/proc/sys/kernel/numa_balancing"


@each(
    {
        "off": Row("ok", observed="0", evidence=FILE),
        "on": Row("fail", "scans", change(f"{BALANCING}/now", "1"), observed="1"),
        "R-09, tiering": Row("fail", "value 2", change(f"{BALANCING}/now", "2"), observed="2"),
        "odd": Row("unknown", "'yes'", change(f"{BALANCING}/now", "yes")),
        "no such tunable": Row("skipped", "has no NUMA balancing", change(f"{BALANCING}/now", None)),
        "not readable": Row("unknown", "EACCES", hole(f"{BALANCING}/now", FILE)),
        "one node": Row("skipped", "one NUMA node", change(f"{BALANCING}/now", "1"), machine="mi210-4gpu-quad"),
        "captured tree without it": Row("skipped", "does not hold", not_held("sysctl")),
    }
)
def test_numa_balancing(row: Row) -> None:
    row.assert_holds("sys.numa_balancing")


def places(*values: tuple[str, str]) -> Any:
    entries = [{"path": path, "value": value} for path, value in values]
    last = entries[-1] if entries else {"path": None, "value": None}
    return changes(
        change(f"{BALANCING}/set_by", entries),
        change(f"{BALANCING}/next", last["value"]),
        change(f"{BALANCING}/next_from", last["path"]),
    )


@each(
    {
        "stays off": Row("ok", evidence="/etc/sysctl.d/90-rocm.conf"),
        "R-09, a later file": Row(
            "fail",
            "99-tuned.conf sets it to 1, after /etc/sysctl.d/90-rocm.conf",
            places(("/etc/sysctl.d/90-rocm.conf", "0"), ("/etc/sysctl.d/99-tuned.conf", "1")),
            evidence="/etc/sysctl.d/99-tuned.conf",
        ),
        "set at run time only": Row("warn", "no file sets it", places()),
        "no such tunable": Row("skipped", "has no NUMA", changes(places(), change(f"{BALANCING}/now", None))),
        "one node": Row("skipped", "one NUMA node", places(), machine="mi210-4gpu-quad"),
    }
)
def test_numa_balancing_persistent(row: Row) -> None:
    row.assert_holds("sys.numa_balancing_persistent")


def service(name: str, soft: Any, hard: Any) -> Any:
    return change("services", [{"name": name, "pid": 7, "memlock_soft": soft, "memlock_hard": hard}])


@each(
    {
        "unlimited": Row("ok", observed="unlimited", evidence="/proc/7/limits"),
        "R-08, 64 KiB": Row("fail", "slurmd may lock 64 KiB", service("slurmd", 65536, 65536), observed="64 KiB"),
        "the soft one is what counts": Row("fail", "8192 KiB", service("slurmd", 8388608, "unlimited")),
        "sshd's sessions have their own": Row("ok", "themselves", service("sshd", 65536, 65536), expected="told only"),
        "not readable": Row("unknown", "not hold", service("slurmd", None, None)),
        "nothing runs": Row("skipped", "no service", change("services", [])),
        "captured tree": Row("skipped", "does not hold", not_held("services")),
    }
)
def test_memlock_effective(row: Row) -> None:
    row.assert_holds("limits.memlock_effective")


def test_the_remedy_names_the_daemon_and_the_drop_in() -> None:
    (result,) = Row("fail", change=service("pbs_mom", 65536, 65536)).node().check("limits.memlock_effective")
    assert "/etc/systemd/system/pbs_mom.service.d/memlock.conf" in result.remedy


@pytest.mark.parametrize(("total", "outcome"), [(64 << 20, "warn"), (8 << 30, "ok")], ids=["S-11, 64 MiB", "enough"])
def test_shm_total(total: int, outcome: str) -> None:
    shm = {"total_bytes": total, "free_bytes": 0}
    Row(outcome, "smaller" if outcome == "warn" else "", change("shm", shm)).assert_holds("shm.total")
