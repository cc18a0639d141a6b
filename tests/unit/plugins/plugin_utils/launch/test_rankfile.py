# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.instinct.bringup.plugins.plugin_utils.launch.model import LaunchModel
from ansible_collections.instinct.bringup.plugins.plugin_utils.launch.rankfile import read_rankfile, render_rankfile


def model(hosts: tuple[tuple[str, int], ...]) -> LaunchModel:
    return LaunchModel(hosts, 29500, "/launch", "/hostfile", "/venv", "/env")


def test_ranks_are_counted_through_all_hosts() -> None:
    text = render_rankfile(model((("gpu01", 2), ("gpu02", 1))), {"gpu01": ["0-7", "8-15"], "gpu02": ["0-3,8-11"]})
    assert text is not None
    assert [line for line in text.splitlines() if not line.startswith("#")] == [
        "rank 0=gpu01 slot=0-7",
        "rank 1=gpu01 slot=8-15",
        "rank 2=gpu02 slot=0-3,8-11",
    ]


def test_there_is_none_where_the_processors_of_one_rank_are_not_known() -> None:
    hosts = (("gpu01", 2), ("gpu02", 1))
    assert render_rankfile(model(hosts), {"gpu01": ["0-7", "8-15"]}) is None
    assert render_rankfile(model(hosts), {"gpu01": ["0-7"], "gpu02": ["0"]}) is None


@given(st.dictionaries(st.from_regex(r"gpu[0-9]{1,3}", fullmatch=True), st.integers(1, 16), min_size=1))
def test_what_is_written_is_read_again(slots: dict[str, int]) -> None:
    processors = {host: [f"{at * 4}-{at * 4 + 3}" for at in range(count)] for host, count in slots.items()}
    text = render_rankfile(model(tuple(slots.items())), processors)
    assert text is not None
    assert read_rankfile(text) == processors
