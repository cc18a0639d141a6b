# SPDX-License-Identifier: Apache-2.0
"""Capture the machine that this runs on: what its readers read, scrubbed, as one text."""

from __future__ import annotations

import platform
from typing import Any, Dict, List

from ansible_collections.instinct.bringup.plugins.module_utils import kernel_log, mounts
from ansible_collections.instinct.bringup.plugins.module_utils.manifest import render_manifest
from ansible_collections.instinct.bringup.plugins.module_utils.recording import RecordingTree
from ansible_collections.instinct.bringup.plugins.module_utils.scrub import Scrubber
from ansible_collections.instinct.bringup.plugins.module_utils.snapshot import Request, build_snapshot

Json = Dict[str, Any]


def capture(root: str, request: Request, with_log: bool) -> Json:
    """Return {"manifest", "problems", "packages", "kernel_log"}; the last two only with_log, else None.

    No command is run. What only the live machine tells is not in a manifest, and a replay says so.
    """
    tree = RecordingTree(root)
    if root == "/":
        tree.far.update(mounts.read_far_mounts(tree))
    snapshot = build_snapshot(root, request, None, tree=tree)
    scrubber = Scrubber(_names() if root == "/" else [], request.users)
    recording = tree.recording()
    log = kernel_log.read_ring(tree) if with_log and root == "/" else None
    if log is not None:
        recording.files.setdefault(kernel_log.FILE, (log + "\n").encode("utf-8", "replace"))
    return {
        "manifest": render_manifest(recording, scrubber),
        "problems": snapshot["problems"],
        "packages": _packages(snapshot) if with_log else None,
        "kernel_log": scrubber.text(kernel_log.FILE, log) if log is not None else None,
    }


def _names() -> List[str]:
    name = platform.node()
    return [name, name.partition(".")[0]]


def _packages(snapshot: Json) -> str:
    rows = (snapshot.get("dpkg") or {}).get("packages") or {}
    return "".join(
        "%s\t%s\t%s%s\n" % (name, row["version"], row["status"].strip(), "\theld" if row.get("hold") else "")
        for name, row in sorted(rows.items())
    )
