# SPDX-License-Identifier: Apache-2.0
"""docs/checks.md is made from the code."""

from __future__ import annotations

from pathlib import Path

from ansible_collections.instinct.bringup.plugins.plugin_utils.checks import CHECKS
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.docs import render_checks, skip_reasons


def test_page_is_current(repository: Path) -> None:
    assert (repository / "docs" / "checks.md").read_text(encoding="utf-8") == render_checks()


def test_every_check_is_on_the_page_with_what_it_reads_and_its_remedy() -> None:
    page = render_checks()
    for check_id, check in CHECKS.items():
        assert f"### {check_id}\n" in page
        assert f"Remedy: {check.remedy}\n" in page


def test_reasons_for_skipping_come_from_the_check_and_its_helpers() -> None:
    assert skip_reasons(CHECKS["pcie.acs_redirect"].function) == [
        "no … on PCI",
        "a hypervisor owns the bus: what the guest shows of it is not how it is set",
        "… is shared with guests (SR-IOV), which ACS keeps apart",
    ]
