# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.errors import ConfigError
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.sizes import GIB, bucket_of, make_sizes

OPTIONS: dict[str, Any] = {
    "deepspeed_micro_batch": 2,
    "deepspeed_gradient_accumulation": 4,
    "deepspeed_bucket_size": 0,
}


@pytest.mark.parametrize(
    ("gib", "bucket"), [(64, 100_000_000), (32, 50_000_000), (192, 500_000_000), (1, 2_000_000), (0, 1_000_000)]
)
def test_a_bucket_is_a_share_of_the_card(gib: int, bucket: int) -> None:
    assert bucket_of(gib * GIB) == bucket


def test_what_the_site_says_stands() -> None:
    assert make_sizes(OPTIONS | {"deepspeed_bucket_size": 123}, 64 * GIB, True).bucket == 123


def test_parameters_that_live_at_once_are_deepspeeds_default_where_the_card_is_large() -> None:
    assert make_sizes(OPTIONS, 64 * GIB, False).live_parameters == 1_000_000_000
    assert make_sizes(OPTIONS, 16 * GIB, False).live_parameters == GIB // 2


@pytest.mark.parametrize("value", ["auto", "500MB", -1, 5.5, True, None], ids=repr)
@pytest.mark.parametrize("name", sorted(OPTIONS))
def test_option_that_is_no_whole_number_is_refused(name: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=name):
        make_sizes(OPTIONS | {name: value}, 64 * GIB, False)


@given(st.integers(0, 1 << 42))
def test_any_card_has_a_bucket_within_its_share(card: int) -> None:
    bucket = bucket_of(card)
    assert 1_000_000 <= bucket <= 500_000_000
    assert bucket == 1_000_000 or bucket * 6 * 64 <= card
