# SPDX-License-Identifier: Apache-2.0
"""The hostfile holds what the launcher reads, and nothing that it would misread."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.errors import ConfigError
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.hostfile import hostfile


def test_hostfile_is_sorted_as_people_count() -> None:
    assert hostfile([("gpu10", 8), ("gpu2", 4)]) == "gpu2 slots=4\ngpu10 slots=8\n"


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        pytest.param([("gpu 1", 8)], "no host name", id="space"),
        pytest.param([("gpu1\nevil slots=1", 8)], "no host name", id="line-end"),
        pytest.param([("#gpu1", 8)], "no host name", id="comment"),
        pytest.param([("", 8)], "no host name", id="empty"),
        pytest.param([("gpu1", 0)], "0 slots", id="no-slots"),
        pytest.param([("gpu1", "8")], "'8' slots", id="text-slots"),
        pytest.param([("gpu1", 8), ("gpu1", 4)], "2 times", id="twice"),
    ],
)
def test_hostfile_that_the_launcher_would_misread_is_refused(entries: list[tuple[str, Any]], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        hostfile(entries)


@given(st.dictionaries(st.from_regex(r"[a-z][a-z0-9-]{0,10}[a-z0-9]", fullmatch=True), st.integers(1, 16), max_size=8))
def test_hostfile_reads_back_to_its_entries(hosts: dict[str, int]) -> None:
    lines = hostfile(list(hosts.items())).splitlines()
    assert {line.split(" slots=")[0]: int(line.split(" slots=")[1]) for line in lines} == hosts
