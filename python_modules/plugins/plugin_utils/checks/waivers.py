# SPDX-License-Identifier: Apache-2.0
"""Turn failures that a site has accepted until a date into ``waived``, and say when the date is past."""

from __future__ import annotations

import collections.abc as c
import dataclasses
import datetime
import fnmatch
import typing as t

from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.model import FAIL, WAIVED, CheckResult
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.registry import CHECKS

KEYS = ("check", "subject", "until", "reason", "owner")
EXAMPLE = "{check: pcie.link_width, subject: '0000:83:00.0', until: '2027-03-31', reason: riser ordered, owner: ops@example.org}"


def waiver_problems(waivers: object) -> list[str]:
    """Return what is wrong with a profile's bringup_waivers, one sentence each."""
    if not isinstance(waivers, list):
        return [f"bringup_waivers must be a list of entries such as {EXAMPLE}"] if waivers else []
    problems = []
    for number, entry in enumerate(waivers, 1):
        where = f"bringup_waivers, entry {number}"
        if not isinstance(entry, c.Mapping):
            problems.append(f"{where} is {entry!r}, but must be such as {EXAMPLE}")
            continue
        problems += [f"{where} has no {key}" for key in KEYS if key != "subject" and not entry.get(key)]
        problems += [
            f"{where}: unknown key {key}; known are {', '.join(KEYS)}" for key in sorted(set(entry) - set(KEYS))
        ]
        if entry.get("check") and entry["check"] not in CHECKS:
            problems.append(f"{where}: there is no check {entry['check']!r}; docs/checks.md lists them")
        if entry.get("until") and _date(entry["until"]) is None:
            problems.append(f"{where}: until is {str(entry['until'])!r}, but must be a day such as '2027-03-31'")
    return problems


def apply_waivers(
    results: c.Iterable[CheckResult], waivers: c.Sequence[c.Mapping[str, t.Any]], today: datetime.date
) -> list[CheckResult]:
    """Return the results with each failure that a waiver covers as waived, with its reason, owner and date.

    A waiver whose date is past leaves the failure and is named in its reason. A subject may hold * and ?; without one
    the waiver covers every subject of its check.
    """
    return [_apply(result, waivers, today) for result in results]


def _apply(result: CheckResult, waivers: c.Sequence[c.Mapping[str, t.Any]], today: datetime.date) -> CheckResult:
    if result.outcome != FAIL:
        return result
    covering = [waiver for waiver in waivers if _covers(waiver, result)]
    for waiver in covering:
        until = _date(waiver["until"])
        if until is not None and today <= until:
            text = f"waived until {until} by {waiver['owner']}: {waiver['reason']}"
            return dataclasses.replace(result, outcome=WAIVED, reason=f"{text}. Without it: {result.reason}")
    if covering:
        last = covering[-1]
        text = f"{result.reason}; the waiver of {last['owner']} ({last['reason']}) ran out on {_date(last['until'])}"
        return dataclasses.replace(result, reason=text)
    return result


def _covers(waiver: c.Mapping[str, t.Any], result: CheckResult) -> bool:
    subject = str(waiver.get("subject") or "*")
    return waiver["check"] == result.id and (subject == result.subject or fnmatch.fnmatchcase(result.subject, subject))


def _date(value: object) -> datetime.date | None:
    """Return a day; YAML makes a date of an unquoted one, and JSON a text of that."""
    if isinstance(value, datetime.datetime):
        return value.date()
    if isinstance(value, datetime.date):
        return value
    try:
        return datetime.date.fromisoformat(str(value)[:10])
    except ValueError:
        return None
