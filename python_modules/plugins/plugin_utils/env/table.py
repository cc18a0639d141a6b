# SPDX-License-Identifier: Apache-2.0
"""Show findings as lines of text for a person."""

from __future__ import annotations

import collections
import textwrap

from ansible_collections.instinct.bringup.plugins.plugin_utils.env import model
from ansible_collections.instinct.bringup.plugins.plugin_utils.env.lint import Lint

_WIDTH = 110


def lint_table(lint: Lint, source: str, release: str) -> list[str]:
    """Return a heading, the findings with those that matter first, the notes, and a count of each verdict."""
    order = {verdict: place for place, verdict in enumerate(model.VERDICTS)}
    lines = [f"{source}, read as {lint.form}, for ROCm {release}"]
    for finding in sorted(lint.findings, key=lambda entry: (order[entry.verdict], entry.line)):
        mark = "x" if finding.verdict in model.MATTERS else " "
        instead = f" Use {finding.use_instead}." if finding.use_instead else ""
        head = f"{mark} {finding.line:>5}  {finding.verdict:<15}  {finding.name}: "
        lines += textwrap.wrap(head + finding.message + instead, _WIDTH, subsequent_indent=" " * 26)
    for note in lint.notes:
        lines += textwrap.wrap(f"  {note.line:>5}  note             {note.message}", _WIDTH, subsequent_indent=" " * 26)
    counts = collections.Counter(finding.verdict for finding in lint.findings)
    told = ", ".join(f"{counts[verdict]} {verdict}" for verdict in model.VERDICTS if counts[verdict])
    return [*lines, told or "no variable of ROCm is set here"]
