# SPDX-License-Identifier: Apache-2.0
"""Check the topology file that RCCL is given against RCCL's grammar and against the machine."""

from __future__ import annotations

import collections.abc as c

from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.env_sources import place, sources_of, values_of
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
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.topology import TOPOLOGY_PATH
from ansible_collections.instinct.bringup.plugins.plugin_utils.rccl_host import lint_host
from ansible_collections.instinct.bringup.plugins.plugin_utils.rccl_lint import lint_topology, verdict

# How many findings a reason names.
NAMED = 5
_OUTCOMES = {"ok": OK, "ignored": WARN, "incomplete": WARN, "silently_wrong": FAIL, "rejected": FAIL}


@check(
    "rccl.topo_matches_host",
    "RCCL takes the topology file that it is given, and the file is of this machine",
    areas=("watch", "pci.gpus"),
    remedy="Run site.yml, which renders the file from the machine. A file of another machine is worse than none.",
)
def topo_matches_host(context: CheckContext) -> c.Iterator[Finding]:
    """Read the topology file that lies on the node, whoever put it there, as RCCL would, and compare it with the node.

    Compared are bus ids, GPUs, XGMI links, network devices and NUMA nodes. A file that NCCL_TOPO_FILE names
    anywhere else on the node, as images for larger machines do, is judged too.
    """
    yield from _named_elsewhere(context)
    seen = context.snapshot["watch"].get(TOPOLOGY_PATH)
    if seen is None:
        yield unknown(context.problem(TOPOLOGY_PATH), TOPOLOGY_PATH, TOPOLOGY_PATH)
    elif seen["type"] == "absent":
        yield skipped(f"{TOPOLOGY_PATH} is not there: RCCL goes by what it detects")
    elif seen.get("text") is None:
        yield unknown("the file is too large or not text", TOPOLOGY_PATH, TOPOLOGY_PATH)
    else:
        yield _judge(TOPOLOGY_PATH, str(seen["text"]), context)


def _named_elsewhere(context: CheckContext) -> c.Iterator[Finding]:
    """Judge the files that the environment names, beside our own."""
    if not context.snapshot.get("environment"):
        return
    texts = context.snapshot["environment"]["referenced"]
    for source, assignment in values_of(sources_of(context), "NCCL_TOPO_FILE"):
        path, evidence = str(assignment.value), place(source, assignment.line)
        if path == TOPOLOGY_PATH:
            continue
        if path not in texts:
            yield unknown(f"{evidence} names it, and it was not looked at", path, path)
        elif texts[path] is None:
            reason = f"{evidence} names it: RCCL warns, and detects the topology itself"
            yield Finding(FAIL, path, "a file", "absent or no text", reason, evidence)
        else:
            yield _judge(path, str(texts[path]), context)


def _judge(path: str, text: str, context: CheckContext) -> Finding:
    version = str(context.release["rccl"])
    findings = [*lint_topology(text, version), *lint_host(text, version, context.snapshot)]
    above = [finding for finding in findings if finding.severity != "note"]
    told = [f"line {finding.line}: {finding.message}" for finding in above[:NAMED]]
    if len(above) > NAMED:
        told.append(f"and {len(above) - NAMED} more")
    worst = verdict(findings)
    expected = f"a file of this machine that RCCL {version} takes"
    observed = expected if worst == "ok" else worst.replace("_", " ")
    return Finding(_OUTCOMES[worst], path, expected, observed, "; ".join(told), path)
