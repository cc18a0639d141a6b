# SPDX-License-Identifier: Apache-2.0
"""What a purge is asked to remove, and what it must never be asked."""

from __future__ import annotations

import os
import re
from typing import Any, Mapping, NamedTuple, Sequence

from ansible_collections.instinct.bringup.plugins.module_utils.command_runner import Run
from ansible_collections.instinct.bringup.plugins.module_utils.journal_writer import JournalError, check_run_id
from ansible_collections.instinct.bringup.plugins.module_utils.package_state import bad_names

# Names of dkms modules, their versions, alternatives and distributions: none of them is an option or a path.
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+~:-]*")
_NEVER_BELOW = frozenset(["proc", "sys", "dev", "run", "boot"])


class PurgeRefused(Exception):
    """Nothing was changed; the message says what stands against the purge and what to do."""


class PurgeFailed(Exception):
    """A step failed after changes had begun; calling again goes on from there."""


class Node(NamedTuple):
    """Where the purge works: the way to run a command, and the root of the file system."""

    run: Run
    root: str = "/"

    def at(self, path: str) -> str:
        """Return where an absolute path of the node lies."""
        return os.path.join(self.root, path.lstrip("/"))


class Request(NamedTuple):
    """The things to remove, as the plan lists them; everything else stays.

    settles: dpkg is let finish before the purge, so what it stopped in beyond the list is no reason to refuse now.
    """

    packages: Sequence[str]
    unhold: Sequence[str]
    files: Sequence[str]
    alternatives: Sequence[str]
    dkms_trees: Sequence[tuple[str, str]]
    trees: Sequence[str]
    wheels: Sequence[tuple[str, Sequence[str]]]
    settles: bool = False

    @classmethod
    def of(cls, params: Mapping[str, Any]) -> Request:
        """Build the request from the module's options."""
        return cls(
            packages=params["packages"],
            unhold=params["unhold"],
            files=params["files"],
            alternatives=params["alternatives"],
            dkms_trees=[(item["module"], item["version"]) for item in params["dkms_trees"]],
            trees=params["trees"],
            wheels=[(item["venv"], item["distributions"]) for item in params["wheels"]],
            settles=params["settles"],
        )


def check_request(request: Request, run_id: str) -> None:
    """Refuse a request that could remove something that nobody means. PurgeRefused names every such item."""
    problems = [f"{name!r} is not the name of a package" for name in bad_names([*request.packages, *request.unhold])]
    words = [*request.alternatives, *(word for tree in request.dkms_trees for word in tree)]
    words.extend(name for _venv, names in request.wheels for name in names)
    problems.extend(f"{word!r} is not a plain name" for word in words if not _WORD.fullmatch(word))
    problems.extend(_path_problems(request.files, 1))
    problems.extend(_path_problems([*request.trees, *(venv for venv, _names in request.wheels)], 2))
    try:
        check_run_id(run_id)
    except JournalError as error:
        problems.append(str(error))
    if problems:
        raise PurgeRefused("; ".join(problems))


def _path_problems(paths: Sequence[str], depth: int) -> list[str]:
    problems = []
    for path in paths:
        parts = path.strip("/").split("/")
        if not path.startswith("/") or os.path.normpath(path) != path or "\0" in path:
            problems.append(f"{path!r} is not an absolute path without '..'")
        elif len(parts) < depth or not parts[0] or parts[0] in _NEVER_BELOW:
            problems.append(f"{path} is not something this module removes")
    return problems
