# SPDX-License-Identifier: Apache-2.0
"""Keep what a purge removes: written before the first change, completed at the end."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import stat
from typing import Any, Mapping, Sequence

from ansible_collections.instinct.bringup.plugins.module_utils.file_writer import (
    Wanted,
    WriteError,
    group_name,
    user_name,
    write_file,
)
from ansible_collections.instinct.bringup.plugins.module_utils.journal_writer import make_private
from ansible_collections.instinct.bringup.plugins.module_utils.purge_request import Node, PurgeFailed, PurgeRefused

CONTENT_LIMIT = 256 * 1024
_NAMES_RETURNED = 200

# What tells two entries of a list apart.
_KEYS = {
    "packages": ("name", "architecture", "version"),
    "files": ("path",),
    "alternatives": ("name",),
    "dkms_trees": ("module", "version"),
    "trees": ("path",),
    "wheels": ("venv", "name"),
}


def describe_file(node: Node, path: str, package: str | None = None) -> dict[str, Any]:
    """Return everything that is needed to make a file or link again; content of at most 256 KiB."""
    info = os.lstat(node.at(path))
    entry: dict[str, Any] = {
        "path": path,
        "package": package,
        "type": "link" if stat.S_ISLNK(info.st_mode) else "file" if stat.S_ISREG(info.st_mode) else "other",
        "mode": f"{stat.S_IMODE(info.st_mode):04o}",
        "owner": user_name(info.st_uid),
        "group": group_name(info.st_gid),
        "size": info.st_size,
        "target": None,
        "sha256": None,
        "content": None,
    }
    if entry["type"] == "link":
        entry["target"] = os.readlink(node.at(path))
    elif entry["type"] == "file":
        with open(node.at(path), "rb") as stream:
            content = stream.read(CONTENT_LIMIT + 1)
            digest = hashlib.sha256(content)
            for part in iter(lambda: stream.read(CONTENT_LIMIT), b""):
                digest.update(part)
        entry["sha256"] = digest.hexdigest()
        if len(content) <= CONTENT_LIMIT:
            entry["content"] = base64.b64encode(content).decode("ascii")
    return entry


def merge(old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> dict[str, Any]:
    """Return new with everything that an interrupted call with the same run id had noted before.

    An entry that both have is the old one: it tells how the node was before the first change.
    """
    if old is None:
        return dict(new)
    merged = {**new, "started": old.get("started", new["started"])}
    merged["holds"] = _joined(old.get("holds", []), new["holds"])
    listed = old.get("listed", {})
    merged["listed"] = {kind: _joined(listed.get(kind, []), names) for kind, names in new["listed"].items()}
    for kind, keys in _KEYS.items():
        entries = {tuple(entry[key] for key in keys): entry for entry in [*new[kind], *old.get(kind, [])]}
        merged[kind] = list(entries.values())
    return merged


def read_manifest(path: str) -> dict[str, Any] | None:
    """Return the manifest at path, or None when there is none. PurgeRefused when it cannot be trusted."""
    try:
        with open(path, encoding="utf-8") as stream:
            data = json.load(stream)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise PurgeRefused(
            f"the manifest {path} cannot be read ({error}); move it away, or use another run_id"
        ) from error
    if not isinstance(data, dict) or data.get("schema") != 1:
        raise PurgeRefused(f"{path} is not a manifest of schema 1; move it away, or use another run_id")
    return data


def write_manifest(path: str, manifest: Mapping[str, Any]) -> None:
    """Write the manifest for its owner only, in one step. PurgeFailed when it cannot be written."""
    content = (json.dumps(manifest, indent=1) + "\n").encode("utf-8")
    try:
        make_private(os.path.dirname(path))
        write_file(Wanted(path, content, "0600", user_name(os.getuid()), group_name(os.getgid())))
    except OSError as error:
        raise PurgeFailed(f"cannot make {error.filename}: {error.strerror} (errno {error.errno})") from error
    except WriteError as error:
        raise PurgeFailed(f"the manifest cannot be kept, so nothing is removed: {error}") from error


def without_contents(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the manifest as it may travel: no file's content, and of long lists the beginning."""
    short = dict(manifest)
    short["files"] = [{key: value for key, value in entry.items() if key != "content"} for entry in manifest["files"]]
    short["trees"] = [{**entry, "unowned": _beginning(entry["unowned"])} for entry in manifest["trees"]]
    return short


def _joined(first: Sequence[str], second: Sequence[str]) -> list[str]:
    return list(dict.fromkeys([*first, *second]))


def _beginning(names: Sequence[str]) -> list[str]:
    more = len(names) - _NAMES_RETURNED
    return [*names[:_NAMES_RETURNED], *([f"… {more} more, see the manifest's file"] if more > 0 else [])]
