# SPDX-License-Identifier: Apache-2.0
"""Read the paragraphs of Debian's control files: dpkg's status, apt's sources and preferences."""

from __future__ import annotations

from typing import Dict, List, Tuple


def parse_stanzas(text: str) -> List[Tuple[int, Dict[str, str]]]:
    """Return the paragraphs of a Debian control file as (line of the first field, {field: value}).

    Field names are in lower case; continuation lines are joined with line ends; comments are dropped.
    """
    stanzas: List[Tuple[int, Dict[str, str]]] = []
    fields: Dict[str, str] = {}
    first = 0
    name = ""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("#"):
            continue
        if not line.strip():
            if fields:
                stanzas.append((first, fields))
            fields, name = {}, ""
            continue
        if line[0] in " \t":
            if name:
                fields[name] += "\n" + line.strip()
            continue
        key, colon, value = line.partition(":")
        if not colon:
            name = ""
            continue
        if not fields:
            first = number
        name = key.strip().lower()
        fields[name] = value.strip()
    if fields:
        stanzas.append((first, fields))
    return stanzas
