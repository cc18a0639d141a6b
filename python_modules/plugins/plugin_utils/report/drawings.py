# SPDX-License-Identifier: Apache-2.0
"""Draw and explain the topology of a run's nodes, from the snapshots in its folder."""

from __future__ import annotations

import collections.abc as c
import dataclasses
import functools

from ansible_collections.instinct.bringup.plugins.module_utils.rccl_topology import build_topology, render_xml
from ansible_collections.instinct.bringup.plugins.plugin_utils.catalog import UnknownEntry, default_catalog
from ansible_collections.instinct.bringup.plugins.plugin_utils.report.run_folder import RunFolder, read_snapshot
from ansible_collections.instinct.bringup.plugins.plugin_utils.topology.draw_svg import draw_svg
from ansible_collections.instinct.bringup.plugins.plugin_utils.topology.explain import (
    explain_topology,
    explanation_text,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.topology.picture import picture_of


@dataclasses.dataclass(frozen=True)
class Drawing:
    """Hold a node's drawing, an svg element, and what RCCL plans on it as text."""

    svg: str
    text: str


def drawings_of(folder: RunFolder, hosts: c.Iterable[str]) -> dict[str, Drawing]:
    """Return the drawings of those hosts of which the run has a snapshot with GPUs."""
    try:
        version = str(default_catalog().release(folder.info.get("rocm_release"))["rccl"])
    except UnknownEntry:
        return {}
    drawn = {host: _drawing(folder, host, version) for host in hosts}
    return {host: drawing for host, drawing in drawn.items() if drawing is not None}


def _drawing(folder: RunFolder, host: str, version: str) -> Drawing | None:
    try:
        snapshot = read_snapshot(folder.path, host)
        topology = build_topology(snapshot, version)
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        # No snapshot, no topology for RCCL, or a damaged file: a report is made without the drawing.
        return None
    return Drawing(draw_svg(picture_of(host, topology, snapshot)), _explained(render_xml(topology), version))


@functools.lru_cache(maxsize=64)
def _explained(xml: str, version: str) -> str:
    """Return what RCCL plans on a topology: the machines of a rack have the same one, and share the answer."""
    return explanation_text(explain_topology(xml, version))
