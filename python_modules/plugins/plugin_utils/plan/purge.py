# SPDX-License-Identifier: Apache-2.0
"""Plan what of other ROCm releases goes from a node, what stays, and why."""

from __future__ import annotations

import typing as t

from ansible_collections.instinct.bringup.plugins.plugin_utils.packages import Vendor
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.kernel import victims
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.model import PlanContext, Refusal, Step
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.purge_apt import plan_apt
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.purge_list import PurgeList
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.purge_rest import (
    plan_alternatives,
    plan_dkms_trees,
    plan_leftovers,
    plan_trees,
    plan_wheels,
)

# The driver is of its own release where rocm_driver_release says so.
DRIVER_PACKAGES = ("amdgpu-dkms", "amdgpu-dkms-firmware", "amdgpu-dkms-headers")


def plan_purge(ctx: PlanContext) -> tuple[Step, list[dict[str, str]]]:
    """Return the step of role rocm_purge and what stays although it looks like ROCm."""
    purge = PurgeList()
    dkms_trees = plan_dkms_trees(ctx, purge)
    _packages(ctx, purge)
    plan_apt(ctx, purge)
    plan_trees(ctx, purge)
    plan_alternatives(ctx, purge)
    plan_leftovers(ctx, purge)
    wheels = plan_wheels(ctx, purge)
    names = purge.names
    inputs = {
        "packages": sorted(names.get("package", [])),
        "unhold": sorted(names.get("hold", [])),
        "files": sorted(names.get("file", [])),
        "alternatives": sorted(names.get("alternative", [])),
        "dkms_trees": dkms_trees,
        "trees": sorted(names.get("tree", [])),
        "wheels": wheels,
        "run_id": ctx.run_id,
        "run_dir": ctx.run_dir,
    }
    notes = [
        f"{name} ({ctx.packages[name]['status'].strip()}): the build of the driver that goes has left it so; "
        "it is configured once that driver is gone"
        for name in victims(ctx, names.get("package", []))
    ]
    step = Step("rocm_purge", tuple(purge.changes), inputs, notes=tuple(notes))
    return step, [{"subject": subject, "reason": reason} for subject, reason in purge.kept]


def simulation_inputs(step: Step, settles: bool) -> dict[str, t.Any]:
    """Return what the module takes before anything is changed; the folder of the run is the role's own.

    settles: dpkg is let finish between this and the purge.
    """
    return {**{key: value for key, value in step.inputs.items() if key != "run_dir"}, "settles": settles}


def purge_refusals(ctx: PlanContext, step: Step) -> list[Refusal]:
    """Return the refusals of a purge that would take what a site protects."""
    protected = sorted(set(step.inputs["packages"]) & set(ctx.profile["rocm_purge_protect"]))
    return [
        Refusal(
            "purge.protected",
            name,
            f"{name} {ctx.packages[name]['version']} is in the way",
            "removing it, which rocm_purge_protect forbids",
            f"take {name} out of rocm_purge_protect, or keep the release that it belongs to",
        )
        for name in protected
    ]


def _packages(ctx: PlanContext, purge: PurgeList) -> None:
    ours = set(ctx.area("journal").get("holds") or [])
    for name, row in sorted(ctx.packages.items()):
        version, status = str(row["version"]), str(row["status"])
        if status[1:2] == "n":
            continue
        reason = _reason(ctx, name, version, status)
        if reason is None:
            if ctx.families.is_family_name(name) and ctx.families.classify(name, version) is None:
                purge.keep(f"package {name} {version}", "the distribution's own, and not in the way")
            elif row["hold"] and ctx.families.classify(name, version) is None:
                purge.keep(f"hold on {name}", "the site's own")
            continue
        purge.add("package", name, f"{version} ({status.strip()})", reason)
        if row["hold"]:
            whose = "a hold of ours" if name in ours else "a hold that somebody else set"
            purge.add("hold", name, "held", f"{whose}, on a package that goes")


def _reason(ctx: PlanContext, name: str, version: str, status: str) -> str | None:
    """Say why a package goes, or None when it stays."""
    vendor = ctx.families.classify(name, version)
    if vendor is None:
        if name in ctx.release["shadowed"]:
            return "the distribution's package of a name that AMD's release also has; it would win"
        return None
    wanted = str((ctx.driver_release if name in DRIVER_PACKAGES else ctx.release)["release"])
    if name in DRIVER_PACKAGES and not ctx.profile["rocm_dkms"]:
        return "rocm_dkms is false: the kernel's own driver is wanted"
    return _vendor_reason(ctx, name, vendor, wanted, status)


def _vendor_reason(ctx: PlanContext, name: str, vendor: Vendor, wanted: str, status: str) -> str | None:
    if vendor.release != wanted:
        return f"of ROCm {vendor.release or 'an unknown release'}, wanted is {wanted}"
    if vendor.suite not in (None, ctx.suffix):
        return f"built for {vendor.suite}, the node is {ctx.suffix}"
    if name.endswith(wanted):
        return f"of a side-by-side install of {wanted}: it owns the files of the package without a number"
    if status[1:2] == "c":
        return "configuration files of a removed package"
    return None
