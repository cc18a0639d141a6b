# SPDX-License-Identifier: Apache-2.0
"""Check the bridges between cards, from KFD's links: type 11 is XGMI there."""

from __future__ import annotations

import collections.abc as c
import itertools

from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.hardware import (
    KFD_ROOT,
    XGMI_LINK,
    Json,
    card_of,
    kfd_bdf,
    kfd_gpus,
    kfd_hole,
    kfd_pci_id,
    number,
)
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

# The hops that rocm-smi prints are 1 for every XGMI pair: hive ids and links tell more.
EVIDENCE = f"{KFD_ROOT}/*/io_links"


@check(
    "xgmi.hive",
    "The cards are bridged in groups of the declared size, each card linked to every other",
    areas=("kfd",),
    remedy=(
        "Power off and reseat the bridge between the named cards; a bridge for four slots needs four "
        "cards. Declare how the node is wired: gpu_hive_size, 1 for cards without a bridge."
    ),
)
def hive(context: CheckContext) -> c.Iterator[Finding]:
    """Group the cards by hive and compare each group's size and links with gpu_hive_size.

    Without gpu_hive_size the groups are only judged for consistency, and the outcome is warn.
    """
    wanted = context.option("gpu_hive_size") or _only_size(context)
    nodes = kfd_gpus(context)
    if nodes is None:
        reason = "there is no KFD topology: the driver is not loaded"
        found = unknown(reason, KFD_ROOT, expected=f"hives of {wanted}" if wanted else "")
        yield found if wanted else _not_required(found)
        return
    hole = kfd_hole(context) or link_hole(nodes)
    if hole is not None:
        found = unknown(context.problem(hole, "kfd"), hole, expected=f"hives of {wanted}" if wanted else "")
        yield found if wanted else _not_required(found)
        return
    ids = set(context.model["pci_ids"])
    mine = [node for node in nodes if kfd_pci_id(node) in ids]
    if not mine:
        yield skipped(f"no {context.model['title']} in KFD")
        return
    groups = hives(mine)
    full = is_full_mesh(context)
    if wanted:
        for group in groups:
            yield _judge(group, int(wanted), full)
    else:
        yield _consistent(groups, full)


def _only_size(context: CheckContext) -> int | None:
    """Return the hive's size where the model's file knows one only: a board that is soldered so."""
    sizes = context.model.get("hive_sizes") or []
    return int(sizes[0]) if len(sizes) == 1 else None


def is_full_mesh(context: CheckContext) -> bool:
    """Say whether the model's board links every card to every other; xgmi.matrix_expected judges other boards."""
    return str((context.model.get("xgmi") or {}).get("mesh", "full")) == "full"


def link_hole(nodes: list[Json]) -> str | None:
    """Return the folder of a node's links that could not be read, None where all could."""
    return next((f"{KFD_ROOT}/{node['id']}/io_links" for node in nodes if node.get("io_links") is None), None)


def hives(nodes: list[Json]) -> list[list[Json]]:
    """Return the nodes in groups: those of one hive id, else those that links join.

    A driver too old to write hive_id, or a card outside any hive, has hive_id 0.
    """
    linked = _links(nodes)
    groups: list[list[Json]] = []
    for node in nodes:
        joined = [group for group in groups if any(_together(node, other, linked) for other in group)]
        merged = [other for group in joined for other in group] + [node]
        groups = [group for group in groups if group not in joined] + [merged]
    return sorted((sorted(group, key=kfd_bdf) for group in groups), key=lambda group: kfd_bdf(group[0]))


def _links(nodes: list[Json]) -> set[tuple[int, int]]:
    return {
        (int(link.get("node_from", node["id"])), int(link["node_to"]))
        for node in nodes
        for link in node.get("io_links") or []
        if link.get("type") == XGMI_LINK
    }


def _together(one: Json, other: Json, linked: set[tuple[int, int]]) -> bool:
    hive_id = number(one, "hive_id")
    if hive_id and hive_id == number(other, "hive_id"):
        return True
    return (one["id"], other["id"]) in linked or (other["id"], one["id"]) in linked


def _missing_pairs(group: list[Json]) -> list[str]:
    """Return the pairs of one hive without a link in both directions."""
    linked = _links(group)
    return [
        f"{kfd_bdf(one)} and {kfd_bdf(other)}"
        for one, other in itertools.combinations(group, 2)
        if not {(one["id"], other["id"]), (other["id"], one["id"])} <= linked
    ]


def _cards(group: list[Json]) -> list[str]:
    """Return the addresses of a group's cards; partitions of one card count once."""
    return list({card_of(node): kfd_bdf(node) for node in reversed(group)}.values())[::-1]


def _judge(group: list[Json], wanted: int, full: bool) -> Finding:
    cards = _cards(group)
    expected = "a card without a bridge" if wanted == 1 else f"{wanted} cards{', all' if full else ''} linked by XGMI"
    observed = "1 card without a bridge" if len(cards) == 1 else f"{len(cards)} cards"
    missing = _missing_pairs(group) if full else []
    outcome, reason = OK, ""
    if len(cards) < wanted:
        outcome, reason = FAIL, f"{len(cards)} of {wanted} cards are bridged here: a bridge is missing or not seated"
    elif missing:
        outcome, reason = FAIL, f"no XGMI link between {'; '.join(missing[:6])}"
        observed += f", {len(missing)} pairs without a link"
    elif len(cards) > wanted:
        outcome, reason = WARN, "more cards are bridged than gpu_hive_size declares"
    return Finding(outcome, ", ".join(cards), expected, observed, reason, EVIDENCE)


def _consistent(groups: list[list[Json]], full: bool) -> Finding:
    sizes = sorted({len(_cards(group)) for group in groups})
    observed = ", ".join(f"{sum(len(_cards(group)) == size for group in groups)} x {size}" for size in sizes)
    missing = [pair for group in groups for pair in _missing_pairs(group)] if full else []
    reason = "gpu_hive_size is not declared, so the wiring is only judged for consistency: "
    if missing:
        reason += f"no XGMI link between {'; '.join(missing[:6])}"
    elif len(sizes) > 1:
        reason += "the hives are of different sizes"
    else:
        reason += "it is consistent"
    remedy = f"Declare gpu_hive_size: {sizes[0]} if that is how the node is wired." if len(sizes) == 1 else None
    return Finding(WARN, "", "hives of one size", f"hives: {observed}", reason, EVIDENCE, remedy, required=False)


def _not_required(found: Finding) -> Finding:
    return Finding(
        found.outcome, found.subject, found.expected, found.observed, found.reason, found.evidence, required=False
    )
