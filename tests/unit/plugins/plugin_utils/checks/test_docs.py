# SPDX-License-Identifier: Apache-2.0
"""docs/checks.md is made from the code."""

from __future__ import annotations

from pathlib import Path

from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.docs import render_checks


def test_page_is_current(repository: Path) -> None:
    assert (repository / "docs" / "checks.md").read_text(encoding="utf-8") == render_checks()
