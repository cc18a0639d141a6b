# SPDX-License-Identifier: Apache-2.0
"""Collect what a purge removes, by kind, and what it leaves, each with its reason."""

from __future__ import annotations

import dataclasses

from ansible_collections.instinct.bringup.plugins.plugin_utils.managed import Change


@dataclasses.dataclass
class PurgeList:
    """Hold what goes and what stays. names: subjects by kind, as the module takes them."""

    changes: list[Change] = dataclasses.field(default_factory=list)
    names: dict[str, list[str]] = dataclasses.field(default_factory=dict)
    kept: list[tuple[str, str]] = dataclasses.field(default_factory=list)

    def add(self, kind: str, subject: str, before: str, reason: str) -> None:
        """Put something on the list, once."""
        if subject in self.names.setdefault(kind, []):
            return
        self.names[kind].append(subject)
        self.changes.append(Change(kind, subject, before, "absent", reason))

    def keep(self, subject: str, reason: str) -> None:
        """Note that something stays although it looks like ROCm."""
        self.kept.append((subject, reason))

    def going(self, kind: str) -> frozenset[str]:
        """Return the subjects of a kind that go."""
        return frozenset(self.names.get(kind, []))
