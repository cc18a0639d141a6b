# SPDX-License-Identifier: Apache-2.0
"""Check that the running kernel is one that the release's driver builds on."""

from __future__ import annotations

import collections.abc as c
import dataclasses
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
    "The running kernel, and the next boot's, are ones that the release's driver is known to work with",
    areas=("kernel", "os"),
    remedy=(
        "Boot a kernel of the table, choose a ROCm release whose driver builds on this one, or use the kernel's own "
        "driver: rocm_dkms: false. Hold the kernel's packages, so that an upgrade does not bring the next one."
    ),
)
def supported(context: CheckContext) -> c.Iterator[Finding]:
    """Look the kernels up in the catalog: known to fail or beyond what fails, older than any known, in AMD's table,
    or neither (warn). Numbers are compared as integers: 6.14 is newer than 6.8.
    """
    kernel = context.snapshot["kernel"]
    running, following = kernel.get("release"), kernel.get("next_release")
    if not running:
        yield unknown(context.problem(OSRELEASE, "kernel"), OSRELEASE)
        return
    yield _judge_kernel(context, str(running), OSRELEASE)
    if following and following != running:
        found = _judge_kernel(context, str(following), "/boot")
        yield dataclasses.replace(found, reason=f"the next boot's kernel: {found.reason}".rstrip(": "))


def _judge_kernel(context: CheckContext, kernel: str, evidence: str) -> Finding:
    release, numbers = context.release, kernel_numbers(kernel)
    system = f"{context.snapshot['os'].get('id')}-{context.snapshot['os'].get('version_id')}"
    table = [str(entry) for entry in (release.get("kernels") or {}).get(system) or []]
    good = [str(entry) for entry in release.get("known_good_kernels") or []]
    expected = " or ".join(table) or f"a kernel that ROCm {release['release']} names for {system}"
    if context.option("rocm_dkms", True):
        bad = _upper_bound(release, numbers, [*table, *good])
        if bad is not None:
            return Finding(FAIL, kernel, expected, kernel, bad, evidence)
        lowest = min((kernel_numbers(entry) for entry in [*table, *good]), default=())
        if lowest and numbers[: len(lowest)] < lowest:
            reason = f"older than {'.'.join(map(str, lowest))}, the oldest that this driver is known to work with"
            return Finding(FAIL, kernel, expected, kernel, reason, evidence)
    if any(_begins_with(numbers, entry) for entry in table):
        return Finding(OK, kernel, expected, kernel, "", evidence)
    if any(_begins_with(numbers, entry) for entry in good):
        reason = "not in AMD's table, but the driver is known to build on it"
        return Finding(OK, kernel, expected, kernel, reason, evidence)
    reason = f"nothing is known of ROCm {release['release']} on this kernel and {system}"
    return Finding(WARN, kernel, expected, kernel, reason, evidence)


def _upper_bound(release: dict[str, t.Any], numbers: tuple[int, ...], known: list[str]) -> str | None:
    """Return why a kernel is too new: it is one that fails, or newer than one that fails and than all that work.

    What a table says of a whole series (6.8) does not cover an update of it (6.8.0-44) that is known to fail.
    """
    for entry in release.get("known_bad_kernels") or []:
        bad = kernel_numbers(str(entry["kernel"]))
        if not bad:
            continue
        if numbers[: len(bad)] == bad:
            return str(entry["reason"])
        newer_that_work = [fine for name in known if (fine := kernel_numbers(name)) > bad]
        if numbers > bad and not any(numbers[: len(fine)] <= fine for fine in newer_that_work):
            return f"newer than {entry['kernel']}, which fails: {entry['reason']}"
    return None


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
    held_back = context.skipped_area("kernel.headers")
    if held_back:
        yield skipped(held_back)
    elif not running or headers is None:
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
