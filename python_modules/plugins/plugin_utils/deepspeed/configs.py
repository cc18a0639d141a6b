# SPDX-License-Identifier: Apache-2.0
"""Make the configs: ZeRO-2, ZeRO-3, and ZeRO-3 with what it keeps in host memory.

DeepSpeed takes any unknown key at the top and ignores it, and stops at an unknown key inside
zero_optimization. It drops the word "auto" there without a word, and fails on it elsewhere only
when training begins. So all is written out, numbers as numbers. Beside each stands its form for
the Hugging Face Trainer, with "auto" only where the Trainer writes its own value. There is no
comms_config: no version reads one.
"""

from __future__ import annotations

import copy
import json
import typing as t

from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.errors import ConfigError
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.model import Config
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.schema import ABSENT, Schema
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.sizes import Sizes

AUTO = "auto"
TRAINER_SUFFIX = "_auto"
WRITTEN_OUT = ("zero2", "zero3", "zero3_offload")
# The files of these names are read by DeepSpeed, or by the Trainer first.
NAMES = (*WRITTEN_OUT, *(f"{name}{TRAINER_SUFFIX}" for name in WRITTEN_OUT))
# What a site may put over the configs, beside their names.
EVERY = "all"


def make_configs(sizes: Sizes, schema: Schema) -> dict[str, Config]:
    """Return every config by its name, without what a site puts over them."""
    written = {"zero2": _zero2(sizes), "zero3": _zero3(sizes), "zero3_offload": _offload(sizes, schema)}
    return written | {f"{name}{TRAINER_SUFFIX}": _for_trainer(config) for name, config in written.items()}


def put_over(configs: t.Mapping[str, Config], overrides: t.Mapping[str, t.Any]) -> dict[str, Config]:
    """Return the configs with a site's own keys put over them: first those of "all", then those of the name.

    Mappings are merged at any depth, null takes a key away, anything else is put in its place.

    :raises ConfigError: there is no config of a name, or what is put over it is no mapping.
    """
    for name, given in overrides.items():
        if name not in (*configs, EVERY):
            known = ", ".join((*configs, EVERY))
            raise ConfigError(f"deepspeed_config_overrides has {name!r}; the configs are {known}")
        if not isinstance(given, dict):
            raise ConfigError(f"deepspeed_config_overrides.{name} is {given!r}; it must be a mapping of keys")
    # The file of FSDP is no config of DeepSpeed: what is meant for all of those would be unknown in it.
    common = overrides.get(EVERY, {})
    return {
        name: _merged(_merged(config, common if name in NAMES else {}), overrides.get(name, {}))
        for name, config in configs.items()
    }


def as_json(config: Config) -> str:
    """Return a config as the text of its file."""
    return json.dumps(config, indent=2) + "\n"


def _common(sizes: Sizes) -> Config:
    return {
        "train_micro_batch_size_per_gpu": sizes.micro_batch,
        "gradient_accumulation_steps": sizes.accumulation,
        "gradient_clipping": 1.0,
        # gfx90a computes bfloat16 as fast as half precision, and it needs no loss scaling.
        "bf16": {"enabled": True},
    }


def _zero2(sizes: Sizes) -> Config:
    """Divide the optimizer's state and the gradients."""
    zero = {
        "stage": 2,
        "allgather_partitions": True,
        "allgather_bucket_size": sizes.bucket,
        "reduce_scatter": True,
        "reduce_bucket_size": sizes.bucket,
        "overlap_comm": True,
        "contiguous_gradients": True,
        "round_robin_gradients": True,
    }
    return {**_common(sizes), "zero_optimization": zero}


def _zero3(sizes: Sizes) -> Config:
    """Divide the parameters too."""
    zero = {
        "stage": 3,
        "reduce_scatter": True,
        "reduce_bucket_size": sizes.bucket,
        "overlap_comm": True,
        "contiguous_gradients": True,
        "stage3_prefetch_bucket_size": sizes.bucket,
        "stage3_param_persistence_threshold": sizes.persistence,
        "stage3_max_live_parameters": sizes.live_parameters,
        "stage3_max_reuse_distance": sizes.live_parameters,
        "stage3_gather_16bit_weights_on_model_save": True,
    }
    return {**_common(sizes), "zero_optimization": zero}


def _offload(sizes: Sizes, schema: Schema) -> Config:
    """Keep the optimizer's state and the parameters in host memory."""
    config = _zero3(sizes)
    for part in ("offload_optimizer", "offload_param"):
        config["zero_optimization"][part] = {"device": "cpu", "pin_memory": sizes.pin_memory}
    # A script that brings PyTorch's own AdamW would be refused; DeepSpeed's has to be compiled first.
    if schema.kind((), "zero_force_ds_cpu_optimizer") != ABSENT:
        config["zero_force_ds_cpu_optimizer"] = False
    return config


def _for_trainer(config: Config) -> Config:
    """Return a config with the word where the Trainer writes its own value, and an optimizer that it fills in."""
    made = copy.deepcopy(config)
    # Left out, the accumulation would be taken as 1 whatever the Trainer is told.
    made = {"train_batch_size": AUTO, **made}
    for key in ("train_micro_batch_size_per_gpu", "gradient_accumulation_steps", "gradient_clipping"):
        made[key] = AUTO
    made["bf16"] = {"enabled": AUTO}
    zero = made["zero_optimization"]
    if zero["stage"] == 3:
        # Of stage 3 the Trainer makes these from the model's width; in stage 2 the sizes of the node stay.
        for key in ("reduce_bucket_size", "stage3_prefetch_bucket_size", "stage3_param_persistence_threshold"):
            zero[key] = AUTO
    params = dict.fromkeys(("lr", "betas", "eps", "weight_decay"), AUTO)
    # PyTorch's own AdamW, which nothing has to be compiled for.
    made["optimizer"] = {"type": "AdamW", "params": {**params, "torch_adam": True}}
    steps = ("total_num_steps", "warmup_min_lr", "warmup_max_lr", "warmup_num_steps")
    made["scheduler"] = {"type": "WarmupDecayLR", "params": dict.fromkeys(steps, AUTO)}
    return made


def _merged(config: Config, over: t.Mapping[str, t.Any]) -> Config:
    made = copy.deepcopy(config)
    for key, value in over.items():
        if value is None:
            made.pop(key, None)
        elif isinstance(value, dict):
            there = made.get(key)
            made[key] = _merged(there if isinstance(there, dict) else {}, value)
        else:
            made[key] = copy.deepcopy(value)
    return made
