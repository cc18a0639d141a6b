# SPDX-License-Identifier: Apache-2.0
"""Tell a plan in words: what is done to a node, in which order, and why."""

from __future__ import annotations

import typing as t

# Of a kind with many changes only so many are told one by one; results.json has them all.
TOLD = 6


def plan_text(plan: t.Mapping[str, t.Any], *, check: bool = False) -> str:
    """Return the plan as lines of text. check: nothing will be applied, it is a prediction."""
    lines = [f"{plan['host']}: ROCm {plan['rocm_release']}"]
    if plan["refusals"]:
        lines.append("  refused, nothing is changed:")
        for refusal in plan["refusals"]:
            lines += [
                f"  - {refusal['subject']}: {refusal['seen']}",
                f"      wanted: {refusal['wanted']}",
                f"      do: {refusal['remedy']}",
            ]
        return "\n".join(lines)
    if not plan["steps"]:
        lines.append("  nothing to do")
    for number, step in enumerate(plan["steps"], start=1):
        lines.append(f"  {number}. {step['role']}")
        lines += _changes(step["changes"])
    lines += _tail(plan, check)
    return "\n".join(lines)


def _changes(changes: list[dict[str, str]]) -> list[str]:
    """Group changes by kind and reason: thirty packages of one release are one reason."""
    if not changes:
        return ["       nothing differs here"]
    groups: dict[tuple[str, str], list[dict[str, str]]] = {}
    for change in changes:
        groups.setdefault((change["kind"], change["reason"]), []).append(change)
    lines = []
    for (kind, reason), members in groups.items():
        if len(members) == 1:
            change = members[0]
            lines.append(f"       {kind} {change['subject']}: {change['before']} -> {change['after']}")
        else:
            names = [member["subject"] for member in members[:TOLD]]
            more = f" and {len(members) - TOLD} more" if len(members) > TOLD else ""
            after = {member["after"] for member in members}
            becomes = f" -> {after.pop()}" if len(after) == 1 else ""
            lines.append(f"       {len(members)} x {kind}: {', '.join(names)}{more}{becomes}")
        lines.append(f"         because: {reason}")
    return lines


def _tail(plan: t.Mapping[str, t.Any], check: bool) -> list[str]:
    lines = [f"  stays: {entry['subject']} ({entry['reason']})" for entry in plan["kept"]]
    lines += [f"  note: {note}" for note in plan["notes"]]
    reboot = plan["reboot"]
    if reboot["needed"] and reboot.get("local"):
        lines.append(
            "  reboot needed, but this is a local connection: run `systemctl reboot` yourself, then call the same "
            "command again; it goes on from there: " + "; ".join(reboot["reasons"])
        )
    elif reboot["needed"] and reboot.get("partly"):
        lines.append("  a reboot is left for a run without bringup_only: " + "; ".join(reboot["reasons"]))
    elif reboot["needed"] and not reboot["allowed"]:
        lines.append("  reboot needed, but bringup_reboot is false: " + "; ".join(reboot["reasons"]))
    if check:
        lines.append("  check mode: nothing was changed")
    return lines
