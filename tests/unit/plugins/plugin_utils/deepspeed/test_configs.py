# SPDX-License-Identifier: Apache-2.0
"""DeepSpeed's configs hold only what every version from 0.8.3 on takes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.configs import as_json, zero2, zero3
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.errors import ConfigError

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
