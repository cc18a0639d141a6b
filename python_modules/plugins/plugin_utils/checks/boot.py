# SPDX-License-Identifier: Apache-2.0
"""Check what only a reboot changes, and the kernel command line that is active now."""

from __future__ import annotations

import collections.abc as c

from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.hardware import pci_gpus
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

CMDLINE = "/proc/cmdline"
# A container shows the command line of the kernel that it shares, which is the one that counts.
CONTAINERS = ("docker", "lxc", "podman", "systemd-nspawn")


@check(
    "boot.reboot_pending",
    "Nothing waits for a reboot",
    areas=("kernel",),
    remedy="Reboot the node, or let the run do it, once: bringup_reboot: true.",
)
def reboot_pending(context: CheckContext) -> c.Iterator[Finding]:
    """Ask the plan of this snapshot whether the node must be rebooted: driver, kernel, boot parameters."""
    reboot = context.plan.get("reboot")
    if reboot is None:
        yield unknown("the plan does not say", "plan: reboot")
    elif reboot.get("needed"):
        reasons = "; ".join(str(reason) for reason in reboot.get("reasons") or [])
        yield Finding(FAIL, "", "no reboot pending", "reboot pending", f"reboot pending: {reasons}", "plan: reboot")
    else:
        yield Finding(OK, "", "no reboot pending", "none", "", "plan: reboot")


def iommu_state(cmdline: str) -> str:
    """Return "active", "overridden", "off" or "absent": the last iommu= of a command line wins."""
    words = cmdline.split()
    values = [word.partition("=")[2] for word in words if word.startswith("iommu=")]
    if (values and values[-1] == "pt") or "iommu.passthrough=1" in words:
        return "active"
    if "amd_iommu=off" in words or "intel_iommu=off" in words or values[-1:] == ["off"]:
        return "off"
    return "overridden" if "pt" in values else "absent"


@check(
    "boot.iommu_pt",
    "The IOMMU passes the GPUs' addresses through",
    areas=("kernel",),
    required=False,
    remedy=(
        "Put iommu=pt on the kernel command line, on an Intel host intel_iommu=on iommu=pt, keep what is there, run "
        "update-grub and reboot. Collectives between several GPUs can hang without it."
    ),
)
def iommu_pt(context: CheckContext) -> c.Iterator[Finding]:
    """Read iommu= from the running command line: active, pending a reboot, overridden by a later word, or absent.

    Where the kernel shows how it treats the GPUs themselves, that decides: a group of type identity passes through.
    """
    virtualization = (context.snapshot.get("system") or {}).get("virtualization")
    kernel = context.snapshot["kernel"]
    if virtualization and virtualization not in CONTAINERS:
        yield skipped(f"not applicable: a {virtualization} guest has no IOMMU of its own to set")
        return
    if kernel.get("cmdline") is None:
        yield unknown(context.problem(CMDLINE, "kernel"), CMDLINE)
        return
    cmdline = str(kernel["cmdline"])
    vendor = (context.snapshot.get("cpu") or {}).get("vendor")
    wanted = "intel_iommu=on iommu=pt" if vendor == "GenuineIntel" else "iommu=pt"
    yield _judge_iommu(context, iommu_state(cmdline), str(kernel.get("next_cmdline") or ""), wanted)


def _judge_iommu(context: CheckContext, state: str, following: str, wanted: str) -> Finding:
    iommu = context.snapshot.get("iommu") or {}
    ours = {str(gpu["bdf"]) for gpu in pci_gpus(context)}
    types = {str(bdf): str(kind) for bdf, kind in (iommu.get("gpu_types") or {}).items() if kind and bdf in ours}
    translated = sorted(bdf for bdf, kind in types.items() if kind != "identity")
    if state == "active" and translated:
        kind = types[translated[0]]
        reason = f"iommu=pt is set, but {', '.join(translated)} is in a group of type {kind}, which translates"
        return Finding(FAIL, "", wanted, "translating", reason, "/sys/kernel/iommu_groups")
    if state == "active":
        return Finding(OK, "", wanted, "active", "", CMDLINE)
    if state == "off":
        return Finding(OK, "", wanted, "off", "the IOMMU is switched off, so it translates nothing", CMDLINE)
    if types and not translated:
        reason = "not on the command line, but every GPU is in a group that passes through (the kernel's default)"
        return Finding(OK, "", wanted, "passed through", reason, "/sys/kernel/iommu_groups")
    if context.snapshot.get("iommu") is not None and not iommu.get("units") and not types:
        reason = "there is no IOMMU at work: it is disabled in the BIOS, so it translates nothing"
        return Finding(OK, "", wanted, "off", reason, "/sys/class/iommu")
    if iommu_state(following) == "active":
        reason = "iommu=pt is set for the next boot, but not active"
        return Finding(FAIL, "", wanted, "pending", reason, CMDLINE, "Reboot the node: bringup_reboot: true.")
    if state == "overridden":
        reason = "a later iommu= on the command line takes iommu=pt back"
        return Finding(FAIL, "", wanted, "overridden", reason, CMDLINE)
    reason = f"no {wanted} on the kernel command line"
    if len(ours) < 2:
        return Finding(WARN, "", wanted, "absent", f"{reason}; with one GPU it only costs time", CMDLINE)
    return Finding(FAIL, "", wanted, "absent", reason, CMDLINE)
