# SPDX-License-Identifier: Apache-2.0
"""Judge every assignment of a file or an environment for a ROCm release, a GPU model and a node.

Nothing is run and nothing is expanded: a value that a command or another variable makes is said
to be unknown.
"""

from __future__ import annotations

import collections.abc as c
import dataclasses
import typing as t

from ansible_collections.instinct.bringup.plugins.plugin_utils.env import model, parsers
from ansible_collections.instinct.bringup.plugins.plugin_utils.env.conflicts import (
    LIBRARY_PATH,
    Setting,
    find_conflicts,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.env.host import Host
from ansible_collections.instinct.bringup.plugins.plugin_utils.env.model import Assignment, Finding, Note, Parsed
from ansible_collections.instinct.bringup.plugins.plugin_utils.env.names import Names, NameVerdict, names_of
from ansible_collections.instinct.bringup.plugins.plugin_utils.env.references import reference_problem
from ansible_collections.instinct.bringup.plugins.plugin_utils.env.registry import Registry
from ansible_collections.instinct.bringup.plugins.plugin_utils.env.values import Versions, as_integer, value_problem

# What nobody reads through anyway; a file with more is no file of settings.
MOST_FINDINGS = 5000


@dataclasses.dataclass(frozen=True)
class Lint:
    """What the lint says. notes: lines that are no assignment, and what was not looked at."""

    form: str
    findings: tuple[Finding, ...]
    notes: tuple[Note, ...] = ()

    @property
    def matters(self) -> bool:
        """Return whether a finding needs correcting."""
        return any(finding.verdict in model.MATTERS for finding in self.findings)


class Linter:
    """Judges files for one release and node. gpu: the model's entry of the catalog."""

    def __init__(
        self,
        release: str,
        gpu: c.Mapping[str, t.Any] | None = None,
        host: Host | None = None,
        registry: Registry | None = None,
    ) -> None:
        """Take what the files are judged for.

        :raises ValueError: the release is no number with dots.
        """
        self.names = names_of(release) if registry is None else Names(registry, release)
        self.registry = self.names.registry
        self.versions = Versions(release, self.registry.torch(release))
        self.setting = Setting(gpu, self.versions.torch, host or Host())

    def text(self, text: str, path: str = "", form: str = "auto") -> Lint:
        """Judge a file's text. form: a name of parsers.FORMS, or auto to tell by path and text."""
        return self.parsed(parsers.parse(text, parsers.detect(text, path) if form == "auto" else form))

    def parsed(self, parsed: Parsed) -> Lint:
        """Judge what was read from a file."""
        conflicts = find_conflicts(parsed.effective(), self.setting)
        findings: list[Finding] = []
        for assignment in parsed.assignments:
            finding = self._judge(assignment, parsed.form, conflicts)
            if finding is not None:
                findings.append(finding)
            if len(findings) == MOST_FINDINGS:
                note = Note(assignment.line, f"the findings end here, at the first {MOST_FINDINGS}")
                return Lint(parsed.form, tuple(findings), (*parsed.notes, note))
        return Lint(parsed.form, tuple(findings), parsed.notes)

    def _judge(self, assignment: Assignment, form: str, conflicts: c.Mapping[str, str]) -> Finding | None:
        name = assignment.name
        if form == "rccl_conf" and name != name.strip(" \t"):
            name = name.strip(" \t")
        if name == LIBRARY_PATH:
            text = conflicts.get(name)
            return Finding(name, assignment.line, model.CONFLICT, text) if text else None
        odd = _odd_name(assignment.name) if form == "rccl_conf" else ""
        if odd:
            inner = self.names.judge(odd)
            text = (
                f"RCCL takes the whole of {assignment.name!r} for the name: it knows neither comments nor export here"
            )
            return Finding(assignment.name, assignment.line, model.UNREAD, text, odd) if inner else None
        verdict = self.names.judge(name)
        if verdict is None:
            return None
        return self._with_value(assignment, verdict, form, conflicts)

    def _with_value(
        self, assignment: Assignment, verdict: NameVerdict, form: str, conflicts: c.Mapping[str, str]
    ) -> Finding:
        name, value, line = assignment.name, assignment.value, assignment.line
        message = verdict.message
        if not assignment.exported:
            message += " It is not exported here, so no program sees it."
        if verdict.state is None:
            return Finding(name, line, verdict.verdict, message, verdict.use_instead)
        if value is None:
            hidden = f"{message} Its value is {assignment.why}: nothing is run here, so it cannot be judged."
            return Finding(name, line, model.UNKNOWN, hidden)
        state = verdict.state
        problem = value_problem(state.variable, value, state.default, self.versions)
        problem = problem or reference_problem(name, value, self.setting.host)
        if problem:
            return Finding(name, line, model.BAD_VALUE, f"{problem}. {message}")
        if name in conflicts:
            return Finding(name, line, model.CONFLICT, f"{conflicts[name]}. {message}")
        return Finding(name, line, model.OK, message + self._remarks(state.variable.component.id, assignment, form))

    def _remarks(self, component: str, assignment: Assignment, form: str) -> str:
        """Return what else is worth knowing of a value that is taken."""
        text, value = "", assignment.value or ""
        if value[:2].lower() == "0x":
            text += f" {value} is {as_integer(value)}."
        gfx = (self.setting.gpu or {}).get("gfx")
        concerned = {entry for variable in self.registry.variables[assignment.name] for entry in variable.gfx}
        if concerned and gfx not in concerned:
            text += f" It concerns {', '.join(sorted(concerned))} only."
        read_by_rccl = self.registry.components["rccl"] in [
            state.variable.component
            for state in self.registry.states(assignment.name, self.versions.rocm)
            if state.kind == "read"
        ]
        if form == "rccl_conf" and not read_by_rccl:
            text += " RCCL opens this file after that was read: it must stand in the environment as well."
        return text


def _odd_name(name: str) -> str:
    """Return the name that is meant in a line of rccl.conf such as "# NCCL_DEBUG" or "export NCCL_DEBUG"."""
    bare = name.strip()
    for mark in ("#", "export "):
        if bare.startswith(mark):
            return bare[len(mark) :].strip()
    return ""
