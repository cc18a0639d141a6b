# SPDX-License-Identifier: Apache-2.0
"""Check the driver that dkms built: for the running kernel, loaded, and without dead trees beside it."""

from __future__ import annotations

import collections.abc as c
import dataclasses
import re

from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.hardware import Json
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

MODULE_VERSION = "/sys/module/amdgpu/version"
DKMS_ROOT = "/var/lib/dkms"
NO_DKMS = "rocm_dkms is false: the kernel's own driver is used"


def is_driver(version: str, wanted: str) -> bool:
    """Say whether 5.18.13, 5.18.13-1510348.22.04 or 5.18.13.50402-… is of the driver 5.18.13."""
    return re.match(rf"{re.escape(wanted)}(?:[.-]|$)", version) is not None


def wanted_driver(context: CheckContext) -> str:
    """Return the version of the wanted driver, which may be another release's than the user space."""
    name = context.option("rocm_driver_release", "") or context.release["release"]
    return str(context.catalog.release(name)["driver"]["version"])


def wanted_trees(context: CheckContext) -> list[Json]:
    """Return the dkms trees of the release's driver."""
    wanted = wanted_driver(context)
    trees = context.snapshot["dkms"].get("trees") or []
    return [tree for tree in trees if tree["module"] == "amdgpu" and is_driver(str(tree["version"]), wanted)]


@check(
    "dkms.built_for_running",
    "The release's driver is built and installed for the running kernel",
    areas=("dkms.trees", "kernel.release"),
    remedy=(
        "Read make.log below the evidence's folder, then run dkms autoinstall. amdgpu-install ends "
        "with 0 also when the build fails. A kernel that the driver does not build on: see kernel.supported."
    ),
)
def built_for_running(context: CheckContext) -> c.Iterator[Finding]:
    """Look for the wanted driver's dkms tree with the running kernel in the state installed."""
    if not context.option("rocm_dkms", True):
        yield skipped(NO_DKMS)
        return
    running = context.snapshot["kernel"]["release"]
    wanted = wanted_driver(context)
    expected = f"amdgpu {wanted} installed for {running}"
    trees = wanted_trees(context)
    states = [(str(tree["version"]), str((tree.get("kernels") or {}).get(running, "not built"))) for tree in trees]
    good = [version for version, state in states if state == "installed"]
    evidence = str(trees[0]["path"]) if trees else f"{DKMS_ROOT}/amdgpu"
    if good:
        yield Finding(OK, f"amdgpu/{good[0]}", expected, "installed", "", evidence)
    elif states:
        version, state = states[0]
        reason = f"dkms has amdgpu/{version}, but for {running} it is {state}"
        yield Finding(FAIL, f"amdgpu/{version}", expected, state, reason, evidence)
    else:
        yield Finding(FAIL, f"amdgpu/{wanted}", expected, "no tree", "dkms does not know this driver", evidence)


@check(
    "dkms.built_for_next_boot",
    "The release's driver is built and installed for the kernel that the next boot starts",
    areas=("dkms.trees", "kernel"),
    remedy=(
        "Boot back to a kernel that the driver builds on (GRUB_DEFAULT), or install the headers of the next one and run "
        "dkms autoinstall -k KERNEL. Hold the kernel's packages before it happens again."
    ),
)
def built_for_next_boot(context: CheckContext) -> c.Iterator[Finding]:
    """Look for the wanted driver's dkms tree with the kernel that GRUB starts by default in the state installed."""
    if not context.option("rocm_dkms", True):
        yield skipped(NO_DKMS)
        return
    running, following = context.snapshot["kernel"].get("release"), context.snapshot["kernel"].get("next_release")
    held_back = context.skipped_area("kernel.next_release")
    if held_back:
        yield skipped(held_back)
        return
    if following is None:
        why = context.unreadable("/etc/default/grub") or context.problem("/boot", "kernel")
        found = unknown(f"which kernel the next boot starts is not known: {why}", "/boot")
        yield dataclasses.replace(found, required=False)
        return
    trees = wanted_trees(context)
    states = [(str(tree["version"]), str((tree.get("kernels") or {}).get(following, "not built"))) for tree in trees]
    evidence = str(trees[0]["path"]) if trees else f"{DKMS_ROOT}/amdgpu"
    expected = f"amdgpu installed for {following}"
    good = [version for version, state in states if state == "installed"]
    if good:
        yield Finding(OK, f"amdgpu/{good[0]}", expected, "installed", "", evidence)
        return
    name, state = states[0] if states else ("", "no tree")
    reason = f"the next boot starts {following}, not {running}" if following != running else f"{following} boots again"
    reason += f"; for it dkms has amdgpu/{name} {state}" if states else "; dkms does not know the wanted driver"
    yield Finding(FAIL, f"amdgpu/{name}".rstrip("/"), expected, state, reason, evidence)


@check(
    "dkms.orphan_tree",
    "No dkms tree has lost its source",
    areas=("dkms.trees",),
    remedy="Remove the directory: dkms takes any directory there for a module and fails at every kernel upgrade.",
)
def orphan_tree(context: CheckContext) -> c.Iterator[Finding]:
    """Find dkms trees without a dkms.conf. One of another module than amdgpu is only warned of."""
    trees = context.snapshot["dkms"].get("trees") or []
    orphans = [tree for tree in trees if not tree["has_source"]]
    for tree in orphans:
        ours = tree["module"] == "amdgpu"
        reason = "its source/dkms.conf is gone"
        name = f"{tree['module']}/{tree['version']}"
        yield Finding(FAIL if ours else WARN, name, "a source", "no source", reason, str(tree["path"]))
    if not orphans:
        yield Finding(OK, "", "no tree without a source", f"{len(trees)} trees, all with a source", "", DKMS_ROOT)


@check(
    "driver.version_loaded",
    "The loaded driver is the one that the release wants",
    areas=("modules.amdgpu",),
    remedy=(
        "Reboot: a module stays loaded until then. bringup_reboot: true lets the run do it, once. If the "
        "version is the same after a reboot, look at dkms.built_for_running and at the initramfs."
    ),
)
def version_loaded(context: CheckContext) -> c.Iterator[Finding]:
    """Compare the loaded module's version with the release's; say so when the wanted one waits for a reboot."""
    if not context.option("rocm_dkms", True):
        yield skipped(NO_DKMS)
        return
    wanted = wanted_driver(context)
    module = context.snapshot["modules"].get("amdgpu") or {}
    version = module.get("version")
    waiting = _installed_for_running(context)
    if not module.get("loaded"):
        observed, reason = "not loaded", "the module amdgpu is not loaded"
    elif version is None:
        # Only AMD's own module writes a version; the kernel's has none.
        observed, reason = "the kernel's own driver", "the kernel's own amdgpu is loaded, not AMD's"
    elif is_driver(str(version), wanted):
        yield Finding(OK, "amdgpu", wanted, str(version), "", MODULE_VERSION)
        return
    else:
        observed, reason = str(version), f"amdgpu {version} is loaded, not {wanted}"
    if waiting:
        reason = f"reboot pending: {reason}, while {waiting} is installed"
    yield Finding(FAIL, "amdgpu", wanted, observed, reason, MODULE_VERSION)


def _installed_for_running(context: CheckContext) -> str | None:
    if context.snapshot.get("dkms") is None:
        return None
    running = (context.snapshot.get("kernel") or {}).get("release")
    for tree in wanted_trees(context):
        if (tree.get("kernels") or {}).get(running) == "installed":
            return f"amdgpu/{tree['version']}"
    return None
