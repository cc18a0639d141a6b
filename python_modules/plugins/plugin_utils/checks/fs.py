# SPDX-License-Identifier: Apache-2.0
"""Check /opt/rocm: one tree, of the release, and links that lead into it."""

from __future__ import annotations

import collections.abc as c

from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.model import (
    FAIL,
    OK,
    CheckContext,
    Finding,
    skipped,
    unknown,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.registry import check
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.vendor import is_installed

LINK = "/opt/rocm"
LINKS = "/etc/alternatives"


@check(
    "fs.rocm_orphan_tree",
    "No ROCm tree is left that no package owns",
    areas=("opt.trees",),
    remedy="Look at what lies there. The purge lists every file in its manifest before it removes the tree.",
)
def rocm_orphan_tree(context: CheckContext) -> c.Iterator[Finding]:
    """Find /opt/rocm-* that no package owns."""
    trees = context.snapshot["opt"].get("trees") or []
    if any(tree["owners"] is None for tree in trees):
        why = context.skipped_area("dpkg")
        yield skipped(why) if why else unknown(context.problem("", "dpkg"), "/var/lib/dpkg/info")
        return
    orphans = [tree for tree in trees if not tree["owners"]]
    for tree in orphans:
        reason = f"no package owns {tree['path']} ({tree.get('unowned_files')} files)"
        yield Finding(FAIL, tree["path"], "owned by a package, or gone", "no owner", reason, tree["path"])
    if not orphans:
        observed = ", ".join(str(tree["path"]) for tree in trees) or "no tree"
        yield Finding(OK, "", "no tree without an owner", observed, "", "/opt")


def _wants_rocm(context: CheckContext) -> bool:
    """Say whether the plan installs ROCm itself, not only the driver or an MPI."""
    names = (name for name in context.plan.get("packages") or {})
    return any(name.startswith(("rocm-", "hip", "hsa-", "rccl")) for name in names)


@check(
    "fs.opt_rocm_dangling",
    "/opt/rocm leads to a tree that is there",
    areas=("opt.trees",),
    remedy="update-alternatives --remove-all rocm, then reinstall rocm-core, which sets the link.",
)
def opt_rocm_dangling(context: CheckContext) -> c.Iterator[Finding]:
    """Follow /opt/rocm, which rocm-core sets through update-alternatives."""
    link = context.snapshot["opt"].get("rocm_link")
    hindrance = context.unreadable(LINK)
    if hindrance is not None:
        yield unknown(hindrance, LINK, LINK)
    elif link is None:
        if _wants_rocm(context):
            yield Finding(FAIL, LINK, "a link to the release's tree", "absent", f"{LINK} is not there", LINK)
        else:
            yield skipped("no ROCm is wanted here")
    elif link.get("resolved") is None:
        reason = f"{LINK} leads to {link.get('target')}, which leads nowhere"
        yield Finding(FAIL, LINK, "a tree that is there", str(link.get("target")), reason, LINK)
    else:
        yield Finding(OK, LINK, "a tree that is there", str(link["resolved"]), "", LINK)


@check(
    "fs.opt_rocm_version_mismatch",
    "/opt/rocm leads to the wanted release, and rocm-core is of it",
    areas=("opt.trees",),
    remedy="Run site.yml: it purges the other release, and rocm-core then sets the link anew.",
)
def opt_rocm_version_mismatch(context: CheckContext) -> c.Iterator[Finding]:
    """Compare the tree behind /opt/rocm with the profile's release and with the installed rocm-core."""
    link = context.snapshot["opt"].get("rocm_link")
    if link is None or link.get("resolved") is None:
        yield skipped(f"{LINK} leads to no tree, see fs.opt_rocm_dangling")
        return
    wanted = f"/opt/rocm-{context.release['release']}"
    resolved = str(link["resolved"]).rstrip("/")
    core = ((context.snapshot.get("dpkg") or {}).get("packages") or {}).get("rocm-core")
    version = str(core["version"]) if core is not None and is_installed(core) else None
    owned = f"rocm-core {version or 'not installed'}"
    if resolved != wanted:
        reason = f"{LINK} leads to {resolved}; {owned}"
        yield Finding(FAIL, LINK, wanted, resolved, reason, LINK)
    elif version is not None and f".{context.release['encoded']}-" not in version:
        reason = f"{LINK} leads to {resolved}, but {owned} is of another release"
        yield Finding(FAIL, LINK, wanted, owned, reason, LINK)
    else:
        yield Finding(OK, LINK, wanted, resolved, "", LINK)


@check(
    "alt.target_missing",
    "No alternative leads into a ROCm tree that is gone",
    areas=("alternatives",),
    remedy="update-alternatives --remove-all NAME for the named one. Reinstall the package that it belongs to, if any.",
)
def target_missing(context: CheckContext) -> c.Iterator[Finding]:
    """Find alternatives with a value or choice below /opt/rocm* that is not there."""
    entries = context.snapshot["alternatives"]
    gone = [entry for entry in entries if not entry["target_exists"]]
    for entry in gone:
        path = f"{LINKS}/{entry['name']}"
        reason = f"{path} leads to {entry['value']}, which is gone"
        yield Finding(FAIL, entry["name"], "a target that is there", str(entry["value"]), reason, path)
    if not gone:
        yield Finding(OK, f"{len(entries)} alternatives", "a target that is there", "all there", "", LINKS)
