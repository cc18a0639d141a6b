# SPDX-License-Identifier: Apache-2.0
"""Decide whether a node needs a reboot: by what it runs and what it should run, never by change."""

from __future__ import annotations

from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.kernel_tuning import missing_parameters
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.model import PlanContext


def reboot_reasons(ctx: PlanContext) -> list[str]:
    """Return why the node must be rebooted once the plan's steps are done; empty when it need not."""
    reasons = []
    amdgpu = ctx.area("modules").get("amdgpu") or {}
    wanted = str(ctx.driver["version"])
    if ctx.profile["rocm_dkms"] and amdgpu.get("loaded") and amdgpu.get("version") != wanted:
        running = amdgpu.get("version") or "the kernel's own"
        reasons.append(f"the running driver is {running}, wanted is {wanted}")
    if ctx.profile["rocm_dkms"] and not amdgpu.get("loaded"):
        reasons.append("no amdgpu driver is loaded; it is loaded at boot")
    if not ctx.profile["rocm_dkms"] and amdgpu.get("loaded") and amdgpu.get("version"):
        reasons.append(f"AMD's driver {amdgpu['version']} is running, wanted is the kernel's own")
    kernel = ctx.area("kernel")
    cmdline = kernel.get("cmdline")
    pending = missing_parameters(ctx, str(cmdline)) if cmdline is not None else []
    # Of a capture nothing is pending: it is judged as it stands (boot.iommu_pt).
    if pending and ctx.snapshot.get("root") == "/":
        reasons.append(f"boot parameters are pending: {' '.join(pending)}")
    if kernel.get("next_release") and kernel["next_release"] != kernel.get("release"):
        reasons.append(f"the next boot's kernel is {kernel['next_release']}, running is {kernel.get('release')}")
    return reasons
