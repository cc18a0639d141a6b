# SPDX-License-Identifier: Apache-2.0
"""The configs hold only what their version takes, in numbers, and the word "auto" only where the Trainer fills it in."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ansible_collections.instinct.bringup.plugins.plugin_utils.catalog import default_catalog
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.configs import (
    NAMES,
    as_json,
    make_configs,
    put_over,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.errors import ConfigError
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.lint import lint_config, lint_text
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.schema import schema_of
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.sizes import Sizes

SIZES = Sizes(2, 4, 50_000_000, 1_000_000_000, 100_000, False)
VERSIONS = default_catalog().deepspeed("keys")["read_at"]


def made(version: str = "0.9.3") -> dict[str, Any]:
    return make_configs(SIZES, schema_of(version, default_catalog()))


def leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for inner in value.values() for leaf in leaves(inner)]
    return [value]


@pytest.mark.parametrize("version", VERSIONS)
def test_no_version_that_was_read_has_a_finding(version: str) -> None:
    schema = schema_of(version, default_catalog())
    for name, config in made(version).items():
        assert lint_config(config, schema, trainer=name.endswith("_auto"), world=16) == [], name


@pytest.mark.parametrize(("name", "stage"), [("zero2", 2), ("zero3", 3), ("zero3_offload", 3)])
def test_what_is_written_out_holds_numbers(name: str, stage: int) -> None:
    config = made()[name]
    assert config["zero_optimization"]["stage"] == stage
    assert "auto" not in leaves(config)
    assert [leaf for leaf in leaves(config) if isinstance(leaf, str)] in ([], ["cpu", "cpu"])
    assert (config["train_micro_batch_size_per_gpu"], config["gradient_accumulation_steps"]) == (2, 4)
    assert config["zero_optimization"]["reduce_bucket_size"] == 50_000_000
    assert config["bf16"] == {"enabled": True}
    assert "fp16" not in config


@pytest.mark.parametrize("name", ["zero2_auto", "zero3_auto", "zero3_offload_auto"])
def test_without_the_trainer_every_auto_is_found(name: str) -> None:
    config = made()[name]
    found = lint_config(config, schema_of("0.9.3", default_catalog()))
    assert len(found) == leaves(config).count("auto") > 8
    assert {finding.verdict for finding in found} == {"auto"}


def test_a_key_that_an_old_version_ignores_is_left_out() -> None:
    assert "zero_force_ds_cpu_optimizer" not in made("0.8.2")["zero3_offload"]
    assert made("0.8.3")["zero3_offload"]["zero_force_ds_cpu_optimizer"] is False


@pytest.mark.parametrize("name", NAMES)
def test_text_is_json_of_the_same_config(name: str) -> None:
    config = made()[name]
    assert json.loads(as_json(config)) == config
    trainer = name.endswith("_auto")
    assert lint_text(as_json(config), schema_of("0.9.3", default_catalog()), trainer) == []


def test_a_sites_keys_are_put_over_the_configs() -> None:
    over = {
        "all": {"steps_per_print": 10, "zero_optimization": {"overlap_comm": False}},
        "zero3": {"zero_optimization": {"overlap_comm": True, "sub_group_size": 5, "reduce_scatter": None}},
    }
    before = made()
    after = put_over(before, over)
    assert all(config["steps_per_print"] == 10 for config in after.values())
    assert after["zero2"]["zero_optimization"]["overlap_comm"] is False
    zero = after["zero3"]["zero_optimization"]
    assert (zero["overlap_comm"], zero["sub_group_size"], zero["stage"]) == (True, 5, 3)
    assert "reduce_scatter" not in zero
    assert before == made()


def test_what_is_meant_for_deepspeed_does_not_reach_fsdp() -> None:
    after = put_over({**made(), "fsdp": {}}, {"all": {"steps_per_print": 10}, "fsdp": {"use_orig_params": False}})
    assert after["fsdp"] == {"use_orig_params": False}


@pytest.mark.parametrize(
    ("over", "message"),
    [
        pytest.param({"zero1": {}}, "the configs are zero2, zero3", id="unknown-name"),
        pytest.param({"zero3": "stage: 3"}, "must be a mapping", id="no-mapping"),
    ],
)
def test_what_cannot_be_put_over_is_refused(over: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        put_over(made(), over)
