# SPDX-License-Identifier: Apache-2.0
"""Make a node's words harmless where people read them.

A folder or a process may be named by anybody, also with escape sequences that a terminal obeys and
line breaks that forge lines of a plan.
"""

from __future__ import annotations

import typing as t

T = t.TypeVar("T")


def printable(value: T) -> T:
    """Return a value with every character that cannot be printed written as an escape, at any depth."""
    if isinstance(value, str):
        # Nearly all are, and a report has thousands of them.
        if value.isprintable():
            return value
        return t.cast("T", "".join(char if char.isprintable() else ascii(char)[1:-1] for char in value))
    if isinstance(value, dict):
        return t.cast("T", {key: printable(entry) for key, entry in value.items()})
    if isinstance(value, list):
        return t.cast("T", [printable(entry) for entry in value])
    return value
