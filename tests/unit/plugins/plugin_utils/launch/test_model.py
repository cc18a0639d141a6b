# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from ansible_collections.instinct.bringup.plugins.plugin_utils.launch.model import interface_of

CARDS = [
    {"name": "lo", "operstate": "unknown"},
    {"name": "eth0", "operstate": "up"},
    {"name": "eth1", "operstate": "down"},
    {"name": "ib0", "operstate": "up"},
]


@pytest.mark.parametrize(
    ("selector", "wanted"),
    [
        ("=eth0,ib0", "eth0"),
        ("=eth1,ib0", "ib0"),
        ("=eth", ""),
        ("eth", "eth0"),
        ("ib,eth", "ib0"),
        ("^lo,docker", ""),
        ("=lo", ""),
        ("", ""),
    ],
    ids=["exact", "the first is down", "no prefix", "prefix", "their order", "only which not", "loopback", "empty"],
)
def test_the_interface_is_the_first_that_is_named_and_up(selector: str, wanted: str) -> None:
    assert interface_of(selector, CARDS) == wanted
