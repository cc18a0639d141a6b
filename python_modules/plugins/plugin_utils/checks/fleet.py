# SPDX-License-Identifier: Apache-2.0
"""Check a node against the baseline that the site has pinned for its fleet."""

from __future__ import annotations

import collections.abc as c

from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.model import (
    FAIL,
    OK,
    CheckContext,
    Finding,
    skipped,
    unknown,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.registry import check
from ansible_collections.instinct.bringup.plugins.plugin_utils.fleet import TITLES, expected_of, fleet_facts


@check(
    "fleet.as_baseline",
    "The node is like the fleet's baseline",
    required=False,
    remedy=(
        "Bring the node to what the baseline says, or, when the whole fleet has moved on, write the baseline again: "
        "playbooks/capture.yml -e capture_baseline=FILE."
    ),
)
def as_baseline(context: CheckContext) -> c.Iterator[Finding]:
    """Compare GPUs, VBIOS, microcode, links, driver, kernel, RDMA devices and ROCm with bringup_baseline."""
    if context.baseline is None:
        yield skipped("bringup_baseline names no file; the report tells the odd one out by majority")
        return
    facts = fleet_facts(context.snapshot)
    wanted = expected_of(context.baseline, facts)
    evidence = str(context.option("bringup_baseline"))
    if not wanted:
        yield Finding(
            FAIL,
            "",
            "cards of the baseline",
            facts["gpus"] or "no GPU",
            "no node of the baseline has such cards",
            evidence,
        )
    for fact, value in sorted(wanted.items()):
        title, seen = TITLES.get(fact, fact), facts.get(fact, "")
        if not seen:
            yield unknown("the snapshot does not hold it", evidence, title, value)
        elif seen == value:
            yield Finding(OK, title, value, seen, "", evidence)
        else:
            yield Finding(FAIL, title, value, seen, f"{title}: {seen} where the baseline has {value}", evidence)
