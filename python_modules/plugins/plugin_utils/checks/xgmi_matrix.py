# SPDX-License-Identifier: Apache-2.0
"""Check which cards of a hive are linked to which: the hops that tools print are 1 for every pair."""

from __future__ import annotations

import collections.abc as c
import itertools

from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.hardware import (
    KFD_ROOT,
    Json,
    card_of,
    kfd_bdf,
    kfd_gpus,
    kfd_hole,
    kfd_pci_id,
    xgmi_peers,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.mesh import best_fit, full_mesh
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.model import (
    FAIL,
    OK,
    WARN,
    CheckContext,
    Finding,
    skipped,
    unknown,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.registry import check
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.xgmi import hives, link_hole

EVIDENCE = f"{KFD_ROOT}/*/io_links"
NAMED = 6


@check(
    "xgmi.matrix_expected",
    "The cards of each hive are linked as their board is made",
    areas=("kfd",),
    remedy=(
        "Power off and reseat the bridge, or the OAM modules, of the named pairs. A board of another make declares its "
        "own wiring in a catalog file of its model: xgmi."
    ),
)
def matrix_expected(context: CheckContext) -> c.Iterator[Finding]:
    """Compare KFD's direct XGMI links with the mesh of the model's file, and each link with its way back.

    A pair that is only reached through another card counts as not linked.
    """
    nodes = kfd_gpus(context)
    if nodes is None:
        yield unknown("there is no KFD topology: the driver is not loaded", KFD_ROOT)
        return
    hole = kfd_hole(context) or link_hole(nodes)
    if hole is not None:
        yield unknown(context.problem(hole, "kfd"), hole)
        return
    ids = set(context.model["pci_ids"])
    mine = [node for node in nodes if kfd_pci_id(node) in ids]
    groups = [group for group in hives(mine) if len(group) > 1]
    if not groups:
        yield skipped(f"no two cards of {context.model['title']} are in one hive")
    for group in groups:
        yield _judge(context, group)


def _judge(context: CheckContext, group: list[Json]) -> Finding:
    cards = list(dict.fromkeys(card_of(node) for node in group))
    subject = (
        ", ".join(dict.fromkeys(kfd_bdf(node) for node in group)) if len(cards) == len(group) else ", ".join(cards)
    )
    direct = xgmi_peers(group)
    positions = {node["id"]: index for index, node in enumerate(group)}
    inside = {(positions[one], positions[other]) for one, other in direct if one in positions and other in positions}
    one_way = sorted((one, other) for one, other in inside if (other, one) not in inside)
    seen = {(min(edge), max(edge)) for edge in inside if (edge[1], edge[0]) in inside}
    mesh = _mesh(context, len(group))
    if one_way:
        names = _names(group, one_way)
        return Finding(FAIL, subject, "links in both directions", "one way", f"linked one way only: {names}", EVIDENCE)
    if mesh is None:
        return _like_each_other(context, group, subject, seen)
    missing, surplus = best_fit(mesh, seen, len(group))
    expected = f"{len(mesh)} linked pairs"
    observed = f"{len(seen)} linked pairs"
    if missing:
        reason = f"no direct XGMI link between {_names(group, missing)}"
        return Finding(FAIL, subject, expected, observed, reason, EVIDENCE)
    if surplus:
        reason = f"more links than the board of the model's file has: {_names(group, surplus)}"
        return Finding(WARN, subject, expected, observed, reason, EVIDENCE)
    return Finding(OK, subject, expected, observed, "", EVIDENCE)


def _mesh(context: CheckContext, size: int) -> list[tuple[int, int]] | None:
    """Return the mesh of so many cards of the model, None where its file knows none of this size."""
    wiring = context.model.get("xgmi") or {"mesh": "full"}
    if wiring["mesh"] == "full":
        return full_mesh(size)
    edges = (wiring.get("edges") or {}).get(size)
    return [(int(one), int(other)) for one, other in edges] if edges else None


def _like_each_other(context: CheckContext, group: list[Json], subject: str, seen: set[tuple[int, int]]) -> Finding:
    lonely = [position for position in range(len(group)) if not any(position in edge for edge in seen)]
    reason = f"the model's file knows no mesh of {len(group)} GPUs: only judged for GPUs without any link"
    if lonely:
        names = ", ".join(kfd_bdf(group[position]) for position in lonely)
        return Finding(FAIL, subject, "every GPU linked", f"{names} without a link", reason, EVIDENCE)
    return Finding(WARN, subject, "every GPU linked", f"{len(seen)} linked pairs", reason, EVIDENCE)


def _names(group: list[Json], edges: list[tuple[int, int]]) -> str:
    pairs = [f"{kfd_bdf(group[one])} and {kfd_bdf(group[other])}" for one, other in edges]
    more = f"; and {len(pairs) - NAMED} more pairs" if len(pairs) > NAMED else ""
    return "; ".join(itertools.islice(pairs, NAMED)) + more
