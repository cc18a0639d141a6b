# SPDX-License-Identifier: Apache-2.0
"""Find the known name that somebody meant: few edits away, an edit being a letter more, less, other or swapped."""

from __future__ import annotations

import collections.abc as c

# Names this long may be two edits away; of shorter ones too many are alike.
_LONG = 12


def edits(left: str, right: str, limit: int) -> int | None:
    """Return the number of edits between two texts, None where it is above the limit."""
    if abs(len(left) - len(right)) > limit:
        return None
    before: list[int] = []
    row = list(range(len(right) + 1))
    for place, letter in enumerate(left, 1):
        above, before, row = before, row, [place]
        for other_place, other in enumerate(right, 1):
            cost = min(
                before[other_place] + 1,
                row[other_place - 1] + 1,
                before[other_place - 1] + (letter != other),
            )
            if above and other_place > 1 and letter == right[other_place - 2] and left[place - 2] == other:
                cost = min(cost, above[other_place - 2] + 1)
            row.append(cost)
        if min(row) > limit:
            return None
    return row[-1] if row[-1] <= limit else None


class Nearest:
    """Looks names up among those that are known. Letters in common rule most of them out before any edit is counted."""

    def __init__(self, names: c.Iterable[str]) -> None:
        self._names = [(name, _letters(name)) for name in sorted(names)]

    def find(self, name: str) -> str | None:
        """Return the nearest known name, None where none is near. With a tie the first of the alphabet."""
        limit = 2 if len(name) >= _LONG else 1
        letters, best = _letters(name), None
        for known, known_letters in self._names:
            # One edit changes whether a letter occurs for two letters at most.
            if (letters ^ known_letters).bit_count() > 2 * limit or abs(len(known) - len(name)) > limit:
                continue
            distance = _without_ends(name, known, limit)
            if distance is not None and (best is None or distance < best[0]):
                best = (distance, known)
        return best[1] if best else None


def _without_ends(left: str, right: str, limit: int) -> int | None:
    """Count edits between what is left when both ends that agree are taken off."""
    start, shortest = 0, min(len(left), len(right))
    while start < shortest and left[start] == right[start]:
        start += 1
    end = 0
    while end < shortest - start and left[-1 - end] == right[-1 - end]:
        end += 1
    return edits(left[start : len(left) - end], right[start : len(right) - end], limit)


def _letters(name: str) -> int:
    bits = 0
    for letter in name:
        bits |= 1 << (ord(letter) & 63)
    return bits
