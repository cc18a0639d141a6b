# SPDX-License-Identifier: Apache-2.0
"""Check that the running kernel is one that the release's driver builds on."""

from __future__ import annotations

import collections.abc as c
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

OSRELEASE = "/proc/sys/kernel/osrelease"
# 5.15.0-91-generic, 5.15.0-1073-azure; not 5.13.11-051311-generic (mainline build) or 5.18.2-mi300-build.
DISTRIBUTION_KERNEL = re.compile(r"\d+\.\d+\.0-\d{1,4}-[a-z][a-z0-9-]*")


def kernel_numbers(release: str) -> tuple[int, ...]:
    """Return (6, 8, 0, 44) of "6.8.0-44-generic": integers, so that 6.14 is newer than 6.8."""
    found = re.match(r"\d+(?:[.-]\d+)*", release)
    return tuple(int(part) for part in re.split(r"[.-]", found.group())) if found else ()


def _begins_with(release: tuple[int, ...], entry: str) -> bool:
    """Say whether a kernel is of an entry such as "5.15" or "6.8.0-44"."""
    numbers = kernel_numbers(entry)
    return bool(numbers) and release[: len(numbers)] == numbers


@check(
    "kernel.supported",
    "The running kernel is one that the release's driver is known to work with",
    areas=("kernel", "os"),
    remedy=(
        "Boot a kernel of the table, or choose a ROCm release whose driver builds on this one. "
        "Hold the kernel's packages, so that an upgrade does not bring the next one."
    ),
)
def supported(context: CheckContext) -> c.Iterator[Finding]:
    """Look the running kernel up in the catalog: known to fail, in AMD's table, or neither (warn)."""
    running = context.snapshot["kernel"].get("release")
    if not running:
        yield unknown(context.problem(OSRELEASE, "kernel"), OSRELEASE)
        return
    release = context.release
    numbers = kernel_numbers(running)
    system = f"{context.snapshot['os'].get('id')}-{context.snapshot['os'].get('version_id')}"
    table = [str(entry) for entry in (release.get("kernels") or {}).get(system) or []]
    expected = " or ".join(table) or f"a kernel that ROCm {release['release']} names for {system}"
    known_bad = release.get("known_bad_kernels") or []
    bad = next((entry for entry in known_bad if _begins_with(numbers, entry["kernel"])), None)
    if bad and context.option("rocm_dkms", True):
        yield Finding(FAIL, running, expected, running, str(bad["reason"]), OSRELEASE)
    elif any(_begins_with(numbers, entry) for entry in table):
        yield Finding(OK, running, expected, running, "", OSRELEASE)
    elif any(_begins_with(numbers, str(entry)) for entry in release.get("known_good_kernels") or []):
        reason = "not in AMD's table, but the driver is known to build on it"
        yield Finding(OK, running, expected, running, reason, OSRELEASE)
    else:
        reason = f"nothing is known of ROCm {release['release']} on this kernel and {system}"
        yield Finding(WARN, running, expected, running, reason, OSRELEASE)


@check(
    "kernel.headers_available",
    "The headers of the running kernel are installed, so that the driver can be built",
    areas=("kernel",),
    remedy=(
        "Install linux-headers of the running kernel. Where no archive has them, the kernel is not a "
        "distribution's: boot one that is."
    ),
)
def headers_available(context: CheckContext) -> c.Iterator[Finding]:
    """Look for /lib/modules/KERNEL/build of the running kernel. Without AMD's own driver it does not matter."""
    if not context.option("rocm_dkms", True):
        yield skipped("rocm_dkms is false: no driver is built here")
        return
    kernel: dict[str, t.Any] = context.snapshot["kernel"]
    running, headers = kernel.get("release"), kernel.get("headers")
    evidence = f"/lib/modules/{running}/build"
    if not running or headers is None:
        yield unknown(context.problem("/lib/modules", "kernel"), evidence)
    elif running in headers:
        yield Finding(OK, running, "headers", "headers", "", evidence)
    else:
        reason = "no headers of the running kernel"
        if not DISTRIBUTION_KERNEL.fullmatch(running):
            reason += ", which is not a distribution's kernel"
        others = [name for name in kernel.get("installed") or [] if name in headers]
        reason += f"; installed kernels that have them: {', '.join(others) or 'none'}"
        yield Finding(FAIL, running, "headers", "no headers", reason, evidence)
