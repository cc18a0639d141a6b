# SPDX-License-Identifier: Apache-2.0
"""Read where a job's environment comes from: files of all shells, of users, of units, and of processes that run.

Environments hold secrets. Only lines and names that have to do with ROCm leave the node.
"""

from __future__ import annotations

import re
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple

from ansible_collections.instinct.bringup.plugins.module_utils.env_source import (
    MAX_REFERENCED,
    referenced_paths,
)
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree, as_text

FILES = ("/etc/environment", "/etc/profile", "/etc/bash.bashrc", "/etc/rccl.conf", "/etc/systemd/system.conf")
# Folder to the endings of the files in it that somebody reads.
FOLDERS = {
    "/etc/profile.d": (".sh",),
    "/etc/environment.d": (".conf",),
    "/etc/systemd/system": (".service",),
    "/etc/systemd/system.conf.d": (".conf",),
}
UNITS = "/etc/systemd/system"
OF_USERS = (".rccl.conf", ".deepspeed_env", ".profile", ".bash_profile", ".bashrc")
# A log of many ranks repeats itself; the first ones have all the names.
LOG_BYTES = 64 * 1024 * 1024

_OURS = r"NCCL|RCCL|HSA|HSAKMT|HIP|HIPRTC|ROCR|ROCM|ROC|GPU|AMD|PYTORCH|TORCH|UCX|OMPI|DS|DEEPSPEED|CUDA|HCCL|NCLL|CCL"
_VARIABLE = re.compile(r"(?<![A-Za-z0-9])(?:%s)_[A-Z0-9]|LD_LIBRARY_PATH" % _OURS)
# Here-documents and the sections of a unit say how the other lines are read.
_FRAME = re.compile(r"<<|^\[[A-Z]")
_NAME = re.compile(r"(?:%s)_|LD_LIBRARY_PATH$" % _OURS)
_TAKEN = re.compile(rb"((?:NCCL|RCCL)_[A-Z0-9_]+) set (?:by environment )?to ([^\r\n]*)")

Json = Dict[str, Any]


def read_environment(
    tree: Tree, users: Sequence[str], logs: Sequence[str], processes: Optional[Sequence[Json]]
) -> Json:
    """Return the snapshot's "environment".

    logs: paths of logs of runs with NCCL_DEBUG=INFO. processes: the snapshot's gpu_processes, whose
    environments are wanted; None where there are none to be asked.
    """
    homes = _homes(tree, users)
    places: List[Tuple[str, Optional[str]]] = [(path, None) for path in [*FILES, *_listed(tree)]]
    places += [("%s/%s" % (home.rstrip("/"), name), user) for user, home in homes.items() for name in OF_USERS]
    files = [{"path": path, "user": user, "text": _relevant(tree, path)} for path, user in places]
    found = [entry for entry in files if entry["text"]]
    return {
        "files": found,
        "processes": None if processes is None else [_process(tree, entry) for entry in processes],
        "logs": [_log(tree, path) for path in logs],
        "referenced": {path: _referenced(tree, path) for path in _named(found)},
    }


def relevant_lines(text: str) -> str:
    """Return a text with the lines blanked that name no variable of ROCm; the others keep their numbers.

    Empty where nothing is left.
    """
    kept: List[str] = []
    goes_on = False
    hits = False
    for line in text.splitlines():
        hit = _VARIABLE.search(line) is not None
        kept.append(line if hit or goes_on or _FRAME.search(line) else "")
        goes_on = (hit or goes_on) and line.endswith("\\")
        hits = hits or hit
    return "\n".join(kept).rstrip("\n") + "\n" if hits else ""


def _listed(tree: Tree) -> Iterable[str]:
    for folder, endings in FOLDERS.items():
        for name in sorted(tree.list_folder("environment", folder, optional=True) or []):
            if name.endswith(endings):
                yield "%s/%s" % (folder, name)
    for name in sorted(tree.list_folder("environment", UNITS, optional=True) or []):
        if name.endswith(".d"):
            for drop_in in sorted(tree.list_folder("environment", "%s/%s" % (UNITS, name), optional=True) or []):
                yield "%s/%s/%s" % (UNITS, name, drop_in)


def _homes(tree: Tree, users: Sequence[str]) -> Dict[str, str]:
    """Return the home of root and of each user who is in /etc/passwd."""
    wanted = {"root", *users}
    homes: Dict[str, str] = {}
    for line in (tree.read_text("environment", "/etc/passwd", optional=True) or "").splitlines():
        fields = line.split(":")
        if len(fields) > 5 and fields[0] in wanted and fields[5].startswith("/"):
            homes.setdefault(fields[0], fields[5])
    return homes


def _relevant(tree: Tree, path: str) -> str:
    data = tree.read_bytes("environment", path, optional=True, limit=MAX_REFERENCED)
    text = as_text(data) if data is not None else None
    return relevant_lines(text) if text else ""


def _named(files: Sequence[Json]) -> List[str]:
    return referenced_paths("\n".join(entry["text"] for entry in files).encode("utf-8"))


def _referenced(tree: Tree, path: str) -> Optional[str]:
    data = tree.read_bytes("environment", path, optional=True, limit=MAX_REFERENCED)
    return None if data is None else as_text(data)


def _process(tree: Tree, process: Json) -> Json:
    """Return a process's variables of ROCm; None where it ended or is not ours to look at."""
    data = tree.read_bytes("environment", "/proc/%d/environ" % process["pid"], optional=True, limit=MAX_REFERENCED)
    variables: Optional[Dict[str, str]] = None
    if data is not None:
        variables = {}
        for entry in data.decode("utf-8", "replace").split("\0"):
            name, equals, value = entry.partition("=")
            if equals and _NAME.match(name):
                variables[name] = value
    return {"pid": process["pid"], "name": process["name"], "variables": variables}


def _log(tree: Tree, path: str) -> Json:
    """Return the names and values that RCCL said it took; None where the log cannot be read."""
    data = tree.read_bytes("environment", path, limit=LOG_BYTES, whole=False)
    taken: Optional[Dict[str, str]] = None
    if data is not None:
        taken = {}
        for name, value in _TAKEN.findall(data):
            taken.setdefault(name.decode("ascii"), value.decode("utf-8", "replace").strip().rstrip("."))
    return {"path": path, "taken": taken}
