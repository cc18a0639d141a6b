# SPDX-License-Identifier: Apache-2.0
"""Make and judge the settings of PyTorch's FullyShardedDataParallel, as a file that the training script loads.

HYBRID_SHARD divides a model among the GPUs of a node and copies it between nodes, so that the
large transfers stay on the node's links. It wants to be told which ranks are a node: group_size is
for the script, which makes the two process groups of it.
"""

from __future__ import annotations

import typing as t

from ansible_collections.instinct.bringup.plugins.plugin_utils.catalog import release_key
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.model import (
    BAD_VALUE,
    CONFLICT,
    NOT_YET,
    UNKNOWN_KEY,
    Config,
    Finding,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.parse import parse
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.values import judge
from ansible_collections.instinct.bringup.plugins.plugin_utils.env.nearest import Nearest

NAME = "fsdp"
HYBRID = "HYBRID_SHARD"
# Kind of each setting and the torch from whose signature on it is there. group_size and mixed_precision are words
# of ours for what the script makes objects of. Sources: the signature of torch 2.13.0, inspected, which
# tests/slow/test_deepspeed_packages.py does again; of 2.0.1, as quoted by MosaicML's replacement of its __init__.
SETTINGS: dict[str, tuple[str, str]] = {
    "sharding_strategy": ("", "1.12"),
    "group_size": ("int > 0", "2.0"),
    "mixed_precision": ("one of bf16, fp16, fp32", "1.12"),
    "backward_prefetch": ("one of BACKWARD_PRE, BACKWARD_POST", "1.12"),
    "forward_prefetch": ("bool", "1.12"),
    "limit_all_gathers": ("bool", "1.13"),
    "sync_module_states": ("bool", "1.12"),
    "use_orig_params": ("bool", "2.0"),
}
STRATEGIES: dict[str, str] = {
    "FULL_SHARD": "1.12",
    "SHARD_GRAD_OP": "1.12",
    "NO_SHARD": "1.12",
    HYBRID: "2.0",
    "_HYBRID_SHARD_ZERO2": "2.0",
}


def make_fsdp(torch: str, group_size: int) -> Config:
    """Return the settings for a torch such as "2.0.1" and nodes of so many GPUs, 0 where nobody knows how many."""
    hybrid = group_size > 1 and _has(torch, STRATEGIES[HYBRID])
    config: Config = {
        "sharding_strategy": HYBRID if hybrid else "FULL_SHARD",
        "mixed_precision": "bf16",
        "backward_prefetch": "BACKWARD_PRE",
        "forward_prefetch": True,
        # The processor would run ahead and keep more gathered parameters than fit.
        "limit_all_gathers": True,
        # Rank 0 loads the weights, the others get them from it.
        "sync_module_states": True,
        "use_orig_params": True,
    }
    if hybrid:
        config["group_size"] = group_size
    return {key: value for key, value in config.items() if _has(torch, SETTINGS[key][1])}


def lint_fsdp_text(text: str, torch: str, world: int | None = None) -> list[Finding]:
    """Return what is wrong with a file of settings, in the order of its lines. world: GPUs of the job, if known."""
    parsed = parse(text)
    findings = list(parsed.findings)
    if parsed.config is not None:
        findings += lint_fsdp(parsed.config, torch, world, parsed.lines)
    return sorted(findings, key=lambda finding: finding.line)


def lint_fsdp(
    config: Config, torch: str, world: int | None = None, lines: t.Mapping[str, int] | None = None
) -> list[Finding]:
    """Return what is wrong with settings for a torch: what its signature does not have, and what contradicts itself."""
    found = [*_each(config, torch), *_groups(config, world)]
    return [Finding((lines or {}).get(path, 0), path, *rest) for path, *rest in found]


_Found = tuple[str, str, str, str]


def _each(config: Config, torch: str) -> t.Iterator[_Found]:
    near = Nearest(SETTINGS)
    for key, value in config.items():
        if key not in SETTINGS:
            meant = near.find(key) or ""
            text = f"is no setting that the training script passes on{f'; {meant} is one' if meant else ''}"
            yield ascii(key)[1:-1], UNKNOWN_KEY, text, meant
            continue
        kind, since = SETTINGS[key]
        if not _has(torch, since):
            yield key, NOT_YET, f"is there from torch {since} on, and this is {torch}", ""
        elif key == "sharding_strategy":
            yield from _strategy(value, torch)
        elif (wrong := judge(kind, value, True, False)) is not None:
            yield key, BAD_VALUE, wrong.message, wrong.use_instead


def _strategy(value: t.Any, torch: str) -> t.Iterator[_Found]:
    since = STRATEGIES.get(value) if isinstance(value, str) else None
    known = ", ".join(name for name, first in STRATEGIES.items() if _has(torch, first))
    if since is None:
        meant = Nearest(STRATEGIES).find(str(value).upper()) or ""
        yield "sharding_strategy", BAD_VALUE, f"{value!a} is none of {known}", meant
    elif not _has(torch, since):
        yield "sharding_strategy", NOT_YET, f"{value} is there from torch {since} on, and this is {torch}", "FULL_SHARD"


def _groups(config: Config, world: int | None) -> t.Iterator[_Found]:
    hybrid = config.get("sharding_strategy") in (HYBRID, "_HYBRID_SHARD_ZERO2")
    size = config.get("group_size")
    if hybrid and size is None:
        text = "wants group_size, the GPUs of a node, from which the two process groups are made"
        yield "sharding_strategy", CONFLICT, text, "group_size"
    elif isinstance(size, int) and world is not None and size > 0 and world % size:
        yield "group_size", CONFLICT, f"{world} GPUs cannot be divided into nodes of {size}", ""


def _has(torch: str, since: str) -> bool:
    return release_key(torch) >= release_key(since)
