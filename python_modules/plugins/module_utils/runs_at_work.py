# SPDX-License-Identifier: Apache-2.0
"""Find what an interrupted run still does on the node: sshd does not end a command whose client is gone."""

from __future__ import annotations

import os
import re
from typing import Any, Dict, List, Optional

from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

# The plays that change a node set this variable; every process of theirs inherits it.
VARIABLE = "INSTINCT_BRINGUP_RUN"
_RUN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:+-]{0,127}")
# Ansible runs a module with a Python. What else has the variable is a child of it, or a service that a package's
# script has started and that never ends.
_MODULE = ("python", "platform-python")

Json = Dict[str, Any]


def read_runs_at_work(tree: Tree) -> List[Json]:
    """Return the snapshot's "runs_at_work": a module of another run that still works, by pid, with its children.

    {"run": id, "pid": of the module, "processes": names, the module's first}. The run that asks is left out.
    """
    own = os.environ.get(VARIABLE)
    found: Dict[str, Json] = {}
    for pid in (name for name in tree.list_folder("runs_at_work", "/proc") or [] if name.isdigit()):
        # A process may end while it is looked at, and only root may look at all of them.
        run = _run_of(tree, pid)
        if run is None or run == own:
            continue
        name = tree.read_line("runs_at_work", "/proc/%s/comm" % pid, optional=True)
        if name is None:
            continue
        entry = found.setdefault(run, {"run": run, "pid": None, "processes": []})
        if name.startswith(_MODULE):
            entry["pid"] = entry["pid"] or int(pid)
            entry["processes"].insert(0, name)
        else:
            entry["processes"].append(name)
    return [entry for _run, entry in sorted(found.items()) if entry["pid"] is not None]


def _run_of(tree: Tree, pid: str) -> Optional[str]:
    try:
        with open(tree.host_path("/proc/%s/environ" % pid), "rb") as stream:
            data = stream.read()
    except OSError:
        return None
    for entry in data.split(b"\0"):
        name, _, value = entry.partition(b"=")
        run = value.decode("ascii", "replace")
        if name == VARIABLE.encode() and _RUN.fullmatch(run):
            return run
    return None
