# SPDX-License-Identifier: Apache-2.0
"""Hold what is read from a file of variables and what is said about it."""

from __future__ import annotations

import dataclasses

OK = "ok"
UNREAD = "unread"
TYPO = "typo"
OBSOLETE = "obsolete"
NOT_YET = "not_yet"
BUILD_TIME_ONLY = "build_time_only"
BAD_VALUE = "bad_value"
CONFLICT = "conflict"
UNKNOWN = "unknown"
VERDICTS = (UNREAD, TYPO, OBSOLETE, NOT_YET, BUILD_TIME_ONLY, BAD_VALUE, CONFLICT, UNKNOWN, OK)
# What somebody must correct: the setting does not do what it looks like.
MATTERS = frozenset({UNREAD, TYPO, OBSOLETE, NOT_YET, BAD_VALUE, CONFLICT})
# Of these, the ones that say that the name itself has no effect on a running job.
NO_EFFECT = frozenset({UNREAD, TYPO, OBSOLETE, NOT_YET, BUILD_TIME_ONLY})


@dataclasses.dataclass(frozen=True)
class Assignment:
    """One name that a file sets. line: counted from 1.

    value: as the program sees it; None where only running something would tell, and why says what.
    exported: whether children of the shell see it. Only shells know the difference.
    known: of a value that is None, the part that stands in the file as it is.
    """

    name: str
    value: str | None
    line: int
    why: str = ""
    exported: bool = True
    known: str = ""


@dataclasses.dataclass(frozen=True)
class Note:
    """Something about a file that is no assignment, such as a line that its reader cannot take."""

    line: int
    message: str


@dataclasses.dataclass(frozen=True)
class Parsed:
    """What a file sets, in order. first_wins: the reader keeps a name's first value, as RCCL does."""

    form: str
    assignments: tuple[Assignment, ...]
    notes: tuple[Note, ...] = ()
    unset: frozenset[str] = frozenset()
    first_wins: bool = False

    def effective(self) -> dict[str, Assignment]:
        """Return the assignment of each name that holds at the end, without what the file unsets again."""
        held: dict[str, Assignment] = {}
        for assignment in self.assignments:
            if not (self.first_wins and assignment.name in held):
                held[assignment.name] = assignment
        return {name: assignment for name, assignment in held.items() if name not in self.unset}


@dataclasses.dataclass(frozen=True)
class Finding:
    """What the lint says of one assignment. use_instead: a name, or empty where nothing does the job."""

    name: str
    line: int
    verdict: str
    message: str
    use_instead: str = ""

    def as_dict(self) -> dict[str, str | int]:
        """Return the finding as JSON types."""
        return dataclasses.asdict(self)
