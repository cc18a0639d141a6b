# SPDX-License-Identifier: Apache-2.0
"""Judge a DeepSpeed config before DeepSpeed does: what it would ignore, drop, misread or stop at."""

from __future__ import annotations

import typing as t

from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.conflicts import conflicts
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.model import (
    AUTO,
    BAD_VALUE,
    DEPRECATED,
    NOT_YET,
    REMOVED,
    UNKNOWN,
    UNKNOWN_KEY,
    WRONG_PARENT,
    Config,
    Finding,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.parse import parse
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.schema import (
    ABSENT,
    GONE,
    NOT_KNOWN,
    OPEN,
    REJECTED,
    Path,
    Schema,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.values import judge

AUTO_WORD = "auto"
MOST_SHOWN = 120


def lint_text(text: str, schema: Schema, trainer: bool = False, world: int | None = None) -> list[Finding]:
    """Return what is wrong with a config's text, in the order of its lines.

    trainer: the Hugging Face Trainer reads it first and fills "auto" in. world: GPUs of the job, if known.
    """
    parsed = parse(text)
    findings = list(parsed.findings)
    if parsed.config is not None:
        # What is no number was said with its own words.
        said = {finding.path for finding in findings if finding.verdict == BAD_VALUE}
        judged = lint_config(parsed.config, schema, trainer, world, parsed.lines)
        findings += [finding for finding in judged if finding.path not in said]
    return sorted(findings, key=lambda finding: finding.line)


def lint_config(
    config: Config,
    schema: Schema,
    trainer: bool = False,
    world: int | None = None,
    lines: t.Mapping[str, int] | None = None,
) -> list[Finding]:
    """Return what is wrong with a config, sections first as they stand, then what does not go together."""
    lint = _Lint(schema, trainer, lines or {})
    lint.section((), config)
    found = {finding.path for finding in lint.findings}
    more = [finding for finding in conflicts(config, trainer, world, lines or {}) if finding.path not in found]
    return [*lint.findings, *more]


def shown_path(dotted: str) -> str:
    """Return a path as it may stand in a message: keys come from anybody's file."""
    text = dotted if dotted.isprintable() else ascii(dotted)[1:-1]
    return text if len(text) <= MOST_SHOWN else text[: MOST_SHOWN - 1] + "…"


def worst(findings: t.Iterable[Finding]) -> list[Finding]:
    """Return the findings for which the config has to be corrected."""
    return [finding for finding in findings if finding.matters]


class _Lint:
    def __init__(self, schema: Schema, trainer: bool, lines: t.Mapping[str, int]) -> None:
        self.schema, self.trainer, self.lines = schema, trainer, lines
        self.findings: list[Finding] = []

    def section(self, section: Path, values: Config) -> None:
        for key, value in values.items():
            kind = self.schema.kind(section, key)
            if kind in (ABSENT, GONE, NOT_KNOWN):
                self._unread(section, key, kind)
            elif value == AUTO_WORD and isinstance(value, str):
                self._auto(section, key, kind)
            else:
                self._value(section, key, kind, value)

    def _value(self, section: Path, key: str, kind: str, value: t.Any) -> None:
        strict = self.schema.extra(section) == REJECTED
        wrong = judge(kind, value, strict, self.schema.truncates)
        if wrong is not None:
            self._add(section, key, BAD_VALUE, wrong.message, wrong.use_instead)
            return
        new = self.schema.deprecated(section, key)
        if new is not None:
            instead = f"; {new} takes its place" if new else ""
            self._add(section, key, DEPRECATED, f"is deprecated, and DeepSpeed warns of it{instead}", new)
        if isinstance(value, dict) and kind != "dict":
            self.section((*section, key), value)

    def _auto(self, section: Path, key: str, kind: str) -> None:
        dotted = ".".join((*section, key))
        filled = dotted in self.schema.trainer
        if filled and self.trainer:
            return
        if kind in ("any", "open", "str") and not filled:
            return
        if self.schema.extra(section) == REJECTED:
            effect = "DeepSpeed drops the word without a warning and takes its default"
        elif section == () and "batch_size" in key:
            effect = "DeepSpeed compares it with a number and stops with a TypeError"
        else:
            effect = "DeepSpeed takes the word as it stands, and the job fails where it computes with it"
        who = "only the Hugging Face Trainer fills it in" if filled else "the Hugging Face Trainer does not fill it in"
        self._add(section, key, AUTO, f'"auto": {who}; {effect}. Write the value')

    def _unread(self, section: Path, key: str, kind: str) -> None:
        """Say of a key that this version does not read what is known about it, the surest first."""
        extra = self.schema.extra(section)
        if kind == NOT_KNOWN:
            self._add(section, key, UNKNOWN, f"whether DeepSpeed {self.schema.version} reads it is not known")
            return
        if kind == GONE:
            self._add(section, key, REMOVED, f"was removed, and DeepSpeed {self.schema.version} stops at it by name")
            return
        advice = self.schema.advice.get(key)
        if advice is not None and extra != OPEN:
            self._add(section, key, UNKNOWN_KEY, advice["text"], advice["use_instead"])
            return
        if extra == OPEN:
            self._open(section, key)
            return
        effect = f"DeepSpeed {self.schema.version} {'stops at it' if extra == REJECTED else 'ignores it'}"
        since, until = self.schema.since(section, key), self.schema.until(section, key)
        homes = self.schema.homes(key)
        if homes:
            named = " or ".join(_place(home) for home in homes)
            message = f"belongs {named}; {_place(section)} {effect}"
            self._add(section, key, WRONG_PARENT, message, ".".join((*homes[0], key)))
        elif until is not None:
            self._add(section, key, REMOVED, f"is not read from {until} on or shortly before; {effect}")
        elif since is not None:
            self._add(section, key, NOT_YET, f"is read from DeepSpeed {since} on or shortly before; {effect}")
        else:
            self._misspelled(section, key, effect)

    def _open(self, section: Path, key: str) -> None:
        """In a section that takes names of its own only a near miss of a known one is worth a word."""
        near = self.schema.nearest(section, key)
        if near is not None:
            self._add(section, key, UNKNOWN, f"is nearly {near}, if that was meant", near)

    def _misspelled(self, section: Path, key: str, effect: str) -> None:
        near = self.schema.nearest(section, key)
        if near is not None:
            self._add(section, key, UNKNOWN_KEY, f"is no key; {effect}. {near} is one", near)
            return
        elsewhere = self.schema.nearest_anywhere(key)
        if elsewhere is not None:
            home, near = elsewhere
            message = f"is no key; {effect}. {near} is one, {_place(home)}"
            self._add(section, key, UNKNOWN_KEY, message, ".".join((*home, near)))
            return
        self._add(section, key, UNKNOWN_KEY, f"is no key that any version from 0.8 to 0.19 reads here; {effect}")

    def _add(self, section: Path, key: str, verdict: str, message: str, use_instead: str = "") -> None:
        dotted = ".".join((*section, key))
        self.findings.append(Finding(self.lines.get(dotted, 0), shown_path(dotted), verdict, message, use_instead))


def _place(section: Path) -> str:
    return f"in {'.'.join(section)}" if section else "at the top"
