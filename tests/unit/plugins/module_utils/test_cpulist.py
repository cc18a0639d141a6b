# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from ansible_collections.instinct.bringup.plugins.module_utils.cpulist import parse_cpulist


@pytest.mark.parametrize(
    ("given", "numbers"),
    [
        ("0-3,8", [0, 1, 2, 3, 8]),
        ("0\n", [0]),
        ("", []),
        ("3-1", None),
        ("0-99999999", None),
        ("a", None),
        ("-1", None),
        ("1-", None),
    ],
)
def test_cpu_lists(given: str, numbers: list[int] | None) -> None:
    assert parse_cpulist(given) == numbers
