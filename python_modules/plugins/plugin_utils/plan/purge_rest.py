# SPDX-License-Identifier: Apache-2.0
"""Plan what goes beside packages: trees, alternatives, drivers of dkms, leftovers and wheels."""

from __future__ import annotations

import fnmatch
import typing as t

from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.model import PlanContext
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.purge_list import PurgeList
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.wheels import lock_pins, normalize

# Who owns the folder triton/ of an environment: with two owners the last one installed wins.
TRITONS = ("triton", "triton-rocm", "pytorch-triton-rocm", "pytorch-triton")
_TORCHES = ("torch", "torchvision", "torchaudio")


def plan_dkms_trees(ctx: PlanContext, purge: PurgeList) -> list[dict[str, str]]:
    """List dkms trees of other drivers, and orphans: one makes every later kernel install fail."""
    wanted = ctx.driver["version"]
    trees = []
    for tree in ctx.area("dkms").get("trees") or []:
        is_wanted = str(tree["version"]).startswith((f"{wanted}-", f"{wanted}."))
        if tree["module"] != "amdgpu" or (is_wanted and tree["has_source"] and ctx.profile["rocm_dkms"]):
            continue
        before = "source is there" if tree["has_source"] else "orphan, its source is gone"
        if not ctx.profile["rocm_dkms"]:
            reason = "rocm_dkms is false: the kernel's own driver is wanted"
        elif is_wanted:
            reason = "without its source dkms fails at every kernel upgrade"
        else:
            reason = f"a driver that is not {wanted}"
        purge.add("dkms", f"amdgpu/{tree['version']}", before, reason)
        trees.append({"module": "amdgpu", "version": str(tree["version"])})
    return trees


def plan_trees(ctx: PlanContext, purge: PurgeList) -> None:
    """List trees below /opt of other releases. A folder /opt/rocm in the place of the link is one too."""
    for tree in ctx.area("opt").get("trees") or []:
        path = str(tree["path"])
        if path == f"/opt/rocm-{ctx.release['release']}":
            continue
        owners = ", ".join((tree["owners"] or [])[:3]) or "no package"
        before = f"owned by {owners}; {tree['unowned_files']} files without a package"
        purge.add("tree", path, before, "what is left of another release; the manifest lists every file")


def plan_alternatives(ctx: PlanContext, purge: PurgeList) -> None:
    """List alternatives that lead into another release only."""
    kept = f"/opt/rocm-{ctx.release['release']}/"
    for entry in ctx.snapshot.get("alternatives") or []:
        choices = [str(choice) for choice in entry["choices"]]
        value = str(entry["value"])
        if any(f"{choice}/".startswith(kept) for choice in choices):
            continue
        reason = "leads into another release" if entry.get("target_exists") else "leads to what is gone"
        purge.add("alternative", str(entry["name"]), value, reason)


def plan_leftovers(ctx: PlanContext, purge: PurgeList) -> None:
    """List what the catalog names as left behind, where no package that stays owns anything in it."""
    going = purge.going("package")
    known = ctx.catalog.leftovers["leftovers"]
    staying = {str(tree["version"]) for tree in ctx.area("dkms").get("trees") or []} - {
        name.partition("/")[2] for name in purge.going("dkms")
    }
    for found in ctx.snapshot.get("leftovers") or []:
        path = str(found["path"])
        entry = next((entry for entry in known if fnmatch.fnmatchcase(path, entry["path"])), None)
        if entry is None or found["owners"] is None:
            continue
        owners = set(found["owners"])
        if "owner" in entry and ctx.installed(entry["owner"]):
            owners.add(entry["owner"])
        if owners - going or any(path == f"/usr/src/amdgpu-{version}" for version in staying):
            continue
        owned = f"owned by {', '.join(sorted(owners))}" if owners else "owned by no package"
        purge.add("tree" if found["type"] == "directory" else "file", path, owned, entry["why"])


def plan_wheels(ctx: PlanContext, purge: PurgeList) -> list[dict[str, t.Any]]:
    """List wheels of other releases in the environments that the site names, and strangers' tritons in ours."""
    ours = str(ctx.profile["pytorch_venv"])
    tag = f"+{ctx.release['torch']['index_tag']}"
    pins = lock_pins(ctx.lock or "")
    wheels = []
    for env in ctx.snapshot.get("python_envs") or []:
        names = []
        for name, entry in sorted((env["distributions"] or {}).items()):
            version, plain = str(entry["version"]), normalize(name)
            if env["path"] == ours:
                reason = (
                    "a second owner of the folder triton" if pins and plain in TRITONS and plain not in pins else ""
                )
            else:
                reason = _wheel_reason(plain, version, tag)
            if reason:
                purge.add("wheel", f"{env['path']}: {plain}", version, reason)
                names.append(plain)
        if names:
            wheels.append({"venv": env["path"], "distributions": names})
    return wheels


def _wheel_reason(name: str, version: str, tag: str) -> str:
    """Say why a wheel of an environment of the site's goes, or "" when it stays."""
    if name not in (*_TORCHES, *TRITONS) or ("+rocm" not in version and name != "pytorch-triton-rocm"):
        return ""
    return (
        ""
        if version.endswith(tag) or name in TRITONS
        else f"a wheel of {version.partition('+')[2]}, wanted is {tag[1:]}"
    )
