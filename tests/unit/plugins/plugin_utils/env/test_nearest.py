# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.instinct.bringup.plugins.plugin_utils.env.nearest import Nearest, edits

WORDS = st.text(alphabet="ABC_", max_size=8)


def plain(left: str, right: str) -> int:
    """Count edits by the definition, without any of the short cuts."""
    rows = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for i in range(len(left) + 1):
        for j in range(len(right) + 1):
            if i == 0 or j == 0:
                rows[i][j] = i + j
                continue
            rows[i][j] = min(rows[i - 1][j] + 1, rows[i][j - 1] + 1, rows[i - 1][j - 1] + (left[i - 1] != right[j - 1]))
            if i > 1 and j > 1 and left[i - 1] == right[j - 2] and left[i - 2] == right[j - 1]:
                rows[i][j] = min(rows[i][j], rows[i - 2][j - 2] + 1)
    return rows[-1][-1]


@settings(max_examples=40)
@given(WORDS, WORDS)
def test_edits_are_those_of_the_definition(left: str, right: str) -> None:
    true = plain(left, right)
    assert edits(left, right, 2) == (true if true <= 2 else None)


@settings(max_examples=40)
@given(st.lists(WORDS.map(lambda word: "LONG_PREFIX_" + word), max_size=6), WORDS)
def test_the_nearest_is_as_near_as_any(known: list[str], word: str) -> None:
    name = "LONG_PREFIX_" + word
    found = Nearest(known).find(name)
    near = [plain(name, other) for other in known]
    if found is None:
        assert all(distance > 2 for distance in near)
    else:
        assert plain(name, found) == min(near)


@pytest.mark.parametrize(
    ("name", "found"),
    [("NCCL_IB_SLX", "NCCL_IB_SL"), ("NCCL_IB_QP", None), ("NCCL_IB_SLXY", None)],
    ids=["one edit", "two edits of a short name", "two letters more"],
)
def test_short_names_may_be_one_edit_away(name: str, found: str | None) -> None:
    assert Nearest(["NCCL_IB_SL", "NCCL_TOPO_FILE"]).find(name) == (found if len(name) < 12 else "NCCL_IB_SL")
