# SPDX-License-Identifier: Apache-2.0
"""Tell results in words: one sentence for a node, one table for a run."""

from __future__ import annotations

import collections
import collections.abc as c
import typing as t

Json = c.Mapping[str, t.Any]

# What a sentence and a table name one by one; results.json has them all.
TOLD = 5
# Of one node alone, or of a whole fleet.
TOLD_AT_LENGTH = 2 * TOLD
# The areas of checks about cards, slots, bridges and boards.
HARDWARE = frozenset({"fw", "numa", "pcie", "ras", "xgmi"})


def decisive(checks: c.Iterable[Json]) -> list[Json]:
    """Return the checks that keep their node from the verdict pass.

    What somebody has to open the machine for comes first: no playbook mends it. What the plan would change comes
    last: often it follows from what another check names.
    """
    found = [
        check
        for check in checks
        if check["outcome"] == "fail" or (check["outcome"] == "unknown" and bool(check["required"]))
    ]
    return sorted(found, key=rank)


def rank(check: Json) -> int:
    """Return where a check stands among those of one outcome, 0 first."""
    if str(check["id"]).split(".", 1)[0] in HARDWARE:
        return 0
    return 2 if is_consequence(check) else 1


def is_consequence(check: Json) -> bool:
    """Say whether a check only tells that the plan is not empty."""
    return str(check["id"]).startswith("managed.")


def check_sentence(check: Json) -> str:
    """Return a check in one line: what, where, seen, wanted, read from."""
    subject = f" {check['subject']}" if check["subject"] else ""
    observed = check["observed"] or check["outcome"]
    wanted = f", expected {check['expected']}" if check["expected"] else ""
    reason = f": {check['reason']}" if check["reason"] else ""
    evidence = f" [{check['evidence']}]" if check["evidence"] else ""
    return f"{check['id']}{subject}: {observed}{wanted}{reason}{evidence}"


def verdict_reason(verdict: str, checks: c.Sequence[Json]) -> str:
    """Return why a node has its verdict, in one line."""
    counts = collections.Counter(check["outcome"] for check in checks)
    if verdict == "pass":
        warnings = ", ".join(dict.fromkeys(str(check["id"]) for check in checks if check["outcome"] == "warn"))
        warned = f", {counts['warn']} warned of ({warnings})" if warnings else ""
        waived = f", {counts['waived']} waived" if counts["waived"] else ""
        return f"{counts['ok']} checks are well{warned}{waived}, {counts['skipped']} do not apply"
    outcome = "fail" if verdict == "fail" else "unknown"
    names = [check["id"] for check in decisive(checks) if check["outcome"] == outcome]
    listed = ", ".join(dict.fromkeys(names))
    what = "failed" if outcome == "fail" else "could not be judged"
    return f"{len(names)} of {len(checks)} checks {what}: {listed}"


def failure_message(host: str, verdict: str, checks: c.Sequence[Json]) -> str:
    """Return what Ansible prints of a node that did not pass: each decisive check with what to do."""
    found = decisive(checks)
    lines = [f"{host} is {verdict}: {verdict_reason(verdict, checks)}"]
    for check in found[:TOLD_AT_LENGTH]:
        lines += [f"- {check_sentence(check)}", f"    do: {check['remedy']}"]
    if len(found) > TOLD_AT_LENGTH:
        lines.append(f"and {len(found) - TOLD_AT_LENGTH} more; the run's report has them all")
    return "\n".join(lines)


def summary_table(results: Json) -> str:
    """Return the end of a run: a line for each node, below it what failed there."""
    nodes = results["nodes"]
    width = max([len("node"), *(len(host) for host in nodes)])
    lines = [f"{'node':<{width}}  {'verdict':<12}  why"]
    for host, node in nodes.items():
        lines.append(f"{host:<{width}}  {node['verdict']:<12}  {node['reason']}")
        found = decisive(node["checks"])
        lines += [f"{'':<{width}}    {check_sentence(check)}" for check in found[:TOLD]]
        if len(found) > TOLD:
            lines.append(f"{'':<{width}}    and {len(found) - TOLD} more")
        # A waiver is shown every time, or nobody takes it back.
        waived = [check for check in node["checks"] if check["outcome"] == "waived"]
        lines += [f"{'':<{width}}    waived {check_sentence(check)}" for check in waived]
    odd = results.get("fleet") or []
    lines += ["", "unlike the other nodes:"] * bool(odd)
    lines += [f"  {one['sentence']}" for one in odd[:TOLD_AT_LENGTH]]
    if len(odd) > TOLD_AT_LENGTH:
        lines.append(f"  and {len(odd) - TOLD_AT_LENGTH} more; the run's report has them all")
    counts = [f"{number} {verdict}" for verdict, number in results["summary"].items() if verdict != "nodes" and number]
    number = results["summary"]["nodes"]
    lines.append(f"{number} node{'' if number == 1 else 's'}: {', '.join(counts) or 'none'}")
    return "\n".join(lines)
