# SPDX-License-Identifier: Apache-2.0
"""DeepSpeed's configs hold only what every version from 0.8.3 on takes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed_config import (
    ConfigError,
    as_json,
    hostfile,
    zero2,
    zero3,
)

OPTIONS: dict[str, Any] = {
    "deepspeed_micro_batch": 2,
    "deepspeed_gradient_accumulation": 4,
    "deepspeed_bucket_size": 50000000,
    "deepspeed_offload": "none",
}
# The keys of zero_optimization that both 0.8.3 and 0.19 have; both refuse any other.
ZERO_KEYS = {
    "stage",
    "contiguous_gradients",
    "reduce_scatter",
    "reduce_bucket_size",
    "allgather_partitions",
    "allgather_bucket_size",
    "overlap_comm",
    "round_robin_gradients",
    "offload_param",
    "offload_optimizer",
    "stage3_prefetch_bucket_size",
    "stage3_gather_16bit_weights_on_model_save",
}
CONFIGS = [
    pytest.param(zero2(OPTIONS), 2, id="zero2"),
    pytest.param(zero3(OPTIONS), 3, id="zero3"),
    pytest.param(zero3(OPTIONS | {"deepspeed_offload": "cpu"}), 3, id="zero3-offload"),
]


def leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for inner in value.values() for leaf in leaves(inner)]
    return [value]


@pytest.mark.parametrize(("config", "stage"), CONFIGS)
def test_config_holds_numbers_and_known_keys(config: dict[str, Any], stage: int) -> None:
    assert config["zero_optimization"]["stage"] == stage
    assert set(config["zero_optimization"]) <= ZERO_KEYS
    assert "comms_config" not in config
    assert "auto" not in leaves(config)
    assert [leaf for leaf in leaves(config) if isinstance(leaf, str)] in ([], ["cpu", "cpu"])


@pytest.mark.parametrize(("config", "stage"), CONFIGS)
def test_text_is_json_of_the_same_config(config: dict[str, Any], stage: int) -> None:
    assert json.loads(as_json(config)) == config
    assert as_json(config).endswith("}\n")


def test_options_reach_the_config() -> None:
    config = zero2(OPTIONS)
    assert (config["train_micro_batch_size_per_gpu"], config["gradient_accumulation_steps"]) == (2, 4)
    assert config["zero_optimization"]["reduce_bucket_size"] == 50000000


def test_half_and_brain_floats_are_not_both_on() -> None:
    assert zero2(OPTIONS)["bf16"] == {"enabled": True}
    assert "fp16" not in zero2(OPTIONS)


@pytest.mark.parametrize("value", ["auto", "500MB", 0, -1, 5.5, True, None], ids=repr)
@pytest.mark.parametrize("name", ["deepspeed_micro_batch", "deepspeed_gradient_accumulation", "deepspeed_bucket_size"])
def test_option_that_is_no_whole_number_is_refused(name: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=name):
        zero3(OPTIONS | {name: value})


def test_unknown_offload_is_refused() -> None:
    with pytest.raises(ConfigError, match="nvme"):
        zero3(OPTIONS | {"deepspeed_offload": "nvme"})


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
