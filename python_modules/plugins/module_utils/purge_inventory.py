# SPDX-License-Identifier: Apache-2.0
"""What of a purge's list is there, as values, as lines for a person, and as the manifest's entries."""

from __future__ import annotations

import os
from typing import Any, NamedTuple, Sequence

from ansible_collections.instinct.bringup.plugins.module_utils.package_state import PackageRow, read_rows
from ansible_collections.instinct.bringup.plugins.module_utils.purge_alternatives import Alternative, find_alternatives
from ansible_collections.instinct.bringup.plugins.module_utils.purge_dkms import DkmsTree, find_dkms_trees
from ansible_collections.instinct.bringup.plugins.module_utils.purge_manifest import describe_file
from ansible_collections.instinct.bringup.plugins.module_utils.purge_paths import Tree, find_files, find_trees
from ansible_collections.instinct.bringup.plugins.module_utils.purge_request import Node, PurgeRefused, Request
from ansible_collections.instinct.bringup.plugins.module_utils.purge_wheels import Wheels, find_wheels


class Found(NamedTuple):
    """Everything of a request that is there now."""

    rows: Sequence[PackageRow]
    others: Sequence[PackageRow]
    """Packages beyond the list that an earlier run of dpkg left unfinished."""
    holds: Sequence[str]
    files: Sequence[str]
    alternatives: Sequence[Alternative]
    dkms_trees: Sequence[DkmsTree]
    trees: Sequence[Tree]
    wheels: Sequence[Wheels]


def look_for(node: Node, request: Request) -> Found:
    """Return what of the request is there. PackageError when dpkg cannot be asked."""
    everything = read_rows(node.run) if request.packages or request.unhold else []
    listed = set(request.packages)
    return Found(
        rows=[row for row in everything if row.name in listed and row.present],
        others=[row for row in everything if row.name not in listed and row.unfinished],
        holds=sorted({row.name for row in everything if row.hold and row.name in set(request.unhold)}),
        files=find_files(node, request.files),
        alternatives=find_alternatives(node, request.alternatives),
        dkms_trees=find_dkms_trees(node, request.dkms_trees),
        trees=find_trees(node, request.trees, request.packages),
        wheels=find_wheels(node, request.wheels),
    )


def items_of(found: Found) -> dict[str, list[str]]:
    """Return the names of what is there, by kind."""
    choices = [
        f"{group.name}: {path}" for group in found.alternatives for path in (group.doomed or [f"{group.value} (stray)"])
    ]
    versions = [
        f"{wheels.venv}: {name} {version}" for wheels in found.wheels for name, version in wheels.versions.items()
    ]
    return {
        "packages": [f"{row.binary} {row.version}".rstrip() for row in found.rows],
        "holds": list(found.holds),
        "wheels": versions,
        "dkms_trees": [tree.name for tree in found.dkms_trees],
        "alternatives": choices,
        "files": list(found.files),
        "trees": [tree.path for tree in found.trees],
    }


def lines_of(items: dict[str, list[str]]) -> str:
    """Return the items as text, one a line, for a diff."""
    return "".join(f"{kind}: {name}\n" for kind, names in items.items() for name in names)


def manifest_of(node: Node, found: Found, run_id: str, now: str) -> dict[str, Any]:
    """Return the manifest of what is to go. PurgeRefused when something cannot be read, and so not kept."""
    try:
        files = [describe_file(node, path) for path in found.files]
        files.extend(
            describe_file(node, path, package)
            for path, package in _conffiles(node, found.rows).items()
            if path not in found.files and os.path.lexists(node.at(path))
        )
    except OSError as error:
        raise PurgeRefused(
            f"cannot read {error.filename} to keep it in the manifest: {error.strerror} (errno {error.errno})"
        ) from error
    automatic = set(node.run(["apt-mark", "showauto"]).out.split()) if found.rows else set()
    return {
        "schema": 1,
        "run": run_id,
        "started": now,
        "finished": None,
        "listed": items_of(found),
        "removed": {},
        "packages": [
            {
                "name": row.name,
                "architecture": row.architecture,
                "version": row.version,
                "status": row.abbrev,
                "hold": row.hold,
                "auto": row.binary in automatic or row.name in automatic,
            }
            for row in found.rows
        ],
        "holds": list(found.holds),
        "files": files,
        "alternatives": [group._asdict() for group in found.alternatives],
        # With its path: whoever asks where something went looks for that.
        "dkms_trees": [{**tree._asdict(), "path": tree.path} for tree in found.dkms_trees],
        "trees": [tree._asdict() for tree in found.trees],
        "wheels": [
            {"venv": wheels.venv, "name": name, "version": version}
            for wheels in found.wheels
            for name, version in wheels.versions.items()
        ],
    }


def _conffiles(node: Node, rows: Sequence[PackageRow]) -> dict[str, str]:
    """Return the configuration files that go with the packages: path to package."""
    if not rows:
        return {}
    names = [row.binary for row in rows]
    result = node.run(["dpkg-query", "-W", "-f", "${Package}\\n${Conffiles}\\n", *names])
    files: dict[str, str] = {}
    package = ""
    for line in result.out.splitlines():
        if line.startswith(" /"):
            # " PATH MD5" or " PATH MD5 obsolete"; a path may hold spaces
            words = line[1:].split(" ")
            words = words[:-1] if words[-1] == "obsolete" else words
            files[" ".join(words[:-1])] = package
        elif line.strip():
            package = line.strip()
    return files
