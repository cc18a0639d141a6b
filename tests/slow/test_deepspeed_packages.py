# SPDX-License-Identifier: Apache-2.0
"""Every rendered config loads in the real DeepSpeed of three versions, and each mistake does there what we say of it.

Each version has an environment of its own below .cache, which is made once: some 1.2 GB and two minutes each. Where
packages come from is for pip's own settings to say; PyTorch's must be the build for processors, from
https://download.pytorch.org/whl/cpu, or several GB of libraries for other cards come along.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.instinct.bringup.plugins.plugin_utils.catalog import default_catalog
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed import fsdp
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.configs import NAMES, make_configs
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.lint import lint_config, worst
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.schema import ABSENT, GONE, schema_of
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.sizes import Sizes

pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).resolve().parents[2]
CACHE = REPOSITORY / ".cache" / "deepspeed"
PROBE = Path(__file__).with_name("deepspeed_probe.py")
TRAIN = Path(__file__).with_name("deepspeed_train.py")
COMMON = (
    "torch==2.13.0",
    "numpy==1.26.4",
    "setuptools==80.9.0",
    "wheel==0.45.1",
    "ninja==1.13.0",
    "hjson==3.1.0",
    "psutil==7.1.3",
    "py-cpuinfo==9.0.0",
    "tqdm==4.67.1",
    "packaging==25.0",
)
# The Trainer's code asks for DeepSpeed 0.9.3 or newer, and fills configs in without it: one environment has it.
TRAINER = ("transformers==4.49.0", "accelerate==1.4.0")
VERSIONS = {
    "0.8.3": (*COMMON, "pydantic==1.10.24"),
    "0.9.2": (*COMMON, "pydantic==1.10.24"),
    "0.19.8": (*COMMON, "pydantic==2.12.5", "msgpack==1.1.2", "einops==0.8.1", *TRAINER),
}
OLD, NEW = ("0.8.3", "0.9.2"), ("0.19.8",)
EACH = (*OLD, *NEW)
each_version = pytest.mark.parametrize("version", EACH)


def environment(version: str) -> Path:
    """Return the Python of a version's environment, made where it is not there whole."""
    folder = CACHE / version
    wanted = "\n".join((*VERSIONS[version], sys.version))
    whole = folder / "whole"
    if not whole.is_file() or whole.read_text(encoding="utf-8") != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        pip = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *VERSIONS[version]], check=True)
        # The package's own set-up imports torch, and would compile its operators.
        build = [*pip, "--no-build-isolation", "--no-deps", "--no-binary=deepspeed", f"deepspeed=={version}"]
        subprocess.run(build, check=True, env={**os.environ, "DS_BUILD_OPS": "0"})
        whole.write_text(wanted, encoding="utf-8")
    return folder / "bin" / "python"


def zero(**keys: Any) -> dict[str, Any]:
    return {"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 3, **keys}}


def top(**keys: Any) -> dict[str, Any]:
    return {"train_micro_batch_size_per_gpu": 1, **keys}


BUCKET = "zero_config.reduce_bucket_size"
HALF = "fp16_enabled or float16_config.enabled"
BRAIN = "bfloat16_enabled or bfloat16_config.enabled"
BATCH = {"train_batch_size": 7, "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 2}
REJECTED = object()
ACCEPTED = object()
# Name: the config, what to look at, and what comes of it in the old versions and in the new one.
MISTAKES: dict[str, tuple[dict[str, Any], str, Any, Any]] = {
    "comms_config at the top": (top(comms_config={"a": 1}), "", ACCEPTED, ACCEPTED),
    "comms_config in zero": (zero(comms_config={}), "", REJECTED, REJECTED),
    "grad_hard_split in zero": (zero(grad_hard_split=True), "", REJECTED, REJECTED),
    "gradiant_clipping": (top(gradiant_clipping=3.0), "gradient_clipping", 0.0, 1.0),
    "aio in zero": (zero(aio={"block_size": 262144}), "", REJECTED, REJECTED),
    "torch_adam at the top": (top(torch_adam=True), "", ACCEPTED, ACCEPTED),
    "bucket auto": (zero(reduce_bucket_size="auto"), BUCKET, 500000000, 500000000),
    "bucket 5e8 as text": (zero(reduce_bucket_size="5e8"), BUCKET, REJECTED, REJECTED),
    "bucket 500MB": (zero(reduce_bucket_size="500MB"), BUCKET, REJECTED, REJECTED),
    "bucket negative": (zero(reduce_bucket_size=-1), BUCKET, REJECTED, REJECTED),
    "bucket 5.5": (zero(reduce_bucket_size=5.5), BUCKET, 5, REJECTED),
    "lr auto": (top(optimizer={"type": "AdamW", "params": {"lr": "auto"}}), "optimizer_params.lr", "auto", "auto"),
    "warmup auto": (
        top(scheduler={"type": "WarmupLR", "params": {"warmup_num_steps": "auto"}}),
        "scheduler_params.warmup_num_steps",
        "auto",
        "auto",
    ),
    "clipping auto": (top(gradient_clipping="auto"), "gradient_clipping", "auto", "auto"),
    "batch auto": ({"train_batch_size": "auto"}, "", REJECTED, REJECTED),
    "micro batch auto": ({"train_micro_batch_size_per_gpu": "auto"}, "", REJECTED, REJECTED),
    "unknown key in fp16": (top(fp16={"enabled": True, "speed": 1}), HALF, True, REJECTED),
    "fp16 auto": (top(fp16={"enabled": "auto"}), HALF, "auto", False),
    "bf16 true as text": (top(bf16={"enabled": "true"}), BRAIN, "true", True),
    "bf16 false as text": (top(bf16={"enabled": "false"}), BRAIN, "false", False),
    "unknown key in comms_logger": (top(comms_logger={"enabled": True, "verbos": True}), "", REJECTED, REJECTED),
    "stage 4": ({"train_batch_size": 1, "zero_optimization": {"stage": 4}}, "", REJECTED, REJECTED),
    "fp16 and bf16": (top(fp16={"enabled": True}, bf16={"enabled": True}), "", REJECTED, REJECTED),
    "batch mismatch": (BATCH, "", REJECTED, REJECTED),
    "no batch size": ({"gradient_accumulation_steps": 2}, "", REJECTED, REJECTED),
    "newer than the old ones": (zero(zero_quantized_weights=True), "", REJECTED, ACCEPTED),
    "gone in the new one": (zero(mics_shard_size=8), "", None, REJECTED),
}
# What the table calls real, in one config.
REAL = top(
    fp16={"enabled": True, "loss_scale_window": 5, "hysteresis": 3, "initial_scale_power": 7, "min_loss_scale": 2},
    optimizer={"type": "AdamW", "params": {"lr": 1e-3, "torch_adam": True}},
    zero_optimization={
        "stage": 2,
        "round_robin_gradients": True,
        "contiguous_gradients": False,
        "overlap_comm": True,
        "reduce_scatter": False,
        "allgather_bucket_size": 11,
        "reduce_bucket_size": 12,
        "stage3_prefetch_bucket_size": 13,
        "stage3_max_live_parameters": 14,
    },
)


FOR_TRAINER = [name for name in NAMES if name.endswith("_auto")]


def rendered(version: str) -> dict[str, Any]:
    sizes = Sizes(2, 4, 100_000_000, 1_000_000_000, 100_000, True)
    return make_configs(sizes, schema_of(version, default_catalog()))


def probe(version: str, request: dict[str, Any], script: Path = PROBE) -> dict[str, Any]:
    done = subprocess.run(
        [environment(version), script],
        input=json.dumps(request),
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "DS_ACCELERATOR": "cpu", "CUDA_VISIBLE_DEVICES": ""},
    )
    assert done.returncode == 0, done.stderr[-4000:]
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


@pytest.fixture(scope="module")
def filled() -> dict[str, dict[str, Any]]:
    """Return the rendered configs of each version as the Trainer hands them on."""
    return {
        version: probe(NEW[0], {"fill": {name: rendered(version)[name] for name in FOR_TRAINER}}) for version in EACH
    }


@pytest.fixture(scope="module")
def loaded(filled: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return what each version makes of every config, asked once a version."""
    found = {}
    for version in EACH:
        whole = {**rendered(version), **filled[version]}
        configs: dict[str, Any] = {name: {"config": config} for name, config in whole.items()}
        for name, (config, path, _old, _new) in MISTAKES.items():
            configs[name] = {"config": config, "values": [path] if path else []}
        buckets = ["zero_config.allgather_bucket_size", BUCKET, "zero_config.max_live_parameters", HALF]
        configs["real"] = {"config": REAL, "values": buckets}
        found[version] = probe(version, {"configs": configs})
    return found


@each_version
@pytest.mark.parametrize("name", NAMES)
def test_rendered_config_loads_without_a_word(loaded: dict[str, dict[str, Any]], version: str, name: str) -> None:
    answer = loaded[version]["answers"][name]
    assert answer["error"] == ""
    assert answer["warnings"] == []


@each_version
@pytest.mark.parametrize("name", FOR_TRAINER)
def test_the_trainer_fills_every_auto(filled: dict[str, dict[str, Any]], version: str, name: str) -> None:
    assert "auto" in json.dumps(rendered(version)[name])
    assert "auto" not in json.dumps(filled[version][name])


@each_version
@pytest.mark.parametrize("name", MISTAKES)
def test_mistake_does_what_the_lint_says(loaded: dict[str, dict[str, Any]], version: str, name: str) -> None:
    config, path, old, new = MISTAKES[name]
    expected, answer = (old if version in OLD else new), loaded[version]["answers"][name]
    if expected is None:
        return
    if expected is REJECTED:
        assert answer["error"]
    else:
        assert answer["error"] == ""
    if expected not in (REJECTED, ACCEPTED):
        assert answer["values"][path] == expected
    if name == "newer than the old ones" and version in NEW:
        return
    assert worst(lint_config(config, schema_of(version, default_catalog()), world=1)), "the lint says nothing of it"


@each_version
def test_what_the_lint_calls_right_is_taken(loaded: dict[str, dict[str, Any]], version: str) -> None:
    answer = loaded[version]["answers"]["real"]
    assert answer["error"] == ""
    assert list(answer["values"].values()) == [11, 12, 14, True]
    assert worst(lint_config(REAL, schema_of(version, default_catalog()), world=1)) == []


@each_version
def test_the_table_of_zero_is_the_models_own(loaded: dict[str, dict[str, Any]], version: str) -> None:
    schema = schema_of(version, default_catalog())
    names = default_catalog().deepspeed("keys")["sections"]["zero_optimization"]["keys"]
    read = [name for name in names if schema.kind(("zero_optimization",), name) not in (ABSENT, GONE)]
    assert sorted(read) == loaded[version]["zero"]


@each_version
def test_the_table_of_the_top_has_every_key_that_is_asked_for(loaded: dict[str, dict[str, Any]], version: str) -> None:
    schema = schema_of(version, default_catalog())
    asked = set(loaded[version]["top"])
    assert len(asked) > 30
    assert {key for key in asked if schema.kind((), key) == ABSENT} == set()


def test_each_config_trains(filled: dict[str, dict[str, Any]]) -> None:
    """Only in the new version: the old ones ask PyTorch for NCCL, which its build for processors does not have."""
    configs = {**rendered(NEW[0]), **filled[NEW[0]]}
    found = probe(NEW[0], {name: fast(config) for name, config in configs.items()}, TRAIN)
    assert sorted(found) == sorted(NAMES)
    for name, losses in found.items():
        assert losses[-1] < losses[0] / 4, name


def fast(config: dict[str, Any]) -> dict[str, Any]:
    """Return a config whose optimizer, where it has one, learns in as few steps as the test takes."""
    made: dict[str, Any] = json.loads(json.dumps(config))
    if "optimizer" in made:
        made["optimizer"]["params"]["lr"] = made["scheduler"]["params"]["warmup_max_lr"] = 1e-2
    return made


def test_the_settings_of_fsdp_are_in_the_signature_of_torch() -> None:
    code = (
        "import inspect, json; from torch.distributed.fsdp import *;"
        "print(json.dumps([list(inspect.signature(FullyShardedDataParallel).parameters),"
        "list(ShardingStrategy.__members__), list(BackwardPrefetch.__members__)]))"
    )
    done = subprocess.run([environment(NEW[0]), "-c", code], capture_output=True, text=True, check=True)
    parameters, strategies, prefetches = json.loads(done.stdout)
    ours = set(fsdp.SETTINGS) - {"group_size"}
    assert ours <= set(parameters)
    assert set(fsdp.STRATEGIES) == set(strategies)
    assert fsdp.SETTINGS["backward_prefetch"][0] == "one of " + ", ".join(prefetches)
