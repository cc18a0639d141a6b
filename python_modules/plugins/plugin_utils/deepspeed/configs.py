# SPDX-License-Identifier: Apache-2.0
"""Make DeepSpeed's configs. What is made here loads in DeepSpeed 0.8.3 to 0.19.

DeepSpeed takes any unknown key at the top and ignores it, and refuses any unknown key inside
zero_optimization. It drops the word "auto" there without a word, and fails on it elsewhere only
when training begins. So all is written out, numbers as numbers. There is no comms_config: no
version reads one.
"""

from __future__ import annotations

import json
import typing as t

from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.errors import ConfigError

Config = dict[str, t.Any]


def zero2(options: t.Mapping[str, t.Any]) -> Config:
    """Return the config for ZeRO stage 2: optimizer state and gradients are divided.

    options: the role's deepspeed_micro_batch, deepspeed_gradient_accumulation and
    deepspeed_bucket_size (elements).

    :raises ConfigError: an option is not a whole number above 0.
    """
    bucket = _positive(options, "deepspeed_bucket_size")
    zero = {
        "stage": 2,
        "allgather_partitions": True,
        "allgather_bucket_size": bucket,
        "reduce_scatter": True,
        "reduce_bucket_size": bucket,
        "overlap_comm": True,
        "contiguous_gradients": True,
        "round_robin_gradients": True,
    }
    return {**_common(options), "zero_optimization": zero}


def zero3(options: t.Mapping[str, t.Any]) -> Config:
    """Return the config for ZeRO stage 3: the parameters are divided too.

    options: as for zero2, and deepspeed_offload, none or cpu.

    :raises ConfigError: an option is not a whole number above 0, or the offload is unknown.
    """
    bucket = _positive(options, "deepspeed_bucket_size")
    zero: Config = {
        "stage": 3,
        "reduce_scatter": True,
        "reduce_bucket_size": bucket,
        "overlap_comm": True,
        "contiguous_gradients": True,
        "stage3_prefetch_bucket_size": bucket,
        "stage3_gather_16bit_weights_on_model_save": True,
    }
    config = _common(options)
    offload = options["deepspeed_offload"]
    if offload == "cpu":
        zero["offload_optimizer"] = {"device": "cpu", "pin_memory": True}
        zero["offload_param"] = {"device": "cpu", "pin_memory": True}
        # A script that brings PyTorch's own AdamW would be refused; DeepSpeed's has to be compiled first.
        config["zero_force_ds_cpu_optimizer"] = False
    elif offload != "none":
        raise ConfigError(f"deepspeed_offload is {offload!r}; it must be none or cpu")
    return {**config, "zero_optimization": zero}


def as_json(config: Config) -> str:
    """Return a config as the text of its file."""
    return json.dumps(config, indent=2) + "\n"


def _common(options: t.Mapping[str, t.Any]) -> Config:
    return {
        "train_micro_batch_size_per_gpu": _positive(options, "deepspeed_micro_batch"),
        "gradient_accumulation_steps": _positive(options, "deepspeed_gradient_accumulation"),
        "gradient_clipping": 1.0,
        # gfx90a computes bfloat16 as fast as half precision, and it needs no loss scaling.
        "bf16": {"enabled": True},
    }


def _positive(options: t.Mapping[str, t.Any], name: str) -> int:
    value = options[name]
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ConfigError(f"{name} is {value!r}; it must be a whole number above 0")
    return value
