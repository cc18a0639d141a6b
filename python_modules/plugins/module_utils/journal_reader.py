# SPDX-License-Identifier: Apache-2.0
"""Read what runs of this collection left in their journal on the node."""

from __future__ import annotations

import json
from typing import Any, Dict, List, Optional

from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

RUNS = "/var/lib/instinct-bringup/runs"
HOLDS = "/var/lib/instinct-bringup/holds.json"
_STATES = ("begun", "finished")

Json = Dict[str, Any]


def read_journal(tree: Tree) -> Optional[Json]:
    """Return the snapshot's "journal": runs, and the holds that runs have set.

    A node that saw no run has none of either. None when it is not readable.
    """
    names = tree.list_folder("journal", RUNS, optional=True)
    holds = _holds(tree)
    if names is None:
        return {"runs": [], "holds": holds} if tree.presence(RUNS) is False else None
    runs: List[Json] = []
    for name in names:
        # A name with a dot in front is a file that was being written when the node went down.
        if not name.endswith(".json") or name.startswith("."):
            continue
        path = "%s/%s" % (RUNS, name)
        text = tree.read_text("journal", path)
        if text is None:
            continue
        try:
            runs.append(parse_run(text, name[: -len(".json")]))
        except ValueError as error:
            tree.problem("journal", path, error)
    return {"runs": runs, "holds": holds}


def _holds(tree: Tree) -> List[str]:
    text = tree.read_text("journal", HOLDS, optional=True)
    if text is None:
        return []
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        tree.problem("journal", HOLDS, "not a record of holds")
        return []
    return _names(data.get("packages"))


def parse_run(text: str, run: str) -> Json:
    """Return one run's entry. Raises ValueError when the text is not one of our journal."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError("not JSON") from None
    if not isinstance(data, dict) or data.get("state") not in _STATES:
        raise ValueError("not an entry of the journal: no state begun or finished")
    return {
        "run": run,
        "state": data["state"],
        "packages": _names(data.get("packages")),
        "steps": _names(data.get("steps")),
    }


def _names(value: Any) -> List[str]:
    return [str(name) for name in value] if isinstance(value, list) else []
