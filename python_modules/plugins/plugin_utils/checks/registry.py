# SPDX-License-Identifier: Apache-2.0
"""Keep every check by its id and run them all over one context."""

from __future__ import annotations

import collections.abc as c
import dataclasses

from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.model import (
    OUTCOMES,
    UNKNOWN,
    CheckContext,
    CheckResult,
    Finding,
    skipped,
    unknown,
)

# These areas are null when the node has no such thing, which the checks judge themselves.
NULL_IS_AN_ANSWER = frozenset({"kfd", "tools", "mpi", "deepspeed_ops"})

CheckFunction = c.Callable[[CheckContext], c.Iterable[Finding]]


@dataclasses.dataclass(frozen=True)
class Check:
    """A registered check.

    areas: the parts of the snapshot that it reads, such as "kernel" or "apt.policy". One that a captured
        tree does not hold makes the whole check skipped, with the snapshot's reason; one that is null
        although it was looked at makes it unknown.
    description: the first paragraph of the function's docstring, for docs/checks.md.
    """

    id: str
    title: str
    required: bool
    remedy: str
    areas: tuple[str, ...]
    description: str
    function: CheckFunction

    def run(self, context: CheckContext) -> list[CheckResult]:
        """Return the check's results, at least one.

        A check that breaks on an odd snapshot says unknown and names the error: one strange
        node must not cost the report of the others.
        """
        for area in self.areas:
            why = context.skipped_area(area)
            if why is not None:
                return [self._result(skipped(why))]
            if context.held(area) is None and area not in NULL_IS_AN_ANSWER:
                return [self._result(unknown(context.problem("", area), f"snapshot: {area}"))]
        try:
            findings = list(self.function(context))
        except Exception as error:  # noqa: BLE001 - see the docstring
            reason = f"the check could not judge this snapshot: {type(error).__name__}: {error}"
            findings = [Finding(UNKNOWN, reason=reason, evidence="snapshot")]
        return [self._result(found) for found in findings or [skipped("nothing to judge here")]]

    def _result(self, found: Finding) -> CheckResult:
        if found.outcome not in OUTCOMES:
            raise ValueError(f"{self.id}: {found.outcome!r} is not an outcome")
        return CheckResult(
            id=self.id,
            outcome=found.outcome,
            required=self.required if found.required is None else found.required,
            subject=found.subject,
            expected=found.expected,
            observed=found.observed,
            reason=found.reason,
            remedy=self.remedy if found.remedy is None else found.remedy,
            evidence=found.evidence,
        )


CHECKS: dict[str, Check] = {}


def check(
    check_id: str, title: str, *, areas: tuple[str, ...] = (), required: bool = True, remedy: str
) -> c.Callable[[CheckFunction], CheckFunction]:
    """Register a function as the check of an id such as "pcie.link_width".

    :raises ValueError: the id is taken, or the function has no docstring.
    """

    def register(function: CheckFunction) -> CheckFunction:
        if check_id in CHECKS:
            raise ValueError(f"check {check_id} is registered twice")
        if not function.__doc__:
            raise ValueError(f"check {check_id} has no docstring")
        paragraph = function.__doc__.strip().split("\n\n")[0]
        CHECKS[check_id] = Check(check_id, title, required, remedy, areas, " ".join(paragraph.split()), function)
        return function

    return register


def run_checks(context: CheckContext, only: c.Container[str] | None = None) -> list[CheckResult]:
    """Return the results of every check, or of those named, in the order of their ids."""
    results: list[CheckResult] = []
    for check_id in sorted(CHECKS):
        if only is None or check_id in only:
            results += CHECKS[check_id].run(context)
    return results
