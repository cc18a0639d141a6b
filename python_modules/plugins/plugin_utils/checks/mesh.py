# SPDX-License-Identifier: Apache-2.0
"""Compare the links of a hive with the mesh that the model's board has, whichever card is which in it.

Nothing tells which GCD of a board a GPU is, so that the two graphs are laid over each other in the way that
leaves the fewest pairs without their link.
"""

from __future__ import annotations

import collections.abc as c

Edge = tuple[int, int]


def full_mesh(size: int) -> list[Edge]:
    """Return every pair of so many cards."""
    return [(one, other) for one in range(size) for other in range(one + 1, size)]


def best_fit(expected: c.Sequence[Edge], seen: c.Set[Edge], size: int) -> tuple[list[Edge], list[Edge]]:
    """Return the pairs that lack their link and those that have one too many, in the best way to lay the mesh.

    expected, seen: links between positions 0 to size - 1, each once and the smaller first. Up to eight cards
    take milliseconds; the search stops at the first fit without a difference.
    """
    wanted = {frozenset(edge) for edge in expected}
    there = {frozenset(edge) for edge in seen}
    if len(wanted) == size * (size - 1) // 2:
        # A full mesh lies in one way only, and partitions make it large.
        return _sorted(wanted - there), []
    degree_wanted = [sum(place in edge for edge in wanted) for place in range(size)]
    degree_there = [sum(place in edge for edge in there) for place in range(size)]
    best: list[int] = list(range(size))
    lowest = len(wanted) + len(there) + 1
    # The best-linked cards first: they leave the fewest ways.
    order = sorted(range(size), key=lambda place: -degree_wanted[place])

    def search(step: int, taken: dict[int, int], cost: int) -> None:
        nonlocal best, lowest
        if cost >= lowest:
            return
        if step == size:
            lowest, best = cost, [taken[place] for place in range(size)]
            return
        place = order[step]
        free = [card for card in range(size) if card not in taken.values()]
        for card in sorted(free, key=lambda card: abs(degree_there[card] - degree_wanted[place])):
            differs = sum(
                (frozenset((place, other)) in wanted) != (frozenset((card, taken[other])) in there) for other in taken
            )
            search(step + 1, {**taken, place: card}, cost + differs)
            if lowest == 0:
                return

    search(0, {}, 0)
    laid = {frozenset(best[place] for place in edge) for edge in wanted}
    return _sorted(laid - there), _sorted(there - laid)


def _sorted(edges: c.Iterable[frozenset[int]]) -> list[Edge]:
    pairs = [sorted(edge) for edge in edges]
    return sorted((pair[0], pair[1]) for pair in pairs)
