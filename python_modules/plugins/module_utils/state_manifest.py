# SPDX-License-Identifier: Apache-2.0
"""Keep the state of a node before a run changes it: enough to bring it back, in one file for root only."""

from __future__ import annotations

import os
import subprocess
from typing import Any, Dict, List, NamedTuple, Optional, Sequence

from ansible_collections.instinct.bringup.plugins.module_utils.alternatives import ADMIN, LINKS, parse_record
from ansible_collections.instinct.bringup.plugins.module_utils.package_state import owners_of, read_rows
from ansible_collections.instinct.bringup.plugins.module_utils.purge_manifest import describe_file
from ansible_collections.instinct.bringup.plugins.module_utils.purge_request import Node
from ansible_collections.instinct.bringup.plugins.module_utils.repack import repack, without_source

SCHEMA = 1
SUFFIX = ".before.json"
# apt decides by all of them, so all of them are kept, whoever wrote them.
APT_FOLDERS = (
    "/etc/apt/sources.list.d",
    "/etc/apt/preferences.d",
    "/etc/apt/trusted.gpg.d",
    "/etc/apt/keyrings",
)
APT_FILES = ("/etc/apt/sources.list", "/etc/apt/preferences", "/etc/apt/trusted.gpg")
# Content of files that no package owns, in bytes; what is beyond it is named and not kept.
TREE_LIMIT = 64 * 1024 * 1024

Json = Dict[str, Any]


class Wish(NamedTuple):
    """What the plan is about to change.

    packages: those that go; trees: those that may go; made: paths that it makes; users: who joins groups.
    """

    files: Sequence[str]
    trees: Sequence[str]
    made: Sequence[str]
    users: Sequence[str]
    packages: Sequence[str] = ()


def state_of(node: Node, wish: Wish, run_id: str, now: str, archives: str = "") -> Json:
    """Return the node's state as it is.

    archives: folder for copies of packages that no source has; without one none is kept. PackageError when dpkg
    cannot be asked, PurgeFailed when a copy cannot be made, OSError when a file cannot be read.
    """
    automatic = set(node.run(["apt-mark", "showauto"]).out.split())
    rows = read_rows(node.run)
    trees, not_kept = _trees(node, wish.trees)
    going = {row.binary: row.version for row in rows if row.installed and row.name in set(wish.packages)}
    lost = without_source(node, going) if archives else []
    copies = {name: repack(node, name, archives) for name in lost}
    not_kept += [f"package {name} {going[name]}, which no source has" for name, path in copies.items() if not path]
    paths = [*apt_paths(node), *wish.files, *_alternative_paths(node)]
    return {
        "schema": SCHEMA,
        "run": run_id,
        "taken": now,
        "packages": [
            {
                "name": row.binary,
                "version": row.version,
                "status": row.abbrev,
                "hold": row.hold,
                "auto": row.binary in automatic or row.name in automatic,
            }
            for row in rows
            if row.present
        ],
        "files": [_describe(node, path) for path in dict.fromkeys(paths)],
        "archives": {name: path for name, path in copies.items() if path},
        "trees": trees,
        "not_kept": not_kept,
        "made": [path for path in wish.made if not os.path.lexists(node.at(path))],
        # Folders that were not there yet: what is empty of them goes with what a run made in them.
        "folders": sorted({part for path in [*wish.made, *wish.files] for part in _missing_parents(node, path)}),
        "groups": group_names(node),
        "users": {user: groups for user in wish.users if (groups := _groups(user)) is not None},
    }


def apt_paths(node: Node) -> List[str]:
    """Return every file that apt reads its sources, pins and keys from."""
    paths = [path for path in APT_FILES if os.path.lexists(node.at(path))]
    for folder in APT_FOLDERS:
        try:
            names = sorted(os.listdir(node.at(folder)))
        except OSError:
            continue
        paths.extend(f"{folder}/{name}" for name in names if not os.path.isdir(node.at(f"{folder}/{name}")))
    return paths


def _describe(node: Node, path: str) -> Json:
    if not os.path.lexists(node.at(path)):
        return {"path": path, "type": "absent"}
    if os.path.isdir(node.at(path)) and not os.path.islink(node.at(path)):
        return {"path": path, "type": "directory"}
    return describe_file(node, path)


def _trees(node: Node, paths: Sequence[str]) -> tuple[List[Json], List[str]]:
    """Return what no package owns in the trees, and the names of what is too large to be kept."""
    kept: List[Json] = []
    dropped: List[str] = []
    room = TREE_LIMIT
    for top in paths:
        if os.path.islink(node.at(top)) or not os.path.isdir(node.at(top)):
            continue
        owned = owners_of(node.run, [top, top + "/*"])
        for folder, folders, files in os.walk(node.at(top)):
            here = top + folder[len(node.at(top)) :]
            if here not in owned:
                info = os.lstat(folder)
                kept.append({"path": here, "type": "directory", "mode": f"{info.st_mode & 0o7777:04o}"})
            links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
            for name in sorted([*files, *links]):
                path = f"{here}/{name}"
                if path in owned:
                    continue
                entry = describe_file(node, path)
                room -= entry["size"] if entry["content"] is not None else 0
                if entry["type"] == "other" or (entry["type"] == "file" and (entry["content"] is None or room < 0)):
                    dropped.append(path)
                else:
                    kept.append(entry)
    return kept, dropped


def _alternative_paths(node: Node) -> List[str]:
    """Return the records, links and managed names of the alternatives that lead into a ROCm tree."""
    paths: List[str] = []
    try:
        names = sorted(os.listdir(node.at(ADMIN)))
    except OSError:
        return paths
    for name in names:
        try:
            with open(node.at(f"{ADMIN}/{name}"), encoding="utf-8", errors="surrogateescape") as stream:
                text = stream.read()
            record = parse_record(text) if "/opt/rocm" in text else None
        except (OSError, ValueError):
            continue
        if record is not None:
            paths.extend([f"{ADMIN}/{name}", f"{LINKS}/{name}", record.link])
    return paths


def _missing_parents(node: Node, path: str) -> List[str]:
    missing: List[str] = []
    path = os.path.dirname(path)
    while path != "/" and not os.path.lexists(node.at(path)):
        missing.append(path)
        path = os.path.dirname(path)
    return missing


def group_names(node: Node) -> List[str]:
    """Return the names of the machine's own groups."""
    try:
        with open(node.at("/etc/group"), encoding="utf-8", errors="surrogateescape") as stream:
            return sorted(line.split(":")[0] for line in stream if ":" in line)
    except OSError:
        return []


def _groups(user: str) -> Optional[List[str]]:
    """Return a user's groups by name, None when there is no such user."""
    done = subprocess.run(["id", "-Gn", "--", user], capture_output=True, text=True, check=False)
    return done.stdout.split() if done.returncode == 0 else None
