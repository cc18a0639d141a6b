# SPDX-License-Identifier: Apache-2.0
"""Uninstall distributions from a virtual environment with that environment's own pip."""

from __future__ import annotations

import glob
import os
import pwd
import re
from typing import NamedTuple, Sequence

from ansible_collections.instinct.bringup.plugins.module_utils.command_runner import last_words
from ansible_collections.instinct.bringup.plugins.module_utils.purge_request import Node, PurgeFailed
from ansible_collections.instinct.bringup.plugins.module_utils.wheel_index import normal_name

_DIST_INFO = re.compile(r"(.+)-([^-]+)\.dist-info")


class Wheels(NamedTuple):
    """The listed distributions that an environment has, name to version."""

    venv: str
    versions: dict[str, str]


def find_wheels(node: Node, wanted: Sequence[tuple[str, Sequence[str]]]) -> list[Wheels]:
    """Return the environments that have any of the distributions on their list."""
    found = []
    for venv, names in wanted:
        chosen = {normal_name(name) for name in names}
        versions = {}
        pattern = os.path.join(glob.escape(node.at(venv)), "lib", "python3*", "site-packages", "*.dist-info")
        for path in glob.glob(pattern):
            match = _DIST_INFO.fullmatch(os.path.basename(path))
            if match and normal_name(match.group(1)) in chosen:
                versions[normal_name(match.group(1))] = match.group(2)
        if versions:
            found.append(Wheels(venv, dict(sorted(versions.items()))))
    return found


def remove_wheels(node: Node, wheels: Wheels) -> None:
    """Uninstall the distributions. PurgeFailed when pip cannot, or when they are still there."""
    python = os.path.join(wheels.venv, "bin", "python")
    argv = [*_as_owner(node, wheels.venv), python, "-m", "pip", "uninstall", "-y", *wheels.versions]
    result = node.run(argv)
    left = find_wheels(node, [(wheels.venv, list(wheels.versions))])
    if left or result.rc != 0:
        names = ", ".join(left[0].versions) if left else ", ".join(wheels.versions)
        raise PurgeFailed(
            f"{python} -m pip could not uninstall {names} (exit {result.rc}): {last_words(result)}. "
            "If that environment is broken, remove it as a whole"
        )


def _as_owner(node: Node, venv: str) -> list[str]:
    """Return the prefix that runs a command as the environment's owner, so that root never runs a user's code."""
    uid = os.stat(node.at(venv)).st_uid
    if os.geteuid() != 0 or uid == 0:
        return []
    try:
        return ["runuser", "-u", pwd.getpwuid(uid).pw_name, "--"]
    except KeyError as error:
        raise PurgeFailed(f"{venv} belongs to the user id {uid}, which has no name; remove it yourself") from error
