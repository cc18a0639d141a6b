# SPDX-License-Identifier: Apache-2.0
"""Remove an old ROCm: refuse first, keep a manifest, then remove what is on the list and nothing else.

Every step does nothing for what is gone already, so that a call after an interruption finishes.
"""

from __future__ import annotations

import os
from typing import Any, Callable, Mapping, NamedTuple, Sequence

from ansible_collections.instinct.bringup.plugins.module_utils.command_runner import NOT_FOUND, last_words
from ansible_collections.instinct.bringup.plugins.module_utils.holds import FREE, change_holds
from ansible_collections.instinct.bringup.plugins.module_utils.package_state import PackageError, PackageRow, read_rows
from ansible_collections.instinct.bringup.plugins.module_utils.purge_alternatives import (
    find_alternatives,
    remove_alternative,
)
from ansible_collections.instinct.bringup.plugins.module_utils.purge_dkms import (
    find_dkms_trees,
    refresh_kernels,
    remove_dkms_tree,
)
from ansible_collections.instinct.bringup.plugins.module_utils.purge_inventory import (
    Found,
    items_of,
    lines_of,
    look_for,
    manifest_of,
)
from ansible_collections.instinct.bringup.plugins.module_utils.purge_manifest import (
    merge,
    read_manifest,
    without_contents,
    write_manifest,
)
from ansible_collections.instinct.bringup.plugins.module_utils.purge_packages import (
    needs_dpkg,
    purge_packages,
    refuse_beyond,
    refuse_unfinished,
    settle_packages,
)
from ansible_collections.instinct.bringup.plugins.module_utils.purge_paths import (
    find_trees,
    refuse_paths,
    remove_files,
    remove_tree,
)
from ansible_collections.instinct.bringup.plugins.module_utils.purge_request import (
    Node,
    PurgeFailed,
    PurgeRefused,
    Request,
    check_request,
)
from ansible_collections.instinct.bringup.plugins.module_utils.purge_wheels import find_wheels, remove_wheels


class Purge(NamedTuple):
    """A purge to do: on which node, what, and where its manifest is kept."""

    node: Node
    request: Request
    run_id: str
    manifest_dir: str
    clock: Callable[[], str]

    @property
    def manifest_path(self) -> str:
        """Return the path of the manifest on the node."""
        return os.path.join(self.manifest_dir, self.run_id + ".json")


class Interrupted(PurgeFailed):
    """A step failed; result says what was removed before it."""

    def __init__(self, message: str, result: dict[str, Any]) -> None:
        """Keep the partial result beside the message."""
        super().__init__(message)
        self.result = result


def purge(job: Purge, check_mode: bool) -> dict[str, Any]:
    """Remove what is on the list and return the module's result.

    PurgeRefused: nothing was changed. Interrupted: a step failed, calling again goes on.
    """
    check_request(job.request, job.run_id)
    try:
        before = look_for(job.node, job.request)
        refuse(job, before)
    except PackageError as error:
        raise PurgeRefused(str(error)) from error
    items = items_of(before)
    old = read_manifest(job.node.at(job.manifest_path))
    # Nothing is left, and no earlier call was cut off before its end.
    if not _todo(items, before) and (old is None or old["finished"]):
        return _result(job, items, items, before, old)
    manifest = merge(old, manifest_of(job.node, before, job.run_id, job.clock()))
    if check_mode:
        staying = {**{kind: [] for kind in items}, "trees": [tree.path for tree in before.trees if tree.stays]}
        return _result(job, items, staying, before, manifest)
    write_manifest(job.node.at(job.manifest_path), manifest)
    try:
        _remove(job.node, job.request, before)
    except (PurgeFailed, PackageError) as error:
        now = look_for(job.node, job.request)
        raise Interrupted(str(error), _result(job, items, items_of(now), now, manifest)) from error
    after = look_for(job.node, job.request)
    left = items_of(after)
    result = _result(job, items, left, after, manifest)
    # Of all calls with this run id, not of this one only: an earlier one may have been cut off.
    manifest = {**manifest, "finished": job.clock(), "removed": _gone(manifest["listed"], left)}
    write_manifest(job.node.at(job.manifest_path), manifest)
    return {**result, "manifest": without_contents(manifest)}


def refuse(job: Purge, found: Found) -> None:
    """Raise PurgeRefused for everything that stands against the purge. Nothing is changed."""
    held = sorted({row.name for row in found.rows if row.hold} - set(job.request.unhold))
    if held:
        raise PurgeRefused(
            f"on hold, and not by us: {', '.join(held)}. Whoever set the hold wants to keep them; "
            f"`apt-mark unhold {' '.join(held)}` if they may go"
        )
    # A purge that comes after dpkg has finished is simulated once more then, by its own call.
    stuck = found.others if job.request.settles else []
    if not job.request.settles:
        refuse_unfinished(found.others)
    refuse_paths(job.node, found.files, found.trees, job.request.packages)
    refuse_beyond(job.node, found.rows, stuck)


def _remove(node: Node, request: Request, before: Found) -> None:
    recover = bool(before.others) or needs_dpkg(node, before.rows)
    kernels = sorted({kernel for tree in before.dkms_trees for kernel in tree.kernels})
    if before.holds:
        change_holds(node.run, read_rows(node.run), before.holds, FREE)
    purge_packages(node, _present(node, before.rows))
    # Asked again each time: the packages' own scripts have removed most of it.
    for leftover in find_dkms_trees(node, request.dkms_trees):
        remove_dkms_tree(node, leftover)
    refresh_kernels(node, kernels)
    for group in find_alternatives(node, request.alternatives):
        remove_alternative(node, group)
    remove_files(node, before.files)
    for tree in find_trees(node, request.trees, []):
        remove_tree(node, tree)
    for wheels in find_wheels(node, request.wheels):
        remove_wheels(node, wheels)
    if any(path.startswith("/etc/ld.so.conf.d/") for path in before.files):
        result = node.run(["ldconfig"])
        if result.rc not in (0, NOT_FOUND):
            raise PurgeFailed(f"ldconfig failed (exit {result.rc}): {last_words(result)}")
    if recover:
        settle_packages(node)


def _present(node: Node, rows: Sequence[PackageRow]) -> list[PackageRow]:
    """Return the rows as they are now: lifting a hold has changed some."""
    names = {row.binary for row in rows}
    return [row for row in read_rows(node.run) if row.binary in names and row.present] if rows else []


def _todo(items: Mapping[str, Sequence[str]], found: Found) -> bool:
    """Say whether there is anything but trees that stay anyway."""
    kept = {tree.path for tree in found.trees if tree.stays}
    return any(name not in kept for names in items.values() for name in names)


def _result(
    job: Purge,
    before: Mapping[str, list[str]],
    after: Mapping[str, list[str]],
    left: Found,
    manifest: Mapping[str, Any] | None,
) -> dict[str, Any]:
    removed = _gone(before, after)
    return {
        "changed": any(removed.values()),
        "removed": removed,
        "kept": [
            {"subject": tree.path, "reason": f"the package {', '.join(tree.stays)} owns files in it"}
            for tree in left.trees
            if tree.stays
        ],
        "manifest": without_contents(manifest) if manifest else None,
        "manifest_path": job.manifest_path if manifest else None,
        "diff": {
            "before_header": "what the purge is to remove",
            "after_header": "what is left of it",
            "before": lines_of(dict(before)),
            "after": lines_of(dict(after)),
        },
    }


def _gone(before: Mapping[str, list[str]], after: Mapping[str, list[str]]) -> dict[str, list[str]]:
    return {kind: [name for name in names if name not in after[kind]] for kind, names in before.items()}
