# SPDX-License-Identifier: Apache-2.0
"""The plan sizes the configs for the node, judges them before anything is written, and refuses what cannot fit."""

from __future__ import annotations

import dataclasses
import json
import typing as t

import pytest

from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.build import build_plan, watched_paths
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.deepspeed import plan_deepspeed

from . import made

FLEET = (("gpu01", 8), ("gpu02", 8))
Json = dict[str, t.Any]


def plan(options: Json, snapshot: Json | None = None) -> Json:
    return build_plan(dataclasses.replace(made.context(snapshot or made.bare(), **options), host="gpu01", fleet=FLEET))


def configs(options: Json, snapshot: Json | None = None) -> tuple[dict[str, Json], tuple[str, ...]]:
    step = plan_deepspeed(
        dataclasses.replace(made.context(snapshot or made.bare(), **options), host="gpu01", fleet=FLEET)
    )
    files = {file.path.rpartition("/")[2]: file.content for file in step.files if file.path.endswith(".json")}
    return {name: json.loads(content) for name, content in files.items()}, step.notes


def test_every_file_is_rendered_and_watched() -> None:
    found, notes = configs({})
    assert sorted(found) == [
        "fsdp.json",
        "zero2.json",
        "zero2_auto.json",
        "zero3.json",
        "zero3_auto.json",
        "zero3_offload.json",
        "zero3_offload_auto.json",
    ]
    assert {f"/etc/deepspeed/{name}" for name in found} <= set(watched_paths(made.context(made.bare()).profile))
    assert notes == ()


def test_a_model_that_is_declared_is_estimated_beside_the_card() -> None:
    _found, notes = configs({"deepspeed_model_parameters": 7_000_000_000, "deepspeed_activation_mib": 10240})
    memory = [note for note in notes if note.startswith("DeepSpeed's memory, 7.0 billion parameters on 16 GPUs")]
    assert len(memory) == 4
    assert "activations 10.0" in memory[0]
    assert "of 64.0 GiB" in memory[0]
    assert "RCCL" in memory[0]
    assert notes[-1].startswith("zero3_offload's host memory: 58.7 GiB of this node; MemTotal 512.0 GiB")


@pytest.mark.parametrize(
    ("locked", "pin"), [pytest.param("unlimited", True, id="unlimited"), pytest.param(8192, False, id="little")]
)
def test_memory_is_pinned_where_the_node_has_enough(locked: object, pin: bool) -> None:
    snapshot = made.bare() | {"services": [{"name": "sshd", "memlock_soft": locked}]}
    found, _notes = configs({"deepspeed_model_parameters": 7_000_000_000}, snapshot)
    assert found["zero3_offload.json"]["zero_optimization"]["offload_param"]["pin_memory"] is pin


def test_a_model_too_large_is_refused_with_the_numbers_and_what_would_fit() -> None:
    (refusal,) = plan({"deepspeed_model_parameters": 2_000_000_000_000})["refusals"]
    assert refusal["id"] == "deepspeed.model_too_large"
    assert refusal["subject"] == "2000.0 billion parameters on 16 GPUs"
    assert "zero3: parameters 232.8" in refusal["seen"]
    assert "64.0 GiB of a card" in refusal["wanted"]
    assert "nodes of 8 GPUs with zero3_offload" in refusal["remedy"]


@pytest.mark.parametrize(
    ("over", "subject", "wanted"),
    [
        pytest.param(
            {"zero3": {"gradiant_clipping": 1}}, "zero3.json, gradiant_clipping", "gradient_clipping", id="key"
        ),
        pytest.param(
            {"zero2": {"zero_optimization": {"aio": {}}}}, "zero2.json, zero_optimization.aio", "aio", id="parent"
        ),
        pytest.param(
            {"zero2": {"train_batch_size": 5}}, "zero2.json, train_batch_size", "what DeepSpeed 0.9.3", id="batch"
        ),
        pytest.param(
            {"zero3": {"gradient_clipping": "auto"}}, "zero3.json, gradient_clipping", "what DeepSpeed", id="auto"
        ),
        pytest.param({"fsdp": {"forward_prefetch": "yes"}}, "fsdp.json, forward_prefetch", "true", id="fsdp"),
    ],
)
def test_a_sites_key_that_would_not_do_what_it_says_is_refused(over: Json, subject: str, wanted: str) -> None:
    (refusal,) = plan({"deepspeed_config_overrides": over})["refusals"]
    assert (refusal["id"], refusal["subject"]) == ("deepspeed.config", subject)
    assert refusal["wanted"].startswith(wanted)


def test_a_key_in_all_is_refused_once_for_each_file() -> None:
    refusals = plan({"deepspeed_config_overrides": {"all": {"comms_config": {}}}})["refusals"]
    assert len(refusals) == 6
    assert {refusal["wanted"] for refusal in refusals} == {"comms_logger"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        pytest.param({"deepspeed_config_overrides": {"zero9": {}}}, "the configs are", id="name"),
        pytest.param({"deepspeed_version": "0.7.7"}, "0.8.0 to 0.19.8", id="version"),
        pytest.param({"deepspeed_model_parameters": -1}, "deepspeed_model_parameters is -1", id="negative"),
        pytest.param({"deepspeed_bucket_size": -5}, "deepspeed_bucket_size is -5", id="bucket"),
    ],
)
def test_an_option_that_cannot_be_rendered_is_refused(options: Json, words: str) -> None:
    (refusal,) = plan(options)["refusals"]
    assert words in refusal["seen"]


def test_an_inferred_pair_is_said() -> None:
    _found, notes = configs({"rocm_release": "5.6.1"})
    assert notes[0].startswith("DeepSpeed 0.12.6 for torch 2.2.0 is inferred")
