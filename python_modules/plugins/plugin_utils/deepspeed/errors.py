# SPDX-License-Identifier: Apache-2.0
"""What the renderers of DeepSpeed's files raise."""

from __future__ import annotations

import collections.abc as c
import typing as t


class ConfigError(ValueError):
    """Say which option or host cannot be used, and what it should be."""


class Reason(t.NamedTuple):
    """One thing that stands against the files: what was seen, what is wanted, and what to do."""

    id: str
    subject: str
    seen: str
    wanted: str
    remedy: str


class ConfigRefused(ConfigError):
    """Say everything that stands against the files at once."""

    def __init__(self, reasons: c.Sequence[Reason]) -> None:
        self.reasons = tuple(reasons)
        super().__init__("; ".join(f"{reason.subject}: {reason.seen}" for reason in reasons))
