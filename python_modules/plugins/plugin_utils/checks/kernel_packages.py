# SPDX-License-Identifier: Apache-2.0
"""Check what the next upgrade or boot would do to the driver, and what the kernel was built with."""

from __future__ import annotations

import collections.abc as c
import re

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
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.vendor import (
    DPKG_STATUS,
    is_installed,
    package_rows,
)

# linux-generic-hwe-24.04 and its parts: they move to the next series by themselves.
_HWE = re.compile(r"linux-(?:image-|headers-)?(?:generic|lowlatency)-hwe-\d\d\.\d\d(?:-edge)?")


@check(
    "kernel.hwe_meta_installed",
    "No package that moves the kernel to the next series is free to do so",
    areas=("dpkg",),
    required=False,
    remedy="apt-mark hold the named packages, or keep to linux-image-generic of the release. Hold before each upgrade.",
)
def hwe_meta(context: CheckContext) -> c.Iterator[Finding]:
    """Look for the hardware enablement meta-packages. One that is held is well."""
    if not context.option("rocm_dkms", True):
        yield skipped("rocm_dkms is false: no driver is built here")
        return
    rows = {name: row for name, row in package_rows(context).items() if _HWE.fullmatch(name) and is_installed(row)}
    free = sorted(name for name, row in rows.items() if not row.get("hold"))
    if not free:
        held = ", ".join(sorted(rows)) or "none"
        yield Finding(OK, "", "none, or held", held, "", DPKG_STATUS)
    for name in free:
        reason = "its next version brings a kernel that this driver may not build on"
        yield Finding(WARN, name, "held", "not held", reason, DPKG_STATUS)


@check(
    "kernel.half_configured",
    "No kernel package is left half-configured",
    areas=("dpkg",),
    remedy=(
        "Make the driver build again (see kernel.supported) or remove it from that kernel with dkms, then "
        "dpkg --configure -a. The hook of a driver that does not build stops every kernel package."
    ),
)
def half_configured(context: CheckContext) -> c.Iterator[Finding]:
    """Read dpkg's state of every linux-image, linux-headers and linux-modules package."""
    broken = [
        (name, str(row["status"]))
        for name, row in sorted(package_rows(context).items())
        if re.match(r"linux-(image|headers|modules|generic)", name) and str(row["status"])[1:2] in "UFHWt"
    ]
    if not broken:
        yield Finding(OK, "", "installed", "installed", "", DPKG_STATUS)
    for name, status in broken:
        yield Finding(FAIL, name, "ii", status.strip(), f"dpkg's state of it is {status.strip()}", DPKG_STATUS)


@check(
    "kernel.peer_config",
    "The kernel can hand GPU memory to the network cards",
    areas=("kernel", "net"),
    required=False,
    remedy="Boot a kernel that has the named options; Ubuntu 22.04's 5.15 lacks them, its HWE kernel 6.8 has them.",
)
def peer_config(context: CheckContext) -> c.Iterator[Finding]:
    """Read /boot/config of the running kernel where there are RDMA devices: dma-buf peers need three options."""
    if not context.snapshot["net"].get("hcas"):
        yield skipped("no RDMA device: nothing takes GPU memory over dma-buf")
        return
    kernel = context.snapshot["kernel"]
    evidence = f"/boot/config-{kernel.get('release')}"
    options = kernel.get("config")
    if options is None:
        yield unknown(context.problem(evidence, "kernel"), evidence)
        return
    lacking = [name for name, value in options.items() if value != "y"]
    if lacking:
        reason = f"{', '.join(lacking)} not set: RDMA over dma-buf takes the way through the processor's memory"
        yield Finding(WARN, "", "y", ", ".join(f"{name}={options[name]}" for name in lacking), reason, evidence)
    else:
        yield Finding(OK, "", "y", "y", "", evidence)
