# SPDX-License-Identifier: Apache-2.0
"""The bounds of RCCL's memory follow its source, and hold what RCCL's own planner was seen to give."""

from __future__ import annotations

import pytest

from ansible_collections.instinct.bringup.plugins.plugin_utils.rccl_memory import (
    MIB,
    MemoryBounds,
    channel_limits,
    collective_bounds,
    connection_bytes,
    memory_note,
)


@pytest.mark.parametrize(
    ("buffsize", "receive"), [(4 * MIB, 6), (2 * MIB, 4), (MIB, 2), (65536, 2)], ids=["4M", "2M", "1M", "64K"]
)
def test_receiving_side_is_rounded_up_to_two_mib(buffsize: int, receive: int) -> None:
    assert connection_bytes(buffsize) == (receive * MIB, 2 * MIB)


@pytest.mark.parametrize(
    ("ranks", "channels", "least", "most"),
    [
        pytest.param(2, 8, 64, 64, id="pair"),
        pytest.param(2, 24, 192, 192, id="pair-three-links"),
        pytest.param(4, 8, 104, 128, id="two-pairs"),
        pytest.param(8, 8, 104, 128, id="four-pairs-or-two-quads"),
        pytest.param(4, 24, 328, 392, id="quad"),
        pytest.param(4, 4, 40, 64, id="four-on-pcie"),
        pytest.param(8, 4, 40, 64, id="eight-on-pcie"),
    ],
)
def test_what_the_planner_gave_is_within_the_bounds(ranks: int, channels: int, least: int, most: int) -> None:
    bounds = collective_bounds(ranks, (channels, channels))
    assert bounds.least_mib <= least <= most <= bounds.most_mib


def test_a_pair_is_known_exactly() -> None:
    assert collective_bounds(2, (8, 8)) == MemoryBounds(64, 64)


def test_one_rank_takes_nothing() -> None:
    assert collective_bounds(1, (2, 32)) == MemoryBounds(0, 0)


def test_fewer_channels_and_smaller_buffers_take_less() -> None:
    assert collective_bounds(4, (2, 2), MIB) == MemoryBounds(8, 24)
    assert collective_bounds(4, (2, 2)) == MemoryBounds(16, 48)


@pytest.mark.parametrize(
    ("version", "most", "limits"),
    [
        ("2.13.4", None, (2, 32)),
        ("2.18.3", None, (2, 32)),
        ("2.18.6", None, (2, 64)),
        ("2.20.5", None, (2, 128)),
        ("2.13.4", 8, (2, 8)),
        ("2.13.4", 1, (1, 1)),
        ("2.13.4", 999, (2, 32)),
    ],
)
def test_channels_are_limited_by_the_build_and_the_variable(
    version: str, most: int | None, limits: tuple[int, int]
) -> None:
    assert channel_limits(version, most) == limits


def test_note_says_the_bounds_and_what_they_follow_from() -> None:
    note = memory_note(8, "2.13.4", {"NCCL_MAX_NCHANNELS": "2", "NCCL_BUFFSIZE": "1048576"})
    assert note.startswith("RCCL's rings and trees take 8 to 24 MiB of device memory on each of 8 ranks")
    assert "2 to 2 channels, NCCL_BUFFSIZE 1048576" in note
