# SPDX-License-Identifier: Apache-2.0
"""The settings of FSDP are those that the torch has, and HYBRID_SHARD is told how large a node is."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.fsdp import (
    lint_fsdp,
    lint_fsdp_text,
    make_fsdp,
)


@pytest.mark.parametrize("torch", ["1.13.1", "2.0.1", "2.10.0"])
@pytest.mark.parametrize("gpus", [0, 1, 4, 8])
def test_what_is_rendered_has_no_finding(torch: str, gpus: int) -> None:
    assert lint_fsdp(make_fsdp(torch, gpus), torch) == []


def test_a_node_of_several_gpus_is_a_group() -> None:
    config = make_fsdp("2.0.1", 8)
    assert (config["sharding_strategy"], config["group_size"]) == ("HYBRID_SHARD", 8)
    assert config["limit_all_gathers"] is config["sync_module_states"] is config["forward_prefetch"] is True


@pytest.mark.parametrize(("torch", "gpus"), [("1.13.1", 8), ("2.0.1", 1), ("2.0.1", 0)])
def test_without_groups_all_ranks_are_one(torch: str, gpus: int) -> None:
    config = make_fsdp(torch, gpus)
    assert config["sharding_strategy"] == "FULL_SHARD"
    assert "group_size" not in config


RIGHT = make_fsdp("2.0.1", 8)


@pytest.mark.parametrize(
    ("over", "torch", "path", "verdict", "instead"),
    [
        pytest.param({"limit_all_gather": True}, "2.0.1", "limit_all_gather", "unknown_key", "limit_all_gathers", id="key"),
        pytest.param({"use_orig_params": "true"}, "2.0.1", "use_orig_params", "bad_value", "true", id="text"),
        pytest.param({"use_orig_params": True}, "1.13.1", "use_orig_params", "not_yet", "", id="not-in-1.13"),
        pytest.param({"sharding_strategy": "hybrid_shard"}, "2.0.1", "sharding_strategy", "bad_value", "HYBRID_SHARD", id="case"),
        pytest.param({"sharding_strategy": 5}, "2.0.1", "sharding_strategy", "bad_value", "", id="number"),
        pytest.param({"group_size": None}, "2.0.1", "group_size", "bad_value", "", id="null"),
        pytest.param({"group_size": 3}, "2.0.1", "group_size", "conflict", "", id="does-not-divide"),
        pytest.param({"mixed_precision": "bfloat16"}, "2.0.1", "mixed_precision", "bad_value", "", id="precision"),
        pytest.param({"backward_prefetch": "BACKWARD_PRO"}, "2.0.1", "backward_prefetch", "bad_value", "", id="prefetch"),
    ],
)  # fmt: skip
def test_mistake_is_found(over: dict[str, Any], torch: str, path: str, verdict: str, instead: str) -> None:
    config = make_fsdp(torch, 8) | over
    found = [finding for finding in lint_fsdp(config, torch, world=16) if finding.path == path]
    assert [(finding.verdict, finding.use_instead) for finding in found] == [(verdict, instead)]
    assert found[0].matters


def test_hybrid_without_groups_is_refused() -> None:
    (found,) = lint_fsdp({key: value for key, value in RIGHT.items() if key != "group_size"}, "2.0.1")
    assert (found.verdict, found.use_instead) == ("conflict", "group_size")


def test_text_is_judged_with_its_lines() -> None:
    found = lint_fsdp_text('{\n"sharding_strategy": "HYBRID",\n"group_size": NaN}', "2.0.1")
    assert [(finding.line, finding.verdict) for finding in found][:2] == [(2, "bad_value"), (3, "bad_value")]
