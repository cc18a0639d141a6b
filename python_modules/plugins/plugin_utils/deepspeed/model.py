# SPDX-License-Identifier: Apache-2.0
"""Hold what the lint says of a config."""

from __future__ import annotations

import dataclasses
import typing as t

Config = dict[str, t.Any]

SYNTAX = "syntax"
DUPLICATE = "duplicate"
UNKNOWN_KEY = "unknown_key"
WRONG_PARENT = "wrong_parent"
NOT_YET = "not_yet"
REMOVED = "removed"
BAD_VALUE = "bad_value"
AUTO = "auto"
CONFLICT = "conflict"
DEPRECATED = "deprecated"
NO_EFFECT = "no_effect"
UNKNOWN = "unknown"
VERDICTS = (
    SYNTAX,
    DUPLICATE,
    UNKNOWN_KEY,
    WRONG_PARENT,
    NOT_YET,
    REMOVED,
    BAD_VALUE,
    AUTO,
    CONFLICT,
    DEPRECATED,
    NO_EFFECT,
    UNKNOWN,
)
# What a config may hold and still do what it says.
_HARMLESS = (DEPRECATED, NO_EFFECT, UNKNOWN)


@dataclasses.dataclass(frozen=True)
class Finding:
    """Say of one place of a config what is wrong with it.

    line: of the text, 0 where there is none. path: keys joined by dots, empty for the whole.
    use_instead: the key or the value that does it, empty where none is known.
    """

    line: int
    path: str
    verdict: str
    message: str
    use_instead: str = ""

    @property
    def matters(self) -> bool:
        """Say whether the config has to be corrected."""
        return self.verdict not in _HARMLESS

    def as_dict(self) -> dict[str, t.Any]:
        """Return the finding as plain data."""
        return dataclasses.asdict(self)

    def __str__(self) -> str:
        place = f"{self.path}: " if self.path else ""
        return f"{place}{self.message}"
