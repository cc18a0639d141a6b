# SPDX-License-Identifier: Apache-2.0
"""Bring a node back to the state of a manifest: packages in one transaction, then files byte for byte."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Dict, List, Mapping, NamedTuple, Sequence

from ansible_collections.instinct.bringup.plugins.module_utils.command_runner import last_words
from ansible_collections.instinct.bringup.plugins.module_utils.package_lock import (
    LOCK_TIMEOUT,
    describe_lock,
    run_when_unlocked,
)
from ansible_collections.instinct.bringup.plugins.module_utils.package_state import read_rows
from ansible_collections.instinct.bringup.plugins.module_utils.purge_packages import simulated
from ansible_collections.instinct.bringup.plugins.module_utils.purge_request import Node, PurgeFailed, PurgeRefused
from ansible_collections.instinct.bringup.plugins.module_utils.restore_files import restore, restore_apt
from ansible_collections.instinct.bringup.plugins.module_utils.state_manifest import (
    SCHEMA,
    SUFFIX,
    apt_paths,
    group_names,
)

_APT = ["apt-get", "-q", "-o", f"DPkg::Lock::Timeout={LOCK_TIMEOUT}"]
_ALLOWED = ["--allow-downgrades", "--allow-change-held-packages", "--no-auto-remove"]

Json = Dict[str, Any]


class Moves(NamedTuple):
    """What stands between two lists of packages. install: name to version."""

    install: Dict[str, str]
    remove: List[str]


def read_state(folder: str, run_id: str) -> Json:
    """Return a manifest. PurgeRefused names those that there are, when it is not one of them or is broken."""
    try:
        names = sorted(name[: -len(SUFFIX)] for name in os.listdir(folder) if name.endswith(SUFFIX))
    except OSError:
        names = []
    if run_id not in names:
        have = ", ".join(names) or "none: no run has changed this node"
        raise PurgeRefused(f"there is no manifest {run_id!r} on this node; there are: {have}")
    path = os.path.join(folder, run_id + SUFFIX)
    try:
        with open(path, encoding="utf-8") as stream:
            state: Json = json.load(stream)
    except (OSError, ValueError) as error:
        raise PurgeRefused(f"the manifest {path} cannot be read: {error}") from error
    if state.get("schema") != SCHEMA:
        raise PurgeRefused(f"the manifest {path} is not of schema {SCHEMA}")
    return state


def moves_to(state: Mapping[str, Any], now: Mapping[str, str]) -> Moves:
    """Return what must be installed and removed. now: name to version of what dpkg has of any package."""
    wanted = {row["name"]: row["version"] for row in state["packages"] if row["status"][1:2] == "i"}
    residual = {row["name"] for row in state["packages"]}
    install = {name: version for name, version in wanted.items() if now.get(name) != version}
    return Moves(install, sorted(name for name in now if name not in residual))


def roll_back(node: Node, state: Json, check_mode: bool) -> Json:
    """Bring the node back and return changed, installed, removed, files and could_not.

    PurgeRefused: nothing was changed, apt's files are as they were.
    """
    moves = moves_to(state, _present(node))
    could_not = [f"{path}: too large, and not kept in the manifest" for path in state["not_kept"]]
    if check_mode:
        return _result(moves, [], could_not)
    if moves.install or moves.remove:
        could_not += _packages(node, state, moves)
    files, problems = restore(node, state)
    could_not += problems
    _marks(node, state)
    for command in (["ldconfig"], ["depmod", "-a"]):
        node.run(command)
    return _result(moves, files, could_not + _differences(node, state))


def _packages(node: Node, state: Json, moves: Moves) -> List[str]:
    """Install and remove in one transaction, from the sources of the manifest."""
    before = {path: Path(node.at(path)).read_bytes() for path in apt_paths(node) if os.path.isfile(node.at(path))}
    restore_apt(node, state)
    try:
        return _transact(node, moves, state["archives"])
    except PurgeRefused:
        _put_back(node, before)
        raise


def _transact(node: Node, moves: Moves, archives: Mapping[str, str]) -> List[str]:
    update = node.run([*_APT, "update"])
    if update.rc != 0:
        raise PurgeRefused(f"the sources of that time cannot be read: {describe_lock(update) or last_words(update)}")
    held = [row.binary for row in read_rows(node.run) if row.hold]
    words: List[str] = []
    lost: List[str] = []
    for name, version in moves.install.items():
        if _available(node, name, version):
            words.append(f"{name}={version}")
        elif name in archives and os.path.isfile(node.at(archives[name])):
            words.append(archives[name])
        else:
            lost.append(f"{name} {version}: no source has it any more")
    words += [f"{name}-" for name in moves.remove]
    if not words:
        return lost
    simulation = node.run([*_APT, "-s", *_ALLOWED, "--purge", "install", *words])
    gone, _installed = simulated(simulation.out)
    beyond = sorted(set(gone) - {name.partition(":")[0] for name in [*moves.remove, *moves.install]})
    if simulation.rc != 0 or beyond:
        reason = f"it would also remove {', '.join(beyond)}" if beyond else last_words(simulation)
        raise PurgeRefused(f"the packages of that time cannot be put together: {reason}")
    if held:
        run_when_unlocked(node.run, ["apt-mark", "unhold", *held])
    options = ["-o", "Dpkg::Options::=--force-confnew", "-o", "Dpkg::Options::=--force-confmiss"]
    done = node.run([*_APT, "-y", *_ALLOWED, *options, "--purge", "install", *words])
    if done.rc != 0:
        raise PurgeFailed(
            f"apt stopped in the middle: {describe_lock(done) or last_words(done)}. Call it again once that is mended"
        )
    return lost


def _available(node: Node, name: str, version: str) -> bool:
    shown = node.run(["apt-cache", "show", f"{name}={version}"])
    return shown.rc == 0 and bool(shown.out.strip())


def _marks(node: Node, state: Json) -> None:
    """Set holds and the marks of what came as a dependency, as they were."""
    rows = {row.binary: row for row in read_rows(node.run) if row.installed}
    kept = [row for row in state["packages"] if row["name"] in rows]
    automatic = set(node.run(["apt-mark", "showauto"]).out.split())
    verbs: Dict[str, List[str]] = {"hold": [], "unhold": [], "auto": [], "manual": []}
    for row in kept:
        name = str(row["name"])
        if row["hold"] != rows[name].hold:
            verbs["hold" if row["hold"] else "unhold"].append(name)
        if row["auto"] != (name in automatic):
            verbs["auto" if row["auto"] else "manual"].append(name)
    for verb, names in verbs.items():
        if names:
            run_when_unlocked(node.run, ["apt-mark", verb, *names])


def _differences(node: Node, state: Json) -> List[str]:
    """Return what of packages and groups still differs from the manifest."""
    now = {row.binary: (row.version, row.abbrev.strip()) for row in read_rows(node.run) if row.present}
    then = {row["name"]: (row["version"], row["status"].strip()) for row in state["packages"]}
    groups = sorted(set(group_names(node)) - set(state["groups"]))
    made = [f"group {name}: a package made it, and no package removes its group" for name in groups]
    return made + [
        f"package {name}: {' '.join(now.get(name, ('absent',)))}, it was {' '.join(then.get(name, ('absent',)))}"
        for name in sorted({*now, *then})
        if now.get(name) != then.get(name)
    ]


def _present(node: Node) -> Dict[str, str]:
    return {row.binary: row.version if row.installed else "" for row in read_rows(node.run) if row.present}


def _put_back(node: Node, before: Mapping[str, bytes]) -> None:
    for path in apt_paths(node):
        if path not in before and os.path.isfile(node.at(path)):
            os.unlink(node.at(path))
    for path, content in before.items():
        Path(node.at(path)).write_bytes(content)


def _result(moves: Moves, files: Sequence[str], could_not: Sequence[str]) -> Json:
    return {
        "changed": bool(moves.install or moves.remove or files),
        "installed": sorted(f"{name} {version}" for name, version in moves.install.items()),
        "removed": list(moves.remove),
        "files": list(files),
        "could_not": list(could_not),
        "driver_changed": any(name.startswith("amdgpu-dkms") for name in [*moves.install, *moves.remove]),
    }
