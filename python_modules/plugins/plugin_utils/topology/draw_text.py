# SPDX-License-Identifier: Apache-2.0
"""Draw a node as a tree of text, as lstopo does."""

from __future__ import annotations

import collections.abc as c

from ansible_collections.instinct.bringup.plugins.plugin_utils.topology.picture import Item, Picture

# Takes a text and a state (ok, bad, soft, title) and returns what is printed.
Paint = c.Callable[[str, str], str]


def plain(text: str, state: str) -> str:
    """Paint nothing."""
    return text


def draw_text(picture: Picture, paint: Paint = plain) -> str:
    """Return the tree: two spaces a level, bus id, device, link, and behind each GPU its XGMI neighbours."""
    names = {
        leaf.busid: leaf.name.partition(" ")[0] for box in picture.boxes for item in box.items for leaf in _gpus(item)
    }
    lines = [paint(picture.title, "title")]
    for box in picture.boxes:
        lines.append(paint(box.title, "title"))
        for item in box.items:
            lines += _lines(item, 1, picture, names, paint)
    lines += [paint(f"! {remark}", "soft") for remark in picture.remarks]
    return "\n".join(lines) + "\n"


def _gpus(item: Item) -> list[Item]:
    return [leaf for leaf in item.leaves() if leaf.kind == "gpu"]


def _lines(item: Item, depth: int, picture: Picture, names: dict[str, str], paint: Paint) -> list[str]:
    line = f"{'  ' * depth}{item.busid} {item.name}  {paint(item.link, item.state)}"
    neighbours = _neighbours(item.busid, picture, names, paint) if item.kind == "gpu" else []
    if neighbours:
        line += "  XGMI " + ", ".join(neighbours)
    return [line, *(row for child in item.children for row in _lines(child, depth + 1, picture, names, paint))]


def _neighbours(busid: str, picture: Picture, names: dict[str, str], paint: Paint) -> list[str]:
    result = []
    for bridge in picture.bridges:
        if busid in (bridge.one, bridge.other):
            peer = bridge.other if bridge.one == busid else bridge.one
            result.append(paint(f"{names.get(peer, peer)} {bridge.text}", bridge.state))
    return result
