# SPDX-License-Identifier: Apache-2.0
"""Put the files of a manifest back, byte for byte, with mode and owner, and take away what was not there."""

from __future__ import annotations

import base64
import os
import shutil
from typing import Any, Dict, List, Tuple

from ansible_collections.instinct.bringup.plugins.module_utils.file_writer import (
    Wanted,
    WriteError,
    difference,
    look_at,
    write_file,
)
from ansible_collections.instinct.bringup.plugins.module_utils.purge_request import Node
from ansible_collections.instinct.bringup.plugins.module_utils.state_manifest import APT_FILES, APT_FOLDERS, apt_paths

Json = Dict[str, Any]


def restore_apt(node: Node, state: Json) -> List[str]:
    """Give apt the sources, pins and keys of the manifest and no others; return the paths that changed."""
    entries = [entry for entry in state["files"] if _is_apt(entry["path"])]
    known = {entry["path"] for entry in entries if entry["type"] != "absent"}
    changed = [path for path in apt_paths(node) if path not in known]
    for path in changed:
        os.unlink(node.at(path))
    for entry in entries:
        done, _problem = _restore_one(node, entry)
        changed.extend([entry["path"]] if done else [])
    return changed


def restore(node: Node, state: Json) -> Tuple[List[str], List[str]]:
    """Restore everything of the manifest that is a file; return the paths that changed, and what could not be."""
    changed = restore_apt(node, state)
    problems: List[str] = []
    entries = [*state["trees"], *(entry for entry in state["files"] if not _is_apt(entry["path"]))]
    for entry in entries:
        done, problem = _restore_one(node, entry)
        if problem:
            problems.append(problem)
        elif done:
            changed.append(str(entry["path"]))
    for path in state["made"]:
        if os.path.lexists(node.at(path)):
            _remove(node, path)
            changed.append(path)
    for path in reversed(state["folders"]):
        if os.path.isdir(node.at(path)) and not os.listdir(node.at(path)):
            os.rmdir(node.at(path))
            changed.append(path)
    for user, groups in state["users"].items():
        changed.extend(_leave_groups(node, user, groups))
    return changed, problems


def _is_apt(path: str) -> bool:
    return path in APT_FILES or os.path.dirname(path) in APT_FOLDERS


def _restore_one(node: Node, entry: Json) -> Tuple[bool, str]:
    """Return whether something changed, and what stands against it."""
    path, kind = str(entry["path"]), entry["type"]
    here = node.at(path)
    try:
        if kind == "absent":
            if not os.path.lexists(here):
                return False, ""
            _remove(node, path)
            return True, ""
        if kind == "directory":
            if os.path.isdir(here):
                return False, ""
            os.makedirs(here)
            os.chmod(here, int(entry.get("mode", "0755"), 8))
            return True, ""
        if kind == "link":
            if os.path.islink(here) and os.readlink(here) == entry["target"]:
                return False, ""
            if os.path.lexists(here):
                _remove(node, path)
            os.makedirs(os.path.dirname(here), exist_ok=True)
            os.symlink(entry["target"], here)
            return True, ""
        return _restore_file(here, entry)
    except (OSError, WriteError) as error:
        return False, f"{path}: {error}"


def _restore_file(here: str, entry: Json) -> Tuple[bool, str]:
    if entry["content"] is None:
        return False, f"{entry['path']}: too large, its content is not in the manifest"
    wanted = Wanted(here, base64.b64decode(entry["content"]), entry["mode"], entry["owner"], entry["group"])
    if not difference(wanted, look_at(here)):
        return False, ""
    write_file(wanted)
    return True, ""


def _remove(node: Node, path: str) -> None:
    here = node.at(path)
    if os.path.isdir(here) and not os.path.islink(here):
        shutil.rmtree(here)
    else:
        os.unlink(here)


def _leave_groups(node: Node, user: str, groups: List[str]) -> List[str]:
    """Take a user out of the groups that a run has added."""
    now = node.run(["id", "-Gn", "--", user]).out.split()
    left = []
    for group in now:
        if group not in groups and node.run(["gpasswd", "-d", user, group]).rc == 0:
            left.append(f"{user} left {group}")
    return left
