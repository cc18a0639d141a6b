# SPDX-License-Identifier: Apache-2.0
"""Offload is held against three numbers: the node's memory, its control group, its locked memory."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.host import host_limits, may_pin
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.sizes import GIB

# The made input: a node of 252 GiB, a control group of 128 GiB and 8 MiB of locked memory.
SMALL = {
    "memory": {"total_bytes": 263846912 * 1024, "group_limit_bytes": 137438953472},
    "services": [{"name": "sshd", "memlock_soft": 8192 * 1024}, {"name": "slurmd", "memlock_soft": "unlimited"}],
}


def node(total: int | None, *locked: Any, group: int | None = None) -> dict[str, Any]:
    services = [{"name": f"s{index}", "memlock_soft": limit} for index, limit in enumerate(locked)]
    return {"memory": {"total_bytes": total, "group_limit_bytes": group}, "services": services}


def test_the_three_numbers_are_named() -> None:
    limits = host_limits(SMALL)
    assert limits.memory == 137438953472
    assert limits.describe() == ("MemTotal 251.6 GiB, control group's limit 128.0 GiB, locked memory 8192 KiB")


@pytest.mark.parametrize(
    ("need", "snapshot", "pin", "why"),
    [
        pytest.param(None, node(GIB, "unlimited"), False, "not declared", id="no-model"),
        pytest.param(6 * GIB, node(10 * GIB, "unlimited"), True, "below 60%", id="fits"),
        pytest.param(7 * GIB, node(10 * GIB, "unlimited"), False, "above 60%", id="above-60"),
        pytest.param(7 * GIB, node(100 * GIB, "unlimited", group=10 * GIB), False, "above 60%", id="control-group"),
        pytest.param(6 * GIB, node(100 * GIB, 8192 * 1024), False, "below the need", id="locked"),
        pytest.param(6 * GIB, node(100 * GIB, "unlimited", 8192), False, "below the need", id="least-service"),
        pytest.param(6 * GIB, node(100 * GIB), False, "locked memory is not known", id="no-services"),
        pytest.param(6 * GIB, node(100 * GIB, None), False, "locked memory is not known", id="service-not-read"),
        pytest.param(6 * GIB, node(None, "unlimited"), False, "memory is not known", id="no-memory"),
        pytest.param(6 * GIB, {}, False, "memory is not known", id="nothing"),
    ],
)
def test_what_may_be_pinned(need: int | None, snapshot: dict[str, Any], pin: bool, why: str) -> None:
    may, reason = may_pin(need, host_limits(snapshot))
    assert may is pin
    assert why in reason


def test_what_nobody_knows_is_said() -> None:
    assert host_limits({}).describe() == "MemTotal unknown, control group's limit none, locked memory unknown"
