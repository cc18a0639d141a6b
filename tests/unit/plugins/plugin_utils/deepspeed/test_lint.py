# SPDX-License-Identifier: Apache-2.0
"""Each mistake that DeepSpeed ignores, drops, misreads or stops at is found, with the right key or value."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.instinct.bringup.plugins.plugin_utils.catalog import default_catalog
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.lint import lint_config, lint_text, worst
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.model import VERDICTS, Finding
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.schema import schema_of

VERSIONS = ("0.8.3", "0.9.2", "0.9.3", "0.19.8")
RIGHT = {"train_micro_batch_size_per_gpu": 1}


def findings(config: dict[str, Any], version: str = "0.9.3", **options: Any) -> list[Finding]:
    return lint_config(RIGHT | config, schema_of(version, default_catalog()), **options)


def zero(**keys: Any) -> dict[str, Any]:
    return {"zero_optimization": {"stage": 3, **keys}}


# What each version does was tried with the real packages; tests/slow/test_deepspeed_packages.py tries it again.
TRAINER = "only the Hugging Face Trainer"
WARMUP = {"scheduler": {"type": "WarmupLR", "params": {"warmup_num_steps": "auto"}}}
ODD = {"train_batch_size": 7, "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 2}
WRONG = [
    pytest.param({"comms_config": {"a": 1}}, "unknown_key", "comms_config", "comms_logger", "", id="comms_config-top"),
    pytest.param(zero(comms_config={}), "unknown_key", "zero_optimization.comms_config", "comms_logger", "", id="comms_config-zero"),
    pytest.param(zero(grad_hard_split=True), "unknown_key", "zero_optimization.grad_hard_split", "round_robin_gradients", "", id="grad_hard_split"),
    pytest.param({"gradiant_clipping": 1.0}, "unknown_key", "gradiant_clipping", "gradient_clipping", "ignores", id="gradiant_clipping"),
    pytest.param(zero(overlap_com=True), "unknown_key", "zero_optimization.overlap_com", "overlap_comm", "stops", id="overlap_com"),
    pytest.param(zero(gradient_clipping=1.0), "wrong_parent", "zero_optimization.gradient_clipping", "gradient_clipping", "at the top", id="clipping-in-zero"),
    pytest.param(zero(aio={"block_size": 262144}), "wrong_parent", "zero_optimization.aio", "aio", "at the top", id="aio-in-zero"),
    pytest.param({"torch_adam": True}, "wrong_parent", "torch_adam", "optimizer.params.torch_adam", "in optimizer.params", id="torch_adam-top"),
    pytest.param({"overlap_comm": True}, "wrong_parent", "overlap_comm", "zero_optimization.overlap_comm", "in zero_optimization", id="overlap-top"),
    pytest.param({"comms_logger": {"enabled": True, "verbos": True}}, "unknown_key", "comms_logger.verbos", "verbose", "stops", id="comms_logger"),
    pytest.param(zero(reduce_bucket_size="auto"), "auto", "zero_optimization.reduce_bucket_size", "", "drops the word", id="bucket-auto"),
    pytest.param(zero(reduce_bucket_size="5e8"), "bad_value", "zero_optimization.reduce_bucket_size", "500000000", "without quotes", id="bucket-5e8"),
    pytest.param(zero(reduce_bucket_size="500MB"), "bad_value", "zero_optimization.reduce_bucket_size", "250000000", "elements, not bytes", id="bucket-500MB"),
    pytest.param(zero(reduce_bucket_size=-1), "bad_value", "zero_optimization.reduce_bucket_size", "", "too small", id="bucket-negative"),
    pytest.param(zero(reduce_bucket_size=True), "bad_value", "zero_optimization.reduce_bucket_size", "", "no number", id="bucket-true"),
    pytest.param({"optimizer": {"type": "AdamW", "params": {"lr": "auto"}}}, "auto", "optimizer.params.lr", "", TRAINER, id="lr-auto"),
    pytest.param(WARMUP, "auto", "scheduler.params.warmup_num_steps", "", TRAINER, id="warmup-auto"),
    pytest.param({"optimizer": {"type": "AdamW", "params": {"lr": "5e-5"}}}, "bad_value", "optimizer.params.lr", "5e-05", "without quotes", id="lr-text"),
    pytest.param({"gradient_clipping": "auto"}, "auto", "gradient_clipping", "", "as it stands", id="clipping-auto"),
    pytest.param({"train_batch_size": "auto"}, "auto", "train_batch_size", "", "TypeError", id="batch-auto"),
    pytest.param({"train_micro_batch_size_per_gpu": "auto"}, "auto", "train_micro_batch_size_per_gpu", "", "TypeError", id="micro-auto"),
    pytest.param({"train_micro_batch_size_per_gpu": 2.0}, "bad_value", "train_micro_batch_size_per_gpu", "2", "fraction", id="micro-float"),
    pytest.param({"bf16": {"enabled": "true"}}, "bad_value", "bf16.enabled", "true", "is text", id="bf16-text"),
    pytest.param({"bf16": {"enabled": "false"}}, "bad_value", "bf16.enabled", "false", "is text", id="bf16-false-text"),
    pytest.param({"fp16": {"enabled": True}, "bf16": {"enabled": True}}, "conflict", "fp16", "", "both enabled", id="fp16-and-bf16"),
    pytest.param({"zero_optimization": {"stage": 4}}, "bad_value", "zero_optimization.stage", "", "none of 0, 1, 2, 3", id="stage-4"),
    pytest.param({"zero_optimization": {"stage": "3"}}, "bad_value", "zero_optimization.stage", "3", "without quotes", id="stage-text"),
    pytest.param({"zero_optimization": 3}, "bad_value", "zero_optimization", "", "not a mapping", id="zero-number"),
    pytest.param(zero(offload_param={"device": "gpu"}), "bad_value", "zero_optimization.offload_param.device", "", "none of cpu, none, nvme", id="device"),
    pytest.param(zero(offload_param={"device": "nvme"}), "conflict", "zero_optimization.offload_param", "", "no nvme_path", id="nvme"),
    pytest.param(ODD, "conflict", "train_batch_size", "", "no multiple of 2 x 2", id="batch-no-multiple"),
    pytest.param({"gradient_clipping": None}, "bad_value", "gradient_clipping", "", "null", id="null"),
]  # fmt: skip


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("config", "verdict", "path", "instead", "words"), WRONG)
def test_mistake_is_found_with_the_right_advice(
    config: dict[str, Any], verdict: str, path: str, instead: str, words: str, version: str
) -> None:
    (found,) = findings(config, version)
    assert (found.verdict, found.path, found.use_instead) == (verdict, path, instead)
    assert found.matters
    assert words in found.message


@pytest.mark.parametrize(
    ("config", "version", "verdict", "words"),
    [
        pytest.param(zero(reduce_bucket_size=5.5), "0.9.3", "bad_value", "takes it as 5 without", id="truncated"),
        pytest.param(zero(reduce_bucket_size=5.5), "0.19.8", "bad_value", "stops at it", id="fraction-refused"),
        pytest.param({"fp16": {"speed": 1}}, "0.9.3", "unknown_key", "ignores it", id="fp16-ignored"),
        pytest.param({"fp16": {"speed": 1}}, "0.19.8", "unknown_key", "stops at it", id="fp16-refused"),
        pytest.param({"fp16": {"enabled": "auto"}}, "0.9.3", "auto", "as it stands", id="fp16-auto-taken"),
        pytest.param({"fp16": {"enabled": "auto"}}, "0.19.8", "auto", "drops the word", id="fp16-auto-dropped"),
        pytest.param(zero(zero_quantized_weights=True), "0.9.3", "not_yet", "from DeepSpeed 0.10.0", id="newer"),
        pytest.param(zero(mics_shard_size=8), "0.19.8", "removed", "stops at it by name", id="removed"),
        pytest.param({"elasticity": {"enabled": True}}, "0.19.8", "removed", "by name", id="removed-top"),
        pytest.param({"aio": {"thread_count": 1}}, "0.19.8", "removed", "is not read from 0.16.9", id="no-longer"),
    ],
)
def test_what_differs_by_version(config: dict[str, Any], version: str, verdict: str, words: str) -> None:
    (found,) = findings(config, version)
    assert found.verdict == verdict
    assert words in found.message


@pytest.mark.parametrize(
    ("config", "verdict"),
    [
        pytest.param({"zero_optimization": {"stage": 2, "stage3_prefetch_bucket_size": 5}}, "no_effect", id="stage-2"),
        pytest.param(zero(cpu_offload=True), "deprecated", id="deprecated"),
        pytest.param({"optimizer": {"type": "AdamW", "params": {"wieght_decay": 0.1}}}, "unknown", id="near-an-own"),
    ],
)
def test_what_does_no_harm_is_said_and_refuses_nothing(config: dict[str, Any], verdict: str) -> None:
    found = findings(config)
    assert [finding.verdict for finding in found] == [verdict]
    assert worst(found) == []


@pytest.mark.parametrize(
    "config",
    [
        pytest.param({"optimizer": {"type": "Mine", "params": {"anything": "auto-ish", "torch_adam": True}}}, id="own"),
        pytest.param(zero(reduce_bucket_size=5e8), id="whole-float"),
        pytest.param(zero(offload_optimizer=None), id="null-section"),
        pytest.param({"fp16": {"enabled": True, "loss_scale_window": 500, "hysteresis": 2, "initial_scale_power": 16, "min_loss_scale": 1}}, id="fp16"),
        pytest.param({"comms_logger": {"enabled": True, "prof_ops": ["all_reduce"]}}, id="comms_logger"),
        pytest.param({"steps_per_print": 10, "wall_clock_breakdown": False, "gradient_clipping": 1}, id="top"),
    ],
)  # fmt: skip
def test_what_every_version_takes_has_no_finding(config: dict[str, Any]) -> None:
    assert [findings(config, version) for version in VERSIONS] == [[]] * len(VERSIONS)


# Keys that large public training repositories set, with numbers of our own.
FOR_TRAINER = {
    "train_batch_size": "auto",
    "train_micro_batch_size_per_gpu": "auto",
    "gradient_accumulation_steps": "auto",
    "gradient_clipping": "auto",
    "steps_per_print": 100,
    "fp16": {"enabled": "auto", "loss_scale": 0, "initial_scale_power": 12, "hysteresis": 2, "min_loss_scale": 1},
    "bf16": {"enabled": "auto"},
    "optimizer": {"type": "AdamW", "params": dict.fromkeys(("lr", "betas", "eps", "weight_decay"), "auto")},
    "scheduler": {"type": "WarmupLR", "params": {"warmup_min_lr": "auto", "warmup_num_steps": "auto"}},
    "zero_optimization": {
        "stage": 3,
        "offload_optimizer": {"device": "cpu", "pin_memory": False},
        "offload_param": {"device": "nvme", "nvme_path": "/scratch", "buffer_count": 4, "buffer_size": 2e8},
        "sub_group_size": 1e8,
        "reduce_bucket_size": "auto",
        "stage3_prefetch_bucket_size": "auto",
        "stage3_param_persistence_threshold": "auto",
        "stage3_max_live_parameters": 5e8,
    },
    "aio": {"block_size": 131072, "queue_depth": 16, "single_submit": False, "overlap_events": True},
}
WIDE = {
    "train_batch_size": 32,
    "train_micro_batch_size_per_gpu": None,
    "prescale_gradients": False,
    "communication_data_type": "fp32",
    "data_types": {"grad_accum_dtype": "fp32"},
    "checkpoint": {
        "tag_validation": "Fail",
        "use_node_local_storage": True,
        "parallel_write": {"pipeline_stage": True},
    },
    "activation_checkpointing": {"partition_activations": True, "number_checkpoints": None, "profile": False},
    "flops_profiler": {"enabled": True, "module_depth": -1, "output_file": None},
    "tensorboard": {"enabled": True, "output_path": "o"},
    "comms_logger": {"enabled": True, "prof_ops": ["all_reduce"]},
    "autotuning": {"enabled": False, "arg_mappings": {"a": "b"}},
    "hybrid_engine": {"enabled": True, "max_out_tokens": 64},
    "curriculum_learning": {"enabled": True, "curriculum_type": "seqlen"},
    "elasticity": {"enabled": False, "micro_batch_sizes": [2, 4], "version": 0.2},
    "progressive_layer_drop": {"enabled": True, "theta": 0.4},
    "compression_training": {"weight_quantization": {"different_groups": {"mine": {"modules": ["a"]}}}},
    "data_efficiency": {"enabled": True, "data_routing": {"random_ltd": {"enabled": True, "total_layer_num": 4}}},
    "sparse_attention": {"mode": "fixed", "block": 8},
    "zero_allow_untested_optimizer": True,
    "optimizer": {"type": "OneBitAdam", "params": {"lr": 1e-4, "freeze_step": 40}, "legacy_fusion": False},
}


@pytest.mark.parametrize("version", ["0.8.3", "0.9.3", "0.14.5", "0.19.8"])
def test_what_people_give_the_trainer_has_no_finding(version: str) -> None:
    assert lint_config(FOR_TRAINER, schema_of(version, default_catalog()), trainer=True) == []


@pytest.mark.parametrize("version", ["0.9.3", "0.10.3", "0.14.5"])
def test_sections_of_all_kinds_have_no_finding(version: str) -> None:
    assert lint_config(WIDE, schema_of(version, default_catalog()), world=8) == []


def test_the_trainer_fills_its_own_and_nothing_else() -> None:
    config = zero(reduce_bucket_size="auto", stage3_max_live_parameters="auto") | {"train_batch_size": "auto"}
    (found,) = findings(config, trainer=True)
    assert (found.path, found.verdict) == ("zero_optimization.stage3_max_live_parameters", "auto")
    assert "does not fill it in" in found.message


@pytest.mark.parametrize(
    ("given", "world", "words"),
    [
        pytest.param((32, 2, 2), 4, "which is 16", id="all-three"),
        pytest.param((16, 2, 2), 4, None, id="right"),
        pytest.param((10, 4, None), 1, "no multiple of 4", id="micro-only"),
        pytest.param((10, None, None), 4, "no multiple of 4 GPUs", id="none"),
        pytest.param((10, None, None), None, None, id="nobody-knows-the-gpus"),
    ],
)
def test_batch_arithmetic(given: tuple[int | None, ...], world: int | None, words: str | None) -> None:
    names = ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps")
    config = {name: value for name, value in zip(names, given, strict=True) if value is not None}
    found = lint_config(config, schema_of("0.9.3", default_catalog()), world=world)
    assert [finding.path for finding in found] == (["train_batch_size"] if words else [])
    assert all(words in finding.message for finding in found if words)


def test_a_config_without_a_batch_size_is_refused() -> None:
    (found,) = lint_config({"gradient_accumulation_steps": 2}, schema_of("0.9.3", default_catalog()))
    assert (found.verdict, found.path) == ("conflict", "")


def test_the_made_input_is_judged_with_its_lines() -> None:
    text = (
        '{"train_micro_batch_size_per_gpu": 4, "gradiant_clipping": 1.0,\n "bf16": {"enabled": "true"},\n'
        ' "zero_optimization": {"stage": 3, "reduce_bucket_size": "5e8",\n   "aio": {"block_size": 262144}}}'
    )
    found = lint_text(text, schema_of("0.9.3", default_catalog()))
    assert [(finding.line, finding.path, finding.use_instead) for finding in found] == [
        (1, "gradiant_clipping", "gradient_clipping"),
        (2, "bf16.enabled", "true"),
        (3, "zero_optimization.reduce_bucket_size", "500000000"),
        (4, "zero_optimization.aio", "aio"),
    ]


def test_a_number_that_is_none_is_said_once() -> None:
    found = lint_text('{"train_batch_size": 1e400}', schema_of("0.9.3", default_catalog()))
    assert [(finding.path, finding.verdict) for finding in found] == [("train_batch_size", "bad_value")]


def test_a_key_cannot_write_on_the_terminal() -> None:
    (found,) = findings({"\x1b[2J" + "x" * 500: 1})
    assert found.path.isprintable()
    assert len(found.path) <= 120


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just("auto"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["stage", "enabled", "params", "device", "x"]), inner, max_size=3)
    ),
    max_leaves=8,
)
TOP = st.sampled_from(
    ["zero_optimization", "fp16", "optimizer", "train_batch_size", "aio", "bf16", "gradient_clipping"]
)


@given(st.dictionaries(TOP, JSON, max_size=4), st.sampled_from(VERSIONS), st.booleans())
def test_any_config_is_judged_and_text_judges_alike(config: dict[str, Any], version: str, trainer: bool) -> None:
    schema = schema_of(version, default_catalog())
    found = lint_config(config, schema, trainer, 8)
    assert {finding.verdict for finding in found} <= set(VERDICTS)
    text = json.dumps(config)
    if "NaN" not in text and "Infinity" not in text:
        again = {(finding.path, finding.verdict) for finding in lint_text(text, schema, trainer, 8)}
        assert {(finding.path, finding.verdict) for finding in found} == again
