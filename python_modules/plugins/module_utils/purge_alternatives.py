# SPDX-License-Identifier: Apache-2.0
"""Remove the dead ROCm choices of an alternative, and leave the choices of others."""

from __future__ import annotations

import os
from typing import NamedTuple, Sequence

from ansible_collections.instinct.bringup.plugins.module_utils.alternatives import parse_record
from ansible_collections.instinct.bringup.plugins.module_utils.command_runner import last_words
from ansible_collections.instinct.bringup.plugins.module_utils.purge_request import Node, PurgeFailed, PurgeRefused

_LINKS = "/etc/alternatives"
_GROUPS = "/var/lib/dpkg/alternatives"


class Alternative(NamedTuple):
    """A group of update-alternatives.

    doomed: its choices that go; record: what dpkg keeps of the group, priorities and slaves
    included; it is empty for a stray link, which has no group.
    """

    name: str
    value: str
    choices: Sequence[str]
    doomed: Sequence[str]
    record: str


def find_alternatives(node: Node, names: Sequence[str]) -> list[Alternative]:
    """Return the named groups that have a choice to remove: one below /opt/rocm*, or whose target is gone.

    dpkg's own file is read, since `update-alternatives --query` leaves out a choice whose target is
    gone. PurgeRefused when the file cannot be understood.
    """
    found = []
    for name in names:
        record = _read(node.at(f"{_GROUPS}/{name}"))
        try:
            choices = parse_record(record).choices if record else []
        except ValueError as error:
            raise PurgeRefused(f"{_GROUPS}/{name} is {error}; mend or remove it") from error
        value = _target(node.at(f"{_LINKS}/{name}"))
        doomed = [path for path in choices if _is_doomed(node, path)]
        stray = bool(value) and not record and _is_doomed(node, value)
        if doomed or stray:
            found.append(Alternative(name, value, choices, doomed, record))
    return found


def remove_alternative(node: Node, group: Alternative) -> None:
    """Remove the doomed choices. PurgeFailed when update-alternatives cannot."""
    if not group.record:
        os.unlink(node.at(f"{_LINKS}/{group.name}"))
        return
    if len(group.doomed) == len(group.choices):
        commands = [["update-alternatives", "--remove-all", group.name]]
    else:
        commands = [["update-alternatives", "--remove", group.name, path] for path in group.doomed]
    for argv in commands:
        result = node.run(argv)
        if result.rc != 0:
            raise PurgeFailed(f"{' '.join(argv)} failed (exit {result.rc}): {last_words(result)}")


def _is_doomed(node: Node, path: str) -> bool:
    return path == "/opt/rocm" or path.startswith(("/opt/rocm-", "/opt/rocm/")) or not os.path.exists(node.at(path))


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as stream:
            return stream.read()
    except OSError:
        return ""


def _target(link: str) -> str:
    try:
        return os.readlink(link)
    except OSError:
        return ""
