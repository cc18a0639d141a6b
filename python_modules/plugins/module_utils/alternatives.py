# SPDX-License-Identifier: Apache-2.0
"""Read the alternatives that lead into a ROCm tree, from update-alternatives' own files."""

from __future__ import annotations

import stat
from typing import Any, Dict, List, NamedTuple, Optional

from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

ADMIN = "/var/lib/dpkg/alternatives"
LINKS = "/etc/alternatives"
ROCM = "/opt/rocm"

Json = Dict[str, Any]


class Record(NamedTuple):
    """An administrative file: the link that is managed, its slaves' names, and the choices' paths."""

    link: str
    slaves: List[str]
    choices: List[str]


def read_alternatives(tree: Tree) -> List[Json]:
    """Return the snapshot's "alternatives", by name: those whose value or a choice is under /opt/rocm*.

    A link in /etc/alternatives that no administrative file knows any more has no choices.
    """
    records: Dict[str, Record] = {}
    for name in tree.list_folder("alternatives", ADMIN, optional=True) or []:
        text = tree.read_text("alternatives", "%s/%s" % (ADMIN, name))
        if text is None or ROCM not in text:
            continue
        try:
            records[name] = parse_record(text)
        except ValueError as error:
            tree.problem("alternatives", "%s/%s" % (ADMIN, name), error)
    slaves = {slave for record in records.values() for slave in record.slaves}
    found: List[Json] = []
    linked = tree.list_folder("alternatives", LINKS, optional=True) or []
    for name in sorted(set(records) | set(linked)):
        value = _value(tree, name) if name in linked else None
        record = records.get(name)
        choices = record.choices if record is not None else []
        leads_there = any(_is_rocm(path) for path in [value or "", *choices])
        # A slave goes with its master, which is listed.
        if leads_there and not (record is None and name in slaves):
            found.append(
                {
                    "name": name,
                    "value": value,
                    "target_exists": value is not None and tree.presence(value),
                    "choices": choices,
                }
            )
    return found


def _value(tree: Tree, name: str) -> Optional[str]:
    path = "%s/%s" % (LINKS, name)
    info = tree.stat(path, follow=False)
    # A README lies among the links.
    return tree.read_link("alternatives", path) if info is not None and stat.S_ISLNK(info.st_mode) else None


def _is_rocm(path: str) -> bool:
    return path == ROCM or path.startswith((ROCM + "/", ROCM + "-"))


def parse_record(text: str) -> Record:
    """Return an administrative file of update-alternatives(1). Raises ValueError when it is cut short.

    The form: mode, link, then name and link of each slave, an empty line, then for each choice its
    path, its priority and one line (maybe empty) a slave, and an empty line at the end.
    """
    lines = text.split("\n")
    slaves: List[str] = []
    choices: List[str] = []
    try:
        position = 2
        while lines[position]:
            slaves.append(lines[position])
            position += 2
        position += 1
        while lines[position]:
            choices.append(lines[position])
            position += 2 + len(slaves)
        return Record(lines[1], slaves, choices)
    except IndexError:
        raise ValueError("not an administrative file of update-alternatives") from None
