# SPDX-License-Identifier: Apache-2.0
"""Judge a text that somebody sent: a tool's output, a kernel log, a list of PCI devices. It names its source.

Such a text is evidence of its moment only. What it does not say stays unknown, and where a tool is known to be wrong
its word is not taken.
"""

from __future__ import annotations

import collections
import collections.abc as c
import dataclasses
import re

from ansible_collections.instinct.bringup.plugins.module_utils.kernel_log import parse_kernel_log
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks import CHECKS
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.access import ERRORS
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.boot import iommu_state
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.health import GAVE_UP
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.model import (
    FAIL,
    OK,
    UNKNOWN,
    WARN,
    CheckResult,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.pcie import gigatransfers
from ansible_collections.instinct.bringup.plugins.plugin_utils.tools.amd_smi import parse_amd_smi
from ansible_collections.instinct.bringup.plugins.plugin_utils.tools.model import ToolOutput
from ansible_collections.instinct.bringup.plugins.plugin_utils.tools.rocm_smi import parse_rocm_smi

_CARD = re.compile(
    r"^(?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7] (?:Display controller|Processing accelerators)\b.*AMD", re.M
)
_NOT_LOADED = re.compile(r"ROCk module is NOT loaded|Driver not initialized|/sys/module/amdgpu/\S+: No such file")
_UNCLAIMED = re.compile(r"\*-display UNCLAIMED")
_OPEN = re.compile(r"Unable to open /dev/kfd read-write: (.+)")
_WORDS = {"Permission denied": "EACCES", "Invalid argument": "EINVAL", "Cannot allocate memory": "ENOMEM"}
_CMDLINE = re.compile(r"^.*?(BOOT_IMAGE=\S+ .*)$", re.M)
_NOT_PT = 'Missing "iommu=pt" from kernel command line'
_PCIE = re.compile(r"([0-9.]+)\s*GT/s x(\d+)")


@dataclasses.dataclass(frozen=True)
class Expected:
    """What the owner of the machine says of it; None where nobody said."""

    gpu_count: int | None = None
    hive_size: int | None = None
    pcie_speed: str | None = None


def judge_text(text: str, source: str, expected: Expected) -> list[CheckResult]:
    """Return what a text says, as results of the checks that it touches; none where it says nothing of them."""
    results: list[CheckResult] = []
    for output in (parse_rocm_smi(text), parse_amd_smi(text)):
        if output.readable:
            results += _tool(output, source, expected)
            break
    results += [*_log(text, source), *_devices(text, source), *_kfd(text, source), *_cmdline(text, source)]
    return results


def _result(check: str, outcome: str, source: str, **texts: str) -> CheckResult:
    entry = CHECKS[check]
    empty = dict.fromkeys(("subject", "expected", "observed", "reason"), "")
    remedy = texts.pop("remedy", entry.remedy)
    return CheckResult(check, outcome, entry.required, **{**empty, **texts}, remedy=remedy, evidence=source)


def _tool(output: ToolOutput, source: str, expected: Expected) -> c.Iterator[CheckResult]:
    addresses = [gpu.bdf for gpu in output.gpus if gpu.bdf]
    functions = [bdf for bdf in addresses if not bdf.endswith(".0")]
    if functions:
        reason = f"the tool shows functions as cards ({', '.join(functions)}): known to be wrong, use sysfs and lspci"
        yield _result("gpu.count", UNKNOWN, source, observed=f"{len(output.gpus)} GPUs", reason=reason)
        return
    # Topology pairs may name cards that are not in the list, so that only the list is counted.
    listed = [gpu for gpu in output.gpus if gpu.device_id or gpu.model_id or gpu.bdf]
    if expected.gpu_count is not None and (listed or not output.gpus):
        seen = len({gpu.bdf or gpu.index for gpu in listed})
        outcome = OK if seen == expected.gpu_count else FAIL
        reason = "" if outcome == OK else f"the tool shows {seen} of {expected.gpu_count} GPUs"
        observed = f"{seen} of {expected.gpu_count}"
        yield _result("gpu.count", outcome, source, expected=str(expected.gpu_count), observed=observed, reason=reason)
    models = collections.Counter(gpu.device_id or gpu.model_id for gpu in listed if gpu.device_id or gpu.model_id)
    if len(models) > 1:
        observed = ", ".join(f"{number} x {name}" for name, number in sorted(models.items(), key=str))
        yield _result("gpu.model_uniform", WARN, source, observed=observed, reason="GPUs of several models in one node")
    yield from _tool_links(output, source, expected)
    yield from _tool_speed(output, source, expected)


def _tool_links(output: ToolOutput, source: str, expected: Expected) -> c.Iterator[CheckResult]:
    if not output.links or expected.hive_size is None:
        return
    indexes = sorted({index for pair in output.links for index in pair})
    groups: list[set[int]] = []
    for index in indexes:
        joined = [group for group in groups if any(output.links.get((index, other)) == "XGMI" for other in group)]
        groups = [group for group in groups if group not in joined] + [{index}.union(*joined)]
    sizes = sorted(len(group) for group in groups)
    small = [size for size in sizes if size < expected.hive_size]
    observed = ", ".join(map(str, sizes))
    wanted = f"hives of {expected.hive_size}"
    if small:
        reason = "the tool shows PCIE between cards that were to be bridged"
        yield _result("xgmi.hive", FAIL, source, expected=wanted, observed=f"hives of {observed}", reason=reason)
    else:
        yield _result("xgmi.hive", OK, source, expected=wanted, observed=f"hives of {observed}")


def _tool_speed(output: ToolOutput, source: str, expected: Expected) -> c.Iterator[CheckResult]:
    wanted = gigatransfers(expected.pcie_speed) if expected.pcie_speed else None
    for gpu in output.gpus:
        found = _PCIE.search(gpu.pcie or "")
        if not found or wanted is None:
            continue
        speed, subject = float(found[1]), gpu.bdf or f"GPU {gpu.index}"
        outcome = OK if speed >= wanted else FAIL
        reason = "" if outcome == OK else f"the link's fastest level is {speed:.1f} GT/s"
        yield _result(
            "pcie.link_speed", outcome, source, subject=subject, expected=f"{wanted:.1f} GT/s",
            observed=f"{speed:.1f} GT/s", reason=reason,
        )  # fmt: skip


def _log(text: str, source: str) -> c.Iterator[CheckResult]:
    said: set[tuple[str, str]] = set()
    for event in parse_kernel_log(text)["events"]:
        check, remedy = "", None
        if event["kind"] in GAVE_UP:
            check = "gpu.init_fatal"
        elif event["kind"] == "aer" and "fatal" in str(event["detail"]).lower().replace("non-fatal", ""):
            check = "pcie.aer_fatal"
            remedy = CHECKS["boot.iommu_pt"].remedy + " " + CHECKS[check].remedy
        bdf = str(event["bdf"] or "")
        if check and (check, bdf) not in said:
            said.add((check, bdf))
            texts = {"subject": bdf, "observed": str(event["kind"]), "reason": str(event["text"])}
            yield _result(check, FAIL, source, **texts, **({"remedy": remedy} if remedy else {}))


def _devices(text: str, source: str) -> c.Iterator[CheckResult]:
    cards = len(_CARD.findall(text))
    if _NOT_LOADED.search(text):
        observed = f"{cards} cards on PCI, none in KFD" if cards else "not loaded"
        yield _result("gpu.driver_bound", FAIL, source, observed=observed, reason="the module amdgpu is not loaded")
    elif _UNCLAIMED.search(text):
        yield _result("gpu.driver_bound", FAIL, source, observed="UNCLAIMED", reason="no driver has taken the card")


def _kfd(text: str, source: str) -> c.Iterator[CheckResult]:
    found = _OPEN.search(text)
    if not found:
        return
    error = _WORDS.get(found[1].strip(), found[1].strip())
    meaning, remedy = ERRORS.get(error, ("open failed", None))
    reason = f"/dev/kfd: {meaning} ({error})"
    extra = {"remedy": remedy} if remedy else {}
    yield _result("dev.kfd_openable_as_user", FAIL, source, observed=error, reason=reason, **extra)
    why = "who may not open /dev/kfd sees no GPU: this says nothing of the hardware"
    yield _result("gpu.count", UNKNOWN, source, observed="not seen", reason=why)


def _cmdline(text: str, source: str) -> c.Iterator[CheckResult]:
    if _NOT_PT in text:
        reason = "RCCL itself says that iommu=pt is not on the kernel command line"
        yield _result("boot.iommu_pt", FAIL, source, expected="iommu=pt", observed="absent", reason=reason)
        return
    found = _CMDLINE.search(text)
    if found:
        state = iommu_state(found[1])
        outcome = OK if state in ("active", "off") else FAIL
        reason = "" if outcome == OK else "the kernel's command line has no iommu=pt in force"
        yield _result("boot.iommu_pt", outcome, source, expected="iommu=pt", observed=state, reason=reason)
