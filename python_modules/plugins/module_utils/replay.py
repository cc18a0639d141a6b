# SPDX-License-Identifier: Apache-2.0
"""Take the snapshot of a machine from its manifest."""

from __future__ import annotations

import tempfile
from typing import Any, Dict

from ansible_collections.instinct.bringup.plugins.module_utils.manifest import lay_out, parse_manifest
from ansible_collections.instinct.bringup.plugins.module_utils.snapshot import Request, build_snapshot
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree


def replay(path: str, request: Request) -> Dict[str, Any]:
    """Lay a manifest out in a folder of its own, read it, and remove it. Raises ManifestError, OSError."""
    with open(path, encoding="utf-8") as stream:
        recording = parse_manifest(stream.read())
    with tempfile.TemporaryDirectory(prefix="instinct-manifest-") as folder:
        lay_out(recording, folder)
        tree = Tree(folder)
        tree.owners = recording.owners
        snapshot = build_snapshot(folder, request, None, tree=tree)
    snapshot["root"] = path
    return snapshot
