# SPDX-License-Identifier: Apache-2.0
"""Expand what RCCL is told of interfaces and adapters, by RCCL's rules: prefixes, = for exact, ^ for not."""

from __future__ import annotations

import collections.abc as c
import dataclasses


@dataclasses.dataclass(frozen=True)
class Selection:
    """What a list selects. matches: item to the names it stands for; with exclude these are left out."""

    exclude: bool
    exact: bool
    matches: c.Mapping[str, tuple[str, ...]]
    chosen: tuple[str, ...]


def select_interfaces(value: str, names: c.Sequence[str]) -> Selection:
    """Return what NCCL_SOCKET_IFNAME selects among a node's interfaces."""
    exclude, exact, items = _list(value)
    matches = {
        item: tuple(name for name in names if (name == item if exact else name.startswith(item))) for item in items
    }
    return _selection(exclude, exact, matches, names)


def select_hcas(value: str, hcas: c.Mapping[str, tuple[int, ...]]) -> Selection:
    """Return what NCCL_IB_HCA selects among a node's adapters, as adapter:port. hcas: adapter to its ports."""
    exclude, exact, items = _list(value)
    ports = [(name, port) for name, numbers in hcas.items() for port in numbers or (1,)]
    matches = {}
    for item in items:
        wanted, _colon, number = item.partition(":")
        matches[item] = tuple(
            f"{name}:{port}"
            for name, port in ports
            if (name == wanted if exact else name.startswith(wanted)) and number in ("", str(port))
        )
    return _selection(exclude, exact, matches, [f"{name}:{port}" for name, port in ports])


def _list(value: str) -> tuple[bool, bool, list[str]]:
    exclude = value.startswith("^")
    rest = value[exclude:]
    exact = rest.startswith("=")
    return exclude, exact, [item for item in rest.lstrip("=").split(",") if item]


def _selection(
    exclude: bool, exact: bool, matches: c.Mapping[str, tuple[str, ...]], names: c.Sequence[str]
) -> Selection:
    hit = {name for found in matches.values() for name in found}
    return Selection(exclude, exact, matches, tuple(name for name in names if (name in hit) != exclude))
