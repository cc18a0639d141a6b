# SPDX-License-Identifier: Apache-2.0
"""Plan which sources, pins and keys of apt go: the vendor's that are not the wanted ones, and broken ones."""

from __future__ import annotations

import re
import typing as t
import urllib.parse

from ansible_collections.instinct.bringup.plugins.plugin_utils.plan import repositories
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.model import PlanContext
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.purge_list import PurgeList
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.rocm import fingerprint as wanted_fingerprint

AMD_FINGERPRINT = "CA8BB4727A47B4D09B4EE8969386B48A1A693C5C"
# A file that a person named after the vendor, for what its broken content no longer tells.
_VENDOR_NAME = re.compile(r"(?:^|[^a-z])(?:rocm|amdgpu|radeon)", re.IGNORECASE)
_OURS = (repositories.ROCM_LIST, repositories.DRIVER_LIST)


def plan_apt(ctx: PlanContext, purge: PurgeList) -> None:
    """Put apt's sources, pins and keys that go on the list."""
    _sources(ctx, purge)
    _preferences(ctx, purge)
    _keyrings(ctx, purge)


def installer_stays(ctx: PlanContext) -> bool:
    """Say whether the amdgpu-install package of the wanted release is there, whose files are then wanted."""
    version = ctx.installed("amdgpu-install")
    vendor = ctx.families.classify("amdgpu-install", version) if version else None
    return vendor is not None and vendor.release == ctx.release["release"]


def is_vendor_uri(ctx: PlanContext, uri: str) -> bool:
    """Say whether a source's URI is AMD's repository, or the site's mirror of it."""
    leftovers = ctx.catalog.leftovers
    parts = urllib.parse.urlsplit(uri)
    base = urllib.parse.urlsplit(ctx.profile["rocm_base_url"])
    if parts.hostname not in leftovers["hosts"] and (parts.hostname, parts.port) != (base.hostname, base.port):
        return False
    path = parts.path.removeprefix(base.path.rstrip("/")) if parts.hostname == base.hostname else parts.path
    return path.startswith(tuple(leftovers["paths"]))


def _sources(ctx: PlanContext, purge: PurgeList) -> None:
    """List the source files that name only the vendor. A mixed file stays, and is named."""
    by_path: dict[str, list[dict[str, t.Any]]] = {}
    for source in ctx.area("apt").get("sources") or []:
        by_path.setdefault(source["path"], []).append(source)
    for path, entries in sorted(by_path.items()):
        if path in _OURS or (path == repositories.PROPRIETARY_LIST and installer_stays(ctx)):
            continue
        vendor = [entry for entry in entries if is_vendor_uri(ctx, entry["uri"])]
        if vendor and len(vendor) == len(entries):
            disabled = not any(entry["enabled"] for entry in vendor)
            reason = "a source of AMD's that is not the wanted one"
            if disabled:
                reason += "; it is disabled, as an upgrade of the distribution leaves it"
            purge.add("file", path, f"source {vendor[0]['uri']}", reason)
        elif vendor:
            purge.keep(path, f"names {vendor[0]['uri']}, but other sources too; take that line out by hand")


def _preferences(ctx: PlanContext, purge: PurgeList) -> None:
    apt = ctx.area("apt")
    by_path: dict[str, list[str]] = {}
    for record in apt.get("preferences") or []:
        by_path.setdefault(record["path"], []).append(str(record["pin"]))
    for path, pins in sorted(by_path.items()):
        if path != repositories.PIN_PATH and all(_names_vendor(pin) for pin in pins):
            purge.add("file", path, f"pin {pins[0]}", "a pin on AMD's repository that is not the wanted one")
    for problem in apt.get("preference_problems") or []:
        path = str(problem["path"])
        # A paragraph that apt follows makes the file more than a broken pin of ours.
        if path == repositories.PIN_PATH or path in by_path or not _VENDOR_NAME.search(path.rpartition("/")[2]):
            continue
        purge.add("file", path, str(problem["message"]), "a pin that apt does not follow")


def _names_vendor(pin: str) -> bool:
    return "radeon" in pin or "repo.amd.com" in pin


def _keyrings(ctx: PlanContext, purge: PurgeList) -> None:
    """List keyrings that only going sources used. A key that another source is trusted by stays.

    AMD's key alone in a ring has no other use. A mirror may sign everything with a key of its own,
    which then counts only where a source of AMD's that goes names the ring.
    """
    going, staying = _signed_by(ctx, purge)
    if not installer_stays(ctx):
        going.add(repositories.INSTALLER_KEYRING)
    for ring in ctx.area("apt").get("keyrings") or []:
        path, keys = str(ring["path"]), {key["fingerprint"] for key in ring["keys"]}
        if path == repositories.KEYRING_PATH or path in staying:
            continue
        if not keys:
            _broken_keyring(purge, path, str(ring["problem"] or ""), going)
        elif keys == {AMD_FINGERPRINT} or (keys == {wanted_fingerprint(ctx)} and path in going):
            if path == repositories.INSTALLER_KEYRING and installer_stays(ctx):
                continue
            purge.add("file", path, _told_keys(ring), "a key that no source needs any more")
        elif AMD_FINGERPRINT in keys:
            purge.keep(path, f"holds AMD's key, but other keys too; `apt-key --keyring {path} del` takes out one")


def _broken_keyring(purge: PurgeList, path: str, problem: str, going: set[str]) -> None:
    """A file that is no key, as a page of an error saved under its name: apt ignores it, or refuses for it."""
    if problem.startswith("not OpenPGP") and (path in going or _VENDOR_NAME.search(path.rpartition("/")[2])):
        purge.add("file", path, problem, "it is no key at all, but what a server answered in its place")


def _told_keys(ring: dict[str, t.Any]) -> str:
    return "key " + ", ".join(
        key["fingerprint"] + (f" until {key['expires']}" if key["expires"] else "")
        for key in sorted(ring["keys"], key=lambda key: str(key["fingerprint"]))
    )


def _signed_by(ctx: PlanContext, purge: PurgeList) -> tuple[set[str], set[str]]:
    """Return the keyrings that going sources name, and those that staying ones do."""
    files = purge.going("file")
    going: set[str] = set()
    staying: set[str] = set()
    for source in ctx.area("apt").get("sources") or []:
        ring = str(source["options"].get("signed-by") or "")
        (going if source["path"] in files or source["path"] in _OURS else staying).add(ring)
    return going, staying
