# SPDX-License-Identifier: Apache-2.0
"""Plan what of other ROCm releases goes from a node, what stays, and why."""

from __future__ import annotations

import dataclasses
import typing as t
import urllib.parse

from ansible_collections.instinct.bringup.plugins.plugin_utils.managed import Change
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan import repositories
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.model import PlanContext, Refusal, Step
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.rocm import fingerprint as wanted_fingerprint

VENDOR_HOST = "repo.radeon.com"
AMD_FINGERPRINT = "CA8BB4727A47B4D09B4EE8969386B48A1A693C5C"


@dataclasses.dataclass
class _Purge:
    """Collect what goes, by kind, with the reason of each."""

    changes: list[Change] = dataclasses.field(default_factory=list)
    names: dict[str, list[str]] = dataclasses.field(default_factory=dict)
    kept: list[tuple[str, str]] = dataclasses.field(default_factory=list)

    def add(self, kind: str, subject: str, before: str, reason: str) -> None:
        self.names.setdefault(kind, []).append(subject)
        self.changes.append(Change(kind, subject, before, "absent", reason))


def plan_purge(ctx: PlanContext) -> tuple[Step, list[dict[str, str]]]:
    """Return the step of role rocm_purge and what stays although it looks like ROCm."""
    purge = _Purge()
    dkms_trees = _dkms_trees(ctx, purge)
    _packages(ctx, purge)
    _sources(ctx, purge)
    _preferences(ctx, purge)
    _keyrings(ctx, purge)
    _trees(ctx, purge)
    _alternatives(ctx, purge)
    names = purge.names
    inputs = {
        "packages": sorted(names.get("package", [])),
        "unhold": sorted(names.get("hold", [])),
        "files": sorted(names.get("file", [])),
        "alternatives": sorted(names.get("alternative", [])),
        "dkms_trees": dkms_trees,
        "trees": sorted(names.get("tree", [])),
        "run_id": ctx.run_id,
        "run_dir": ctx.run_dir,
    }
    step = Step("rocm_purge", tuple(purge.changes), inputs)
    return step, [{"subject": subject, "reason": reason} for subject, reason in purge.kept]


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


def _packages(ctx: PlanContext, purge: _Purge) -> None:
    wanted = ctx.release["release"]
    for name, row in sorted(ctx.packages.items()):
        version, status = str(row["version"]), str(row["status"])
        if status[1:2] == "n":
            continue
        vendor = ctx.families.classify(name, version)
        reason = None
        if vendor is not None:
            if vendor.release == wanted and vendor.suite in (None, ctx.suffix):
                if status[1:2] == "c":
                    reason = "configuration files of a removed package"
            elif vendor.release == wanted:
                reason = f"built for {vendor.suite}, the node is {ctx.suffix}"
            else:
                reason = f"of ROCm {vendor.release or 'an unknown release'}, wanted is {wanted}"
        elif name in ctx.release["shadowed"]:
            reason = "the distribution's package of a name that AMD's release also has; it would win"
        elif ctx.families.is_family_name(name):
            purge.kept.append((f"package {name} {version}", "the distribution's own, and not in the way"))
        if reason is None:
            continue
        purge.add("package", name, f"{version} ({status.strip()})", reason)
        if row["hold"]:
            purge.add("hold", name, "held", "a hold on a package that goes")
    for name, row in sorted(ctx.packages.items()):
        if (
            row["hold"]
            and name not in purge.names.get("package", [])
            and not ctx.families.classify(name, str(row["version"]))
        ):
            purge.kept.append((f"hold on {name}", "the site's own"))


def _sources(ctx: PlanContext, purge: _Purge) -> None:
    """List the source files that name only the vendor. A mixed file stays, and is named."""
    ours = (repositories.ROCM_LIST, repositories.DRIVER_LIST)
    by_path: dict[str, list[dict[str, t.Any]]] = {}
    for source in ctx.area("apt").get("sources") or []:
        by_path.setdefault(source["path"], []).append(source)
    for path, entries in sorted(by_path.items()):
        if path in ours or (path == repositories.PROPRIETARY_LIST and _installer_stays(ctx)):
            continue
        vendor = [entry for entry in entries if is_vendor_uri(ctx, entry["uri"])]
        if vendor and len(vendor) == len(entries):
            purge.add("file", path, f"source {vendor[0]['uri']}", "a source of AMD's that is not the wanted one")
        elif vendor:
            purge.kept.append((path, f"names {vendor[0]['uri']}, but other sources too; take that line out by hand"))


def is_vendor_uri(ctx: PlanContext, uri: str) -> bool:
    """Say whether a source's URI is AMD's repository, or the site's mirror of it."""
    parts = urllib.parse.urlsplit(uri)
    base = urllib.parse.urlsplit(ctx.profile["rocm_base_url"])
    if parts.hostname != VENDOR_HOST and (parts.hostname, parts.port) != (base.hostname, base.port):
        return False
    path = parts.path.removeprefix(base.path.rstrip("/")) if parts.hostname == base.hostname else parts.path
    return path.startswith(("/rocm/apt/", "/amdgpu/", "/graphics/", "/amdgpu-install/"))


def _installer_stays(ctx: PlanContext) -> bool:
    version = ctx.installed("amdgpu-install")
    vendor = ctx.families.classify("amdgpu-install", version) if version else None
    return vendor is not None and vendor.release == ctx.release["release"]


def _preferences(ctx: PlanContext, purge: _Purge) -> None:
    apt = ctx.area("apt")
    by_path: dict[str, list[str]] = {}
    for record in apt.get("preferences") or []:
        by_path.setdefault(record["path"], []).append(str(record["pin"]))
    for path, pins in sorted(by_path.items()):
        if path != repositories.PIN_PATH and all("radeon" in pin for pin in pins):
            purge.add("file", path, f"pin {pins[0]}", "a pin on AMD's repository that is not the wanted one")


def _keyrings(ctx: PlanContext, purge: _Purge) -> None:
    """List keyrings that only going sources used. A key that another source is trusted by stays.

    AMD's key alone in a ring has no other use. A mirror may sign everything with a key of its own,
    which then counts only where a source of AMD's that goes names the ring.
    """
    going, staying = _signed_by(ctx, purge)
    if not _installer_stays(ctx):
        going.add(repositories.INSTALLER_KEYRING)
    for ring in ctx.area("apt").get("keyrings") or []:
        path, keys = str(ring["path"]), {key["fingerprint"] for key in ring["keys"]}
        if not keys or path == repositories.KEYRING_PATH or path in staying:
            continue
        if keys == {AMD_FINGERPRINT} or (keys == {wanted_fingerprint(ctx)} and path in going):
            purge.add("file", path, "key " + ", ".join(sorted(keys)), "a key that no source needs any more")


def _signed_by(ctx: PlanContext, purge: _Purge) -> tuple[set[str], set[str]]:
    """Return the keyrings that going sources name, and those that staying ones do."""
    files = set(purge.names.get("file", []))
    going: set[str] = set()
    staying: set[str] = set()
    for source in ctx.area("apt").get("sources") or []:
        ours = source["path"] in (repositories.ROCM_LIST, repositories.DRIVER_LIST)
        ring = str(source["options"].get("signed-by") or "")
        (going if source["path"] in files or ours else staying).add(ring)
    return going, staying


def _dkms_trees(ctx: PlanContext, purge: _Purge) -> list[dict[str, str]]:
    """List dkms trees of other drivers: an orphan makes every later kernel install fail."""
    wanted = ctx.release["driver"]["version"]
    trees = []
    for tree in ctx.area("dkms").get("trees") or []:
        if (
            tree["module"] != "amdgpu"
            or tree["version"].startswith(f"{wanted}-")
            or tree["version"].startswith(f"{wanted}.")
        ):
            continue
        before = "source is there" if tree["has_source"] else "orphan, its source is gone"
        purge.add("dkms", f"amdgpu/{tree['version']}", before, f"a driver that is not {wanted}")
        trees.append({"module": "amdgpu", "version": str(tree["version"])})
    return trees


def _trees(ctx: PlanContext, purge: _Purge) -> None:
    for tree in ctx.area("opt").get("trees") or []:
        path = str(tree["path"])
        if path == f"/opt/rocm-{ctx.release['release']}":
            continue
        owners = ", ".join((tree["owners"] or [])[:3]) or "no package"
        before = f"owned by {owners}; {tree['unowned_files']} files without a package"
        purge.add("tree", path, before, "what is left of another release; the manifest lists every file")


def _alternatives(ctx: PlanContext, purge: _Purge) -> None:
    """List alternatives that lead into another release only."""
    kept = f"/opt/rocm-{ctx.release['release']}/"
    for entry in ctx.snapshot.get("alternatives") or []:
        choices = [str(choice) for choice in entry["choices"]]
        if any(f"{choice}/".startswith(kept) for choice in choices):
            continue
        purge.add("alternative", str(entry["name"]), str(entry["value"]), "leads into another release")
