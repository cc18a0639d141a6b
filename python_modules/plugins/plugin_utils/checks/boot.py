# SPDX-License-Identifier: Apache-2.0
"""Check what only a reboot changes, and the kernel command line that is active now."""

from __future__ import annotations

import collections.abc as c

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
    values = [word.partition("=")[2] for word in cmdline.split() if word.startswith("iommu=")]
    if values and values[-1] == "pt":
        return "active"
    if "amd_iommu=off" in cmdline.split() or "intel_iommu=off" in cmdline.split() or values[-1:] == ["off"]:
        return "off"
    return "overridden" if "pt" in values else "absent"


@check(
    "boot.iommu_pt",
    "The IOMMU passes the GPUs' addresses through",
    areas=("kernel",),
    required=False,
    remedy=(
        "Put iommu=pt on the kernel command line, on an Intel host with intel_iommu=on, and reboot. "
        "Collectives between several GPUs can hang without it."
    ),
)
def iommu_pt(context: CheckContext) -> c.Iterator[Finding]:
    """Read iommu= from the running command line: active, pending a reboot, overridden by a later word, or absent."""
    virtualization = (context.snapshot.get("system") or {}).get("virtualization")
    kernel = context.snapshot["kernel"]
    if virtualization and virtualization not in CONTAINERS:
        yield skipped(f"a {virtualization} guest has no IOMMU of its own to set")
        return
    if kernel.get("cmdline") is None:
        yield unknown(context.problem(CMDLINE, "kernel"), CMDLINE)
        return
    state = iommu_state(str(kernel["cmdline"]))
    if state == "active":
        yield Finding(OK, "", "iommu=pt", "active", "", CMDLINE)
    elif state == "off":
        yield Finding(OK, "", "iommu=pt", "off", "the IOMMU is switched off, so it translates nothing", CMDLINE)
    elif iommu_state(str(kernel.get("next_cmdline") or "")) == "active":
        reason = "iommu=pt is set for the next boot, but not active"
        yield Finding(WARN, "", "iommu=pt", "pending", reason, CMDLINE)
    elif state == "overridden":
        reason = "a later iommu= on the command line takes iommu=pt back"
        yield Finding(WARN, "", "iommu=pt", "overridden", reason, CMDLINE)
    else:
        yield Finding(WARN, "", "iommu=pt", "absent", "no iommu=pt on the kernel command line", CMDLINE)
