# SPDX-License-Identifier: Apache-2.0
"""Draw a node as SVG: NUMA nodes as boxes, switches as bars, GPUs and network cards, XGMI links as arcs.

The drawing stands within a page and takes its colours from it; every text is escaped.
"""

from __future__ import annotations

import dataclasses
import html

from ansible_collections.instinct.bringup.plugins.plugin_utils.topology.picture import Bridge, Item, NumaBox, Picture

_COLUMN, _GAP = 132, 14
_BAR, _LEAF, _RISE = 22, 46, 34
_MARGIN, _TITLE = 12, 22
# One link is what everybody expects and is not written at every arc.
_PLAIN = "x1"
_COLOURS = {"ok": "currentColor", "bad": "var(--bad, #b3131d)", "soft": "var(--open, #7a4d00)"}


@dataclasses.dataclass(frozen=True)
class _Spot:
    """Hold where the lower edge of a GPU is drawn."""

    x: float
    y: float


@dataclasses.dataclass
class _Canvas:
    parts: list[str] = dataclasses.field(default_factory=list)
    spots: dict[str, _Spot] = dataclasses.field(default_factory=dict)
    width: float = 0

    def box(self, x: float, y: float, width: float, height: float, state: str = "ok", dashed: bool = False) -> None:
        dash = ";stroke-dasharray:4 3" if dashed else ""
        self.parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="4" '
            f'style="fill:none;stroke:{_COLOURS[state]}{dash}"/>'
        )
        self.width = max(self.width, x + width)

    def text(self, x: float, y: float, text: str, state: str = "ok", anchor: str = "middle") -> None:
        weight = ";font-weight:600" if state == "bad" else ""
        self.parts.append(
            f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" style="fill:{_COLOURS[state]}{weight}">'
            f"{html.escape(text)}</text>"
        )

    def line(self, path: str, state: str, title: str, thick: bool = False) -> None:
        dash = ";stroke-dasharray:5 4" if title.endswith("missing") else ""
        self.parts.append(
            f'<path d="{path}" style="fill:none;stroke:{_COLOURS[state]};stroke-width:{2.5 if thick else 1.2}{dash}">'
            f"<title>{html.escape(title)}</title></path>"
        )


def draw_svg(picture: Picture) -> str:
    """Return an svg element, readable without the page's style as well."""
    canvas = _Canvas()
    y = float(_MARGIN)
    for box in picture.boxes:
        y = _draw_box(canvas, box, picture, y) + _GAP
    across = [bridge for bridge in picture.bridges if not _in_one_box(bridge, picture)]
    for bridge in across:
        _draw_across(canvas, bridge)
    width, height = canvas.width + _MARGIN, y
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" role="img" style="font:11px system-ui, sans-serif;max-width:none">'
        f"<title>{html.escape(picture.title)}</title>{''.join(canvas.parts)}</svg>"
    )


def _depth(item: Item) -> int:
    return 1 + max((_depth(child) for child in item.children), default=0)


def _draw_box(canvas: _Canvas, box: NumaBox, picture: Picture, top: float) -> float:
    """Draw a NUMA node and return the y below it."""
    depth = max((_depth(item) for item in box.items), default=1)
    row = top + _TITLE + _RISE + (depth - 1) * (_BAR + _RISE)
    x = float(2 * _MARGIN)
    for item in box.items:
        x = _draw_item(canvas, item, x, top + _TITLE, row)
    inside = [bridge for bridge in picture.bridges if _is_inside(bridge, box)]
    bottom = row + _LEAF
    for bridge in inside:
        bottom = max(bottom, _draw_arc(canvas, bridge))
    height = bottom + _MARGIN - top
    canvas.box(_MARGIN, top, max(x - _GAP, 3 * _COLUMN) - _MARGIN + _MARGIN, height, "soft", dashed=True)
    canvas.text(2 * _MARGIN, top + 15, box.title, anchor="start")
    return top + height


def _draw_item(canvas: _Canvas, item: Item, x: float, top: float, row: float) -> float:
    """Draw a device below the level above it (top) and return the x of what comes next."""
    if item.kind != "bridge":
        middle = x + _COLUMN / 2
        canvas.line(f"M{middle:g} {top:g}V{row:g}", item.state, f"{item.busid} {item.link}")
        canvas.text(middle + 5, (top + row) / 2 + 4, item.short, item.state, anchor="start")
        canvas.box(x, row, _COLUMN, _LEAF, item.state)
        canvas.text(middle, row + 19, item.name)
        canvas.text(middle, row + 35, item.busid)
        canvas.spots[item.busid] = _Spot(middle, row + _LEAF)
        return x + _COLUMN + _GAP
    bar = top + _RISE
    following = x
    for child in item.children:
        following = _draw_item(canvas, child, following, bar + _BAR, row)
    following = max(following, x + _COLUMN + _GAP)
    middle = (x + following - _GAP) / 2
    canvas.line(f"M{middle:g} {top:g}V{bar:g}", item.state, f"{item.busid} {item.link}")
    canvas.text(middle + 5, top + _RISE / 2 + 4, item.short, item.state, anchor="start")
    canvas.box(x, bar, following - _GAP - x, _BAR, item.state)
    canvas.text(middle, bar + 15, item.busid)
    return following


def _is_inside(bridge: Bridge, box: NumaBox) -> bool:
    here = {leaf.busid for item in box.items for leaf in item.leaves()}
    return bridge.one in here and bridge.other in here


def _in_one_box(bridge: Bridge, picture: Picture) -> bool:
    return any(_is_inside(bridge, box) for box in picture.boxes)


def _draw_arc(canvas: _Canvas, bridge: Bridge) -> float:
    """Draw a link below the row of GPUs and return how deep it goes."""
    one, other = canvas.spots[bridge.one], canvas.spots[bridge.other]
    deep = one.y + 14 + abs(one.x - other.x) / 14
    path = f"M{one.x:g} {one.y:g}C{one.x:g} {deep:g} {other.x:g} {deep:g} {other.x:g} {other.y:g}"
    canvas.line(path, bridge.state, f"XGMI {bridge.one} {bridge.other} {bridge.text}", thick=True)
    if bridge.text != _PLAIN:
        canvas.text((one.x + other.x) / 2, deep - 2, bridge.text, bridge.state)
    return deep


def _draw_across(canvas: _Canvas, bridge: Bridge) -> None:
    """Draw a link between two NUMA nodes, from below the upper card to the top of the lower one."""
    one, other = sorted((canvas.spots[bridge.one], canvas.spots[bridge.other]), key=lambda spot: spot.y)
    x, top = other.x - _COLUMN / 3, other.y - _LEAF
    path = f"M{one.x:g} {one.y:g}C{one.x:g} {one.y + _LEAF:g} {x:g} {top - _LEAF:g} {x:g} {top:g}"
    canvas.line(path, bridge.state, f"XGMI {bridge.one} {bridge.other} {bridge.text}", thick=True)
    if bridge.text != _PLAIN:
        canvas.text(one.x + 6, one.y + 14, bridge.text, bridge.state, anchor="start")
