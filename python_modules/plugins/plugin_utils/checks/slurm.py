# SPDX-License-Identifier: Apache-2.0
"""Check Slurm's description of the GPUs: it throws a wrong one away without an error that says so."""

from __future__ import annotations

import collections.abc as c

from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.hardware import Json, kfd_gpus
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.model import (
    FAIL,
    OK,
    WARN,
    CheckContext,
    Finding,
    skipped,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.registry import check

KNOWN = ("rsmi", "nvml", "oneapi", "nrt", "off")


def _lines(context: CheckContext) -> list[Json]:
    return list(context.snapshot["slurm"]["lines"])


@check(
    "slurm.gres_autodetect",
    "Slurm's AutoDetect names a detection that exists",
    areas=("slurm",),
    required=False,
    remedy="AutoDetect=rsmi is the word for AMD GPUs; slurmd must be built with the ROCm SMI library.",
)
def gres_autodetect(context: CheckContext) -> c.Iterator[Finding]:
    """Read every AutoDetect of gres.conf."""
    words = [(line, str(line["values"]["autodetect"])) for line in _lines(context) if "autodetect" in line["values"]]
    if not words:
        yield skipped("no gres.conf with AutoDetect here")
    for line, word in words:
        evidence = f"{line['path']}:{line['line']}"
        if word.lower() in KNOWN:
            yield Finding(OK, evidence, "rsmi", word, "", evidence)
        else:
            yield Finding(FAIL, evidence, "rsmi", word, f"Slurm knows no detection {word!r}", evidence)


@check(
    "slurm.gres_type_numeric",
    "Slurm's GPU types are names and its counts are counts",
    areas=("slurm", "kfd"),
    required=False,
    remedy="Write Gres=gpu:8 for eight GPUs, or gpu:mi210:8 with a type. In gpu:8:1 the 8 is a type's name.",
)
def gres_type_numeric(context: CheckContext) -> c.Iterator[Finding]:
    """Look for a type of digits only, and compare the counts with the GPUs of KFD."""
    found = False
    seen = len(kfd_gpus(context) or [])
    for line in _lines(context):
        for kind, count in _gpu_entries(line["values"]):
            found = True
            evidence = f"{line['path']}:{line['line']}"
            text = f"type {kind or '(none)'}, count {count}"
            if kind and kind.isdigit():
                reason = f"the type is {kind!r}, a number: it was meant as the count"
                yield Finding(FAIL, evidence, "a name", text, reason, evidence)
            elif seen and count.isdigit() and int(count) != seen:
                yield Finding(WARN, evidence, f"count {seen}", text, f"KFD shows {seen} GPUs", evidence)
            else:
                yield Finding(OK, evidence, "a name and a count", text, "", evidence)
    if not found:
        yield skipped("no GPU in Slurm's files here")


def _gpu_entries(values: Json) -> c.Iterator[tuple[str, str]]:
    """Yield (type, count) of Gres=gpu:TYPE:COUNT and of Name=gpu Type=… Count=…"""
    for entry in str(values.get("gres") or "").split(","):
        fields = entry.partition("(")[0].split(":")
        if fields[0].lower() == "gpu":
            yield (fields[1], fields[2]) if len(fields) > 2 else _one(fields[1:])
    if str(values.get("name") or "").lower() == "gpu" and ("type" in values or "count" in values):
        yield str(values.get("type") or ""), str(values.get("count") or "1")


def _one(fields: list[str]) -> tuple[str, str]:
    if not fields:
        return "", "1"
    return ("", fields[0]) if fields[0].isdigit() else (fields[0], "1")
