# SPDX-License-Identifier: Apache-2.0
"""A version's keys are those of its own package; between two that disagree nobody claims to know."""

from __future__ import annotations

import pytest

from ansible_collections.instinct.bringup.plugins.plugin_utils.catalog import default_catalog
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.errors import ConfigError
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.schema import (
    ABSENT,
    GONE,
    IGNORED,
    NOT_KNOWN,
    REJECTED,
    Schema,
)

ZERO = ("zero_optimization",)
CATALOG = default_catalog()


@pytest.mark.parametrize(
    ("version", "section", "key", "kind"),
    [
        ("0.8.0", ZERO, "reduce_bucket_size", "int >= 0"),
        ("0.19.8", ZERO, "reduce_bucket_size", "int > 0"),
        ("0.9.3", ZERO, "stage", "one of 0, 1, 2, 3"),
        ("0.9.3", ZERO, "zero_quantized_weights", ABSENT),
        ("0.10.0", ZERO, "zero_quantized_weights", "bool"),
        ("0.9.2", ZERO, "mics_shard_size", "int"),
        ("0.19.8", ZERO, "mics_shard_size", GONE),
        ("0.19.4", ZERO, "mics_shard_size", NOT_KNOWN),
        ("0.8.2", (), "zero_force_ds_cpu_optimizer", ABSENT),
        ("0.8.3", (), "zero_force_ds_cpu_optimizer", "bool"),
        ("0.19.9", (), "log_level", "any"),
        ("0.9.3", (), "comms_config", ABSENT),
        ("0.9.3", ("optimizer", "params"), "torch_adam", "bool"),
    ],
)
def test_kind_is_that_of_the_version(version: str, section: tuple[str, ...], key: str, kind: str) -> None:
    assert Schema(version, CATALOG).kind(section, key) == kind


@pytest.mark.parametrize(
    ("version", "section", "extra"),
    [("0.9.3", (), IGNORED), ("0.9.3", ZERO, REJECTED), ("0.9.3", ("fp16",), IGNORED), ("0.19.8", ("fp16",), REJECTED)],
)
def test_what_becomes_of_an_unknown_key(version: str, section: tuple[str, ...], extra: str) -> None:
    assert Schema(version, CATALOG).extra(section) == extra


@pytest.mark.parametrize("version", ["0.7.9", "0.20.0", "1.0.0"])
def test_a_version_that_nobody_read_is_refused(version: str) -> None:
    with pytest.raises(ConfigError, match=r"0\.8\.0 to 0\.19\.8"):
        Schema(version, CATALOG)


def test_where_a_key_belongs() -> None:
    schema = Schema("0.9.3", CATALOG)
    assert schema.homes("aio") == [()]
    assert schema.homes("torch_adam") == [("optimizer", "params")]
    assert schema.homes("enabled") == []


def test_what_is_deprecated_names_what_takes_its_place() -> None:
    assert Schema("0.9.3", CATALOG).deprecated(ZERO, "cpu_offload") == "offload_optimizer"
    assert Schema("0.9.3", CATALOG).deprecated(ZERO, "stage") is None
