# SPDX-License-Identifier: Apache-2.0
"""Check the configs on the node by the DeepSpeed that reads them, and offload by what the node has."""

from __future__ import annotations

import collections.abc as c
import json
import re
import typing as t

from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.model import (
    FAIL,
    OK,
    WARN,
    CheckContext,
    Finding,
    skipped,
    unknown,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.registry import check
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed import judge, model
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.errors import ConfigError
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.host import host_limits, may_pin
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.memory import Job, estimate, gib
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.sizes import make_sizes
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.version import deepspeed_version, torch_version
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.deepspeed_configs import FILES

_SLOTS = re.compile(r"^\S+\s+slots=([0-9]+)\s*$", re.MULTILINE)
_UNKNOWN_KEY = (model.UNKNOWN_KEY, model.NOT_YET, model.REMOVED, model.DUPLICATE, model.DEPRECATED)
_VALUES = (model.BAD_VALUE, model.AUTO, model.CONFLICT, model.SYNTAX)
_REMEDY = "Set it in deepspeed_config_overrides, which the plan judges, and run site.yml; it writes the file again."
Json = dict[str, t.Any]


@check(
    "ds.config_unknown_key",
    "Every key of the DeepSpeed configs is one that the installed version reads",
    areas=("watch",),
    remedy=_REMEDY,
)
def config_unknown_key(context: CheckContext) -> c.Iterator[Finding]:
    """Hold each key of the configs in deepspeed_directory against the version's table; a deprecated one is warned of."""
    yield from _judged(context, _UNKNOWN_KEY, "keys that it reads")


@check(
    "ds.config_wrong_parent",
    "Every key of the DeepSpeed configs stands in its section",
    areas=("watch",),
    remedy=_REMEDY,
)
def config_wrong_parent(context: CheckContext) -> c.Iterator[Finding]:
    """Look for keys that the version reads in another section, such as aio inside zero_optimization."""
    yield from _judged(context, (model.WRONG_PARENT,), "keys in their sections")


@check(
    "ds.config_values",
    "Every value of the DeepSpeed configs is of its kind, and none contradicts another",
    areas=("watch",),
    remedy=_REMEDY,
)
def config_values(context: CheckContext) -> c.Iterator[Finding]:
    """Look for numbers as text, "auto" that nobody fills in, batch sizes that do not multiply to the hostfile's GPUs."""
    yield from _judged(context, _VALUES, "values of their kinds")


@check(
    "ds.offload_fits",
    "The node's memory holds what ZeRO-3 offloads to it",
    areas=("watch", "memory"),
    required=False,
    remedy=(
        "Use zero3.json on more nodes, take a smaller model, or raise the limit that is named. Without pin_memory the "
        "limit of locked memory does not count."
    ),
)
def offload_fits(context: CheckContext) -> c.Iterator[Finding]:
    """Hold 18 bytes for each declared parameter of the node's share against its memory, group limit and locked memory.

    It fails where nothing but offload fits the cards; else the config is only of no use, and that is warned of.
    """
    parameters = int(context.option("deepspeed_model_parameters") or 0)
    if not parameters:
        yield skipped("deepspeed_model_parameters does not say how large the model is")
        return
    world, found = _world(context), 0
    mine = int(context.option("gpu_count") or len(context.held("pci.gpus") or []))
    for path, text in _texts(context):
        if text is None:
            found += 1
            yield unknown(context.problem(path, "watch"), path, path)
            continue
        offload = _offload(text)
        if offload is None:
            continue
        found += 1
        if not mine or world is None:
            yield unknown("the GPUs of the node or of the job are not known", path, path)
        else:
            yield _offloaded(context, path, Job(parameters, max(world, mine), mine), pinned=offload)
    if not found:
        yield skipped("no config here offloads to the node's memory")


def _offloaded(context: CheckContext, path: str, job: Job, pinned: bool) -> Finding:
    found = estimate(job, make_sizes(context.profile, context.model["vram_bytes"], False))
    need = max(config.host_bytes for config in found)
    limits = host_limits(context.snapshot)
    memory, observed = limits.memory, f"{gib(need)} GiB needed; {limits.describe()}"
    if memory is None:
        return unknown(context.problem("/proc/meminfo", "memory"), path, path)
    expected = f"at most {gib(memory)} GiB"
    if need > memory:
        reason = "the need is above what a job may take"
        others = [
            config.name for config in found if not config.host_bytes and config.total <= context.model["vram_bytes"]
        ]
        if others:
            return Finding(WARN, path, expected, observed, f"{reason}; {' and '.join(others)} fit the cards", path)
        return Finding(FAIL, path, expected, observed, reason, path)
    fine, why = may_pin(need, limits)
    if pinned and not fine:
        return Finding(WARN, path, "pin_memory false", observed, f"pin_memory is true, and {why}", path)
    return Finding(OK, path, expected, observed, "", path)


def _judged(context: CheckContext, verdicts: c.Collection[str], expected: str) -> c.Iterator[Finding]:
    """Yield what is wrong with each config, of these verdicts only, or that nothing is."""
    try:
        reader = _reader(context)
    except ConfigError as error:
        yield unknown(str(error), "deepspeed_version")
        return
    world, any_file = _world(context), False
    for path, text in _texts(context):
        any_file = True
        if text is None:
            yield unknown(context.problem(path, "watch"), path, path)
            continue
        form = judge.form_of("auto", path)
        # The groups of a cluster of unequal nodes are for the site to say.
        found = judge.judge_text(text, form, reader, None if form == judge.FSDP else world)
        wrong = [finding for finding in found if finding.verdict in verdicts]
        for finding in wrong:
            outcome = FAIL if finding.matters else WARN
            evidence = f"{path}:{finding.line}" if finding.line else path
            wanted = finding.use_instead or expected
            yield Finding(outcome, path, wanted, finding.path or "the whole file", str(finding), evidence)
        if not wrong:
            name = f"torch {reader.torch}" if form == judge.FSDP else f"DeepSpeed {reader.deepspeed}"
            yield Finding(OK, path, expected, expected, f"judged by {name}", path)
    if not any_file:
        yield skipped("no config in deepspeed_directory")


def _reader(context: CheckContext) -> judge.Reader:
    """Return the versions that read the configs: those that are installed, else those that the profile wants.

    :raises ConfigError: the catalog does not know the version.
    """
    installed = _installed(context)
    options = {"deepspeed_version": installed.get("deepspeed") or context.option("deepspeed_version", "")}
    version = deepspeed_version(options, context.release, context.catalog)
    judge.known(version, context.catalog)
    torch = installed.get("torch") or torch_version(context.release)
    return judge.Reader(version, torch, context.catalog)


def _installed(context: CheckContext) -> dict[str, str]:
    """Return the plain versions of the distributions in the venv of the profile."""
    for env in context.snapshot.get("python_envs") or []:
        if env["path"] == context.option("pytorch_venv"):
            rows = (env.get("distributions") or {}).items()
            plain = {name.lower(): str(row["version"]).partition("+")[0] for name, row in rows}
            return {name: version for name, version in plain.items() if judge.VERSION.fullmatch(version)}
    return {}


def _texts(context: CheckContext) -> c.Iterator[tuple[str, str | None]]:
    """Yield the path and the text of each config that is there, None where it could not be read."""
    watch = context.snapshot.get("watch") or {}
    for name in FILES:
        path = f"{context.option('deepspeed_directory')}/{name}"
        if path in watch:
            seen = watch[path]
            if seen is None or seen["type"] == "file":
                yield path, None if seen is None else seen.get("text")


def _world(context: CheckContext) -> int | None:
    """Return the GPUs of the job as the node's hostfile counts them, None where there is none."""
    seen = (context.snapshot.get("watch") or {}).get(f"{context.option('deepspeed_directory')}/hostfile")
    slots = [int(number) for number in _SLOTS.findall(str((seen or {}).get("text") or ""))]
    return sum(slots) or None


def _offload(text: str) -> bool | None:
    """Return whether a config pins what it offloads to the node's memory, None where it offloads nothing to it."""
    try:
        zero = json.loads(text)["zero_optimization"]
        parts = [zero[name] for name in ("offload_optimizer", "offload_param") if name in zero]
        on_host = [part for part in parts if part["device"] == "cpu"]
    except (ValueError, KeyError, TypeError, RecursionError):
        # What is wrong with it is for the checks of its keys and values to say.
        return None
    return any(part.get("pin_memory") is True for part in on_host) if on_host else None
