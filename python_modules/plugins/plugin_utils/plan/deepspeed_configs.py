# SPDX-License-Identifier: Apache-2.0
"""Plan the configs of a job: sized for the node, with the site's keys put over them, and judged before they are written."""

from __future__ import annotations

import typing as t

from ansible_collections.instinct.bringup.plugins.plugin_utils import rccl_memory
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed import configs, fsdp, judge
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.errors import (
    ConfigError,
    ConfigRefused,
    Reason,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.host import HostLimits, host_limits, may_pin
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.lint import worst
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.memory import (
    Estimate,
    Job,
    Limits,
    estimate,
    fits,
    gib,
    smallest_change,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.schema import schema_of
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.sizes import Sizes, make_sizes
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.version import (
    deepspeed_version,
    paired,
    torch_version,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.managed import ManagedFile
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.model import PlanContext
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.rccl import environment_of
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.topology import limits_of, plan_topology
from ansible_collections.instinct.bringup.plugins.plugin_utils.topology.channels import estimate as rccl_estimate

# Names of the files below deepspeed_directory.
FILES = tuple(f"{name}.json" for name in (*configs.NAMES, fsdp.NAME))
_WHAT = {
    "zero2": "ZeRO-2: optimizer and gradients are split",
    "zero3": "ZeRO-3: parameters are split too",
    "zero3_offload": "ZeRO-3, with optimizer and parameters in host memory",
    "zero2_auto": "ZeRO-2 for the Hugging Face Trainer",
    "zero3_auto": "ZeRO-3 for the Hugging Face Trainer",
    "zero3_offload_auto": "ZeRO-3 in host memory for the Hugging Face Trainer",
    fsdp.NAME: "FSDP: what the training script passes to PyTorch",
}
_MIB = 1024 * 1024


class PlannedConfigs(t.NamedTuple):
    """Hold the files, and the notes on memory that the plan shows."""

    files: list[ManagedFile]
    notes: list[str]


def plan_configs(ctx: PlanContext, slots: t.Mapping[str, int]) -> PlannedConfigs:
    """Return the configs. slots: GPUs of each host of the job.

    :raises ConfigError: an option cannot be rendered, a key would not do what it says, or the model cannot fit.
    """
    version = deepspeed_version(ctx.profile, ctx.release, ctx.catalog)
    schema, torch = schema_of(version, ctx.catalog), torch_version(ctx.release)
    job, limits = _job(ctx, slots), host_limits(ctx.snapshot)
    # The need does not depend on the sizes: any will do to tell it.
    need = _host_need(job, make_sizes(ctx.profile, ctx.gpu["vram_bytes"], False))
    pin, why = may_pin(need, limits)
    sizes = make_sizes(ctx.profile, ctx.gpu["vram_bytes"], pin)
    made = configs.make_configs(sizes, schema) | {fsdp.NAME: fsdp.make_fsdp(torch, _node_gpus(ctx, slots))}
    made = configs.put_over(made, ctx.profile["deepspeed_config_overrides"])
    world = sum(slots.values()) or None
    texts = {name: configs.as_json(config) for name, config in made.items()}
    reader = judge.Reader(version, torch, ctx.catalog)
    refused = [reason for name, text in texts.items() for reason in _reasons(name, text, reader, world)]
    if refused:
        raise ConfigRefused(refused)
    notes = _version_notes(ctx, version, torch)
    if job is not None:
        notes += _memory_notes(job, sizes, ctx.gpu["vram_bytes"], limits, (pin, why))
    directory = ctx.profile["deepspeed_directory"]
    files = [ManagedFile(f"{directory}/{name}.json", text, _WHAT[name]) for name, text in texts.items()]
    return PlannedConfigs(files, notes)


def _reasons(name: str, text: str, reader: judge.Reader, world: int | None) -> list[Reason]:
    form = judge.form_of("auto", f"{name}.json")
    # The groups of a cluster of unequal nodes are for the site to say.
    found = judge.judge_text(text, form, reader, None if form == judge.FSDP else world)
    who = f"torch {reader.torch}" if form == judge.FSDP else f"DeepSpeed {reader.deepspeed}"
    return [
        Reason(
            "deepspeed.config",
            f"{name}.json, {finding.path or 'the whole'}",
            finding.message,
            finding.use_instead or f"what {who} reads",
            "correct it in deepspeed_config_overrides, or in the option that it comes from",
        )
        for finding in worst(found)
    ]


def _node_gpus(ctx: PlanContext, slots: t.Mapping[str, int]) -> int:
    models = set(ctx.gpu["pci_ids"])
    seen = sum(f"{gpu['vendor']}:{gpu['device']}" in models for gpu in ctx.area("pci").get("gpus") or [])
    return int(slots.get(ctx.host) or ctx.profile["gpu_count"] or seen)


def _job(ctx: PlanContext, slots: t.Mapping[str, int]) -> Job | None:
    """Return the job that the estimate is for, None where nobody named a model.

    :raises ConfigError: an option is below 0.
    """
    for name in ("deepspeed_model_parameters", "deepspeed_activation_mib"):
        if ctx.profile[name] < 0:
            raise ConfigError(f"{name} is {ctx.profile[name]}; it must be a number, 0 where nobody knows it")
    parameters, gpus = int(ctx.profile["deepspeed_model_parameters"]), _node_gpus(ctx, slots)
    if parameters < 1 or gpus < 1:
        return None
    rccl = _rccl_bytes(ctx, gpus)
    activations = int(ctx.profile["deepspeed_activation_mib"]) * _MIB
    return Job(parameters, max(sum(slots.values()), gpus), gpus, activations, rccl)


def _rccl_bytes(ctx: PlanContext, gpus: int) -> int:
    """Return what one communicator takes of each card at most, by the node's wiring where that can be told."""
    planned = plan_topology(ctx)
    values = environment_of(ctx, planned).values
    if planned.graph is not None and len(planned.graph.gpus) == gpus:
        return rccl_estimate(planned.graph, ctx.release["rccl"], limits_of(values)).rings_and_trees_mib[1] * _MIB
    channels = rccl_memory.channel_limits(ctx.release["rccl"], _whole(values.get("NCCL_MAX_NCHANNELS")))
    size = _whole(values.get("NCCL_BUFFSIZE")) or rccl_memory.DEFAULT_BUFFSIZE
    return rccl_memory.collective_bounds(gpus, channels, size).most_mib * _MIB


def _whole(text: str | None) -> int | None:
    return None if text is None else int(text)


def _host_need(job: Job | None, sizes: Sizes) -> int | None:
    if job is None:
        return None
    return next(found.host_bytes for found in estimate(job, sizes) if found.host_bytes)


def _version_notes(ctx: PlanContext, version: str, torch: str) -> list[str]:
    pair = paired(ctx.catalog, torch)
    if ctx.profile["deepspeed_version"] or pair is None or not pair.inferred:
        return []
    return [f"DeepSpeed {version} for torch {torch} is inferred: {' '.join(pair.source.split())}"]


def _memory_notes(job: Job, sizes: Sizes, card: int, host: HostLimits, pin: tuple[bool, str]) -> list[str]:
    """Return the estimate of each config beside the card.

    :raises ConfigRefused: none of them fits.
    """
    limits = Limits(card, host.memory)
    found = estimate(job, sizes)
    fitting = [config for config in found if fits(config, limits)]
    if not fitting:
        raise ConfigRefused([_too_large(job, sizes, limits, found, host)])
    size = f"{job.parameters / 1e9:.1f} billion parameters on {job.world} GPUs"
    notes = [f"DeepSpeed's memory, {size}, GiB of each card: {_line(config, limits)}" for config in found]
    notes.append(
        f"zero3_offload's host memory: {gib(found[2].host_bytes)} GiB of this node; {host.describe()}; "
        f"pin_memory is {str(pin[0]).lower()}: {pin[1]}"
    )
    return notes


def _line(found: Estimate, limits: Limits) -> str:
    return found.describe(limits.card) + ("" if fits(found, limits) else ", which does not fit")


def _too_large(job: Job, sizes: Sizes, limits: Limits, found: list[Estimate], host: HostLimits) -> Reason:
    lines = "; ".join(config.describe(limits.card) for config in found)
    return Reason(
        "deepspeed.model_too_large",
        f"{job.parameters / 1e9:.1f} billion parameters on {job.world} GPUs",
        f"GiB of each card: {lines}; the node has {host.describe()}",
        f"at most {gib(limits.card)} GiB of a card"
        + ("" if limits.host is None else f" and {gib(limits.host)} GiB of the node's memory"),
        f"the smallest changes that would fit: {smallest_change(job, sizes, limits)}",
    )
