# SPDX-License-Identifier: Apache-2.0
"""Let dpkg and apt finish what an interrupted run left, before anything else is asked of them."""

from __future__ import annotations

import os
from typing import Any, Dict, List, Sequence

from ansible_collections.instinct.bringup.plugins.module_utils.command_runner import last_words
from ansible_collections.instinct.bringup.plugins.module_utils.package_lock import (
    LOCK_TIMEOUT,
    describe_lock,
    run_when_unlocked,
)
from ansible_collections.instinct.bringup.plugins.module_utils.package_state import PackageError, read_rows
from ansible_collections.instinct.bringup.plugins.module_utils.purge_request import Node

_APT = ["apt-get", "-q", "-y", "-o", f"DPkg::Lock::Timeout={LOCK_TIMEOUT}", "--no-remove", "--no-auto-remove"]
_KEEP = ["-o", "Dpkg::Options::=--force-confdef", "-o", "Dpkg::Options::=--force-confold"]
_UPDATES = "/var/lib/dpkg/updates"


def settle(node: Node, going: Sequence[str], check_mode: bool) -> Dict[str, Any]:
    """Finish half-done packages and return changed, and found: what was half-done.

    going: packages that are purged next; they may stay as they are. PackageError names what is left otherwise.
    """
    found = _unfinished(node, going)
    interrupted = _interrupted(node)
    if not (found or interrupted) or check_mode:
        return {"changed": bool(found or interrupted), "found": found}
    result = run_when_unlocked(node.run, ["dpkg", "--configure", "-a", "--force-confdef", "--force-confold"])
    if _unfinished(node, going):
        # What lacks a dependency cannot be configured: apt fetches it. Nothing may be removed for it.
        result = node.run([*_APT, *_KEEP, "-f", "install"])
    if stuck := [name for name in _reinstall(node) if name not in going]:
        result = node.run([*_APT, *_KEEP, "--reinstall", "install", *stuck])
    left = _unfinished(node, going)
    if left:
        reason = describe_lock(result) or f"exit {result.rc}: {last_words(result)}"
        raise PackageError(f"an interrupted run left packages that cannot be finished: {', '.join(left)}. {reason}")
    return {"changed": True, "found": found}


def _unfinished(node: Node, going: Sequence[str]) -> List[str]:
    return [
        f"{row.binary} ({row.abbrev.strip()})"
        for row in read_rows(node.run)
        if row.unfinished and row.name not in going
    ]


def _reinstall(node: Node) -> List[str]:
    return [row.binary for row in read_rows(node.run) if row.reinstall_required]


def _interrupted(node: Node) -> bool:
    """Say whether dpkg itself was killed in the middle: apt refuses all work until it has looked at that."""
    try:
        return any(name.isdigit() for name in os.listdir(node.at(_UPDATES)))
    except OSError:
        return False
