# SPDX-License-Identifier: Apache-2.0
"""Say what a check is given and what it gives back."""

from __future__ import annotations

import collections.abc as c
import dataclasses
import functools
import typing as t

from ansible_collections.instinct.bringup.plugins.plugin_utils.catalog import Catalog

OK = "ok"
WARN = "warn"
FAIL = "fail"
SKIPPED = "skipped"
UNKNOWN = "unknown"
WAIVED = "waived"
# The worst first: the order in which a report shows them.
OUTCOMES = (FAIL, UNKNOWN, WARN, WAIVED, OK, SKIPPED)


@dataclasses.dataclass(frozen=True)
class CheckResult:
    """One line of a report, as results.json holds it.

    subject: what was judged, such as a BDF, a package or a path.
    evidence: the very file, or the command's name, that the observed value was read from.
    """

    id: str
    outcome: str
    required: bool
    subject: str
    expected: str
    observed: str
    reason: str
    remedy: str
    evidence: str

    def as_dict(self) -> dict[str, t.Any]:
        """Return the result as JSON types."""
        return dataclasses.asdict(self)


@dataclasses.dataclass(frozen=True)
class Finding:
    """What a check's function says about one subject; the registry adds id, title and remedy.

    remedy: replaces the check's own remedy where this finding asks for another.
    required: replaces the check's own, for what is judged only when the site declared it.
    """

    outcome: str
    subject: str = ""
    expected: str = ""
    observed: str = ""
    reason: str = ""
    evidence: str = ""
    remedy: str | None = None
    required: bool | None = None


def skipped(reason: str, subject: str = "") -> Finding:
    """Say that a check does not apply here, and why."""
    return Finding(SKIPPED, subject=subject, reason=reason)


def unknown(reason: str, evidence: str, subject: str = "", expected: str = "") -> Finding:
    """Say that a check wanted to look and could not, and why."""
    return Finding(UNKNOWN, subject, expected, "not readable", reason, evidence)


@dataclasses.dataclass(frozen=True)
class CheckContext:
    """What every check reads: the profile, the catalog, a snapshot and a fresh plan made of both.

    baseline: what the site has pinned for its fleet, None without one.
    Nothing here is read from a node or from a disk: the same values give the same results.
    """

    profile: c.Mapping[str, t.Any]
    catalog: Catalog
    snapshot: c.Mapping[str, t.Any]
    plan: c.Mapping[str, t.Any]
    baseline: c.Mapping[str, t.Any] | None = None

    def option(self, name: str, default: t.Any = None) -> t.Any:
        """Return an option of the profile, or the default where it is not declared."""
        try:
            value = self.profile[name]
        except KeyError:
            return default
        return default if value is None else value

    @functools.cached_property
    def release(self) -> dict[str, t.Any]:
        """Return the catalog's entry of the profile's ROCm release."""
        return self.catalog.release(self.option("rocm_release"))

    @functools.cached_property
    def model(self) -> dict[str, t.Any]:
        """Return the catalog's entry of the profile's GPU model."""
        return self.catalog.gpu(self.option("gpu_model"))

    def held(self, area: str) -> t.Any:
        """Return a part of the snapshot such as "apt.policy", None where it holds none."""
        value: t.Any = self.snapshot
        for key in area.split("."):
            value = value.get(key) if value is not None else None
        return value

    def skipped_area(self, area: str) -> str | None:
        """Return why a part of the snapshot was not looked at, None where it was."""
        held_back = self.snapshot.get("skipped") or {}
        for name in (area.partition(".")[0], area):
            if name in held_back:
                return f"{name} was not looked at: {held_back[name]}"
        return None

    def unreadable(self, path: str) -> str | None:
        """Return why a path could not be read, None where nothing hindered it."""
        for entry in self.snapshot.get("problems") or []:
            if entry.get("path") == path:
                return str(entry.get("message") or "not readable")
        return None

    def problem(self, path: str, area: str = "") -> str:
        """Return why a path could not be read, as the snapshot tells it.

        Falls back on the first problem of the area, then on a plain sentence.
        """
        reason = self.unreadable(path) if path else None
        if reason is not None:
            return reason
        for entry in self.snapshot.get("problems") or []:
            if area and entry.get("area") == area.partition(".")[0]:
                return f"{entry.get('path')}: {entry.get('message')}"
        return "the snapshot does not hold it"


def verdict(results: c.Iterable[CheckResult]) -> str:
    """Return a node's verdict: fail if any check fails, unknown if a required one is, else pass."""
    listed = list(results)
    if any(result.outcome == FAIL for result in listed):
        return "fail"
    if any(result.required and result.outcome == UNKNOWN for result in listed):
        return "unknown"
    return "pass"
