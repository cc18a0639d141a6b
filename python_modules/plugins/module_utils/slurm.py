# SPDX-License-Identifier: Apache-2.0
"""Read the lines of Slurm's files that describe GPUs."""

from __future__ import annotations

from typing import Any, Dict, List

from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

FOLDERS = ("/etc/slurm", "/etc/slurm-llnl", "/usr/local/etc/slurm")
FILES = ("gres.conf", "slurm.conf")
_KEYS = ("autodetect", "gres", "name", "type", "count", "file", "nodename")
_ABOUT_GPUS = ("autodetect", "gres", "name")


def read_slurm(tree: Tree) -> Dict[str, List[Dict[str, Any]]]:
    """Return {"lines": [{"path", "line", "values"}]}, keys in lower case. Without Slurm there are none."""
    lines: List[Dict[str, Any]] = []
    for folder in FOLDERS:
        for name in FILES:
            path = "%s/%s" % (folder, name)
            text = tree.read_text("slurm", path, optional=True)
            for number, line in enumerate((text or "").splitlines(), 1):
                values = parse_line(line)
                if any(key in values for key in _ABOUT_GPUS):
                    lines.append({"path": path, "line": number, "values": values})
    return {"lines": lines}


def parse_line(line: str) -> Dict[str, str]:
    """Return the assignments of a line that describe GPUs; slurm.conf's other keys are left out."""
    values: Dict[str, str] = {}
    for word in line.partition("#")[0].split():
        key, equals, value = word.partition("=")
        if equals and key.lower() in _KEYS:
            values[key.lower()] = value.strip('"')
    return values
