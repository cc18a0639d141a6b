# SPDX-License-Identifier: Apache-2.0
"""Find what does not go together in a config: batch sizes, precisions, and what a ZeRO stage makes nothing of."""

from __future__ import annotations

import typing as t

from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.model import (
    CONFLICT,
    NO_EFFECT,
    Config,
    Finding,
)

TRAIN = "train_batch_size"
MICRO = "train_micro_batch_size_per_gpu"
STEPS = "gradient_accumulation_steps"


def conflicts(config: Config, trainer: bool, world: int | None, lines: t.Mapping[str, int]) -> list[Finding]:
    """Return what contradicts itself. trainer, world and lines are as in lint_config."""
    found = [*_batch(config, world), *_precision(config), *_stage(config)]
    if not trainer and config.get(TRAIN) is None and config.get(MICRO) is None:
        message = f"neither {TRAIN} nor {MICRO} is there, and DeepSpeed stops without one of them"
        found.append(("", CONFLICT, message))
    return [Finding(lines.get(path, 0), path, verdict, message) for path, verdict, message in found]


_Found = tuple[str, str, str]


def _batch(config: Config, world: int | None) -> t.Iterator[_Found]:
    """Hold train_batch_size against micro batch times accumulation times GPUs."""
    train, micro, steps = (_whole(config, name) for name in (TRAIN, MICRO, STEPS))
    if train is None:
        return
    if micro is not None and steps is not None:
        if world is not None and train != micro * steps * world:
            right = micro * steps * world
            yield (
                TRAIN,
                CONFLICT,
                f"{train} is not {micro} x {steps} x {world} (micro batch x accumulation x GPUs), which is {right}; "
                "leave it out and DeepSpeed computes it",
            )
        elif world is None and train % (micro * steps):
            yield TRAIN, CONFLICT, f"{train} is no multiple of {micro} x {steps} (micro batch x accumulation)"
    elif world is not None:
        part = (micro or 1) * (steps or 1) * world
        if train % part:
            named = f"{world} GPUs" if part == world else f"{part} (what is given times {world} GPUs)"
            yield TRAIN, CONFLICT, f"{train} is no multiple of {named}"


def _precision(config: Config) -> t.Iterator[_Found]:
    half, brain = config.get("fp16"), config.get("bf16", config.get("bfloat16"))
    if _on(half) and _on(brain):
        yield "fp16", CONFLICT, "fp16 and bf16 are both enabled, and DeepSpeed stops at that; gfx90a computes both"


def _stage(config: Config) -> t.Iterator[_Found]:
    """Name what needs a higher ZeRO stage than the config has."""
    zero = config.get("zero_optimization")
    if not isinstance(zero, dict):
        return
    stage = zero.get("stage", 0)
    if isinstance(stage, bool) or not isinstance(stage, int) or not 0 <= stage <= 3:
        return
    for key in zero:
        if stage < 3 and (key.startswith("stage3_") or key == "offload_param"):
            yield f"zero_optimization.{key}", NO_EFFECT, f"does nothing in stage {stage}; it is of stage 3"
    for key in ("offload_optimizer", "offload_param"):
        section = zero.get(key)
        if isinstance(section, dict) and section.get("device") == "nvme" and not section.get("nvme_path"):
            yield f"zero_optimization.{key}", CONFLICT, "device is nvme, and there is no nvme_path"


def _whole(config: Config, name: str) -> int | None:
    value = config.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _on(section: t.Any) -> bool:
    return isinstance(section, dict) and section.get("enabled") is True
