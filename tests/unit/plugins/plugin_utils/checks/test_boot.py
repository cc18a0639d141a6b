# SPDX-License-Identifier: Apache-2.0
"""The checks of boot.py."""

from __future__ import annotations

import pytest
from support.rows import Row, change, changes, each, hole, not_held

from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.boot import iommu_state

PENDING = {"needed": True, "allowed": False, "reasons": ["the running driver is 5.16.9, wanted is 5.18.13"]}


@each(
    {
        "none": Row("ok", observed="none"),
        "pending": Row(
            "fail", "reboot pending: the running driver is 5.16.9", plan=lambda plan: plan.update(reboot=PENDING)
        ),
        "a plan that does not say": Row("unknown", "does not say", plan=lambda plan: plan.pop("reboot")),
        "captured tree without a kernel": Row("skipped", "does not hold", not_held("kernel")),
    }
)
def test_boot_reboot_pending(row: Row) -> None:
    row.assert_holds("boot.reboot_pending")


ABSENT = change("kernel/cmdline", "BOOT_IMAGE=/vmlinuz ro quiet")
NOT_SET = change("kernel/next_cmdline", "quiet")


@each(
    {
        "active": Row("ok", observed="active", required=False, evidence="/proc/cmdline"),
        "switched off": Row("ok", "switched off", change("kernel/cmdline", "ro amd_iommu=off")),
        "pending": Row("warn", "not active", ABSENT, observed="pending"),
        "overridden": Row(
            "warn",
            "takes iommu=pt back",
            changes(change("kernel/cmdline", "ro iommu=pt iommu=soft"), NOT_SET),
            observed="overridden",
        ),
        "absent": Row("warn", "no iommu=pt", changes(ABSENT, NOT_SET), observed="absent"),
        "a container is judged by its host's kernel": Row(
            "warn", "no iommu=pt", changes(ABSENT, NOT_SET, change("system/virtualization", "podman"))
        ),
        "a guest": Row("skipped", "kvm guest", changes(ABSENT, change("system/virtualization", "kvm"))),
        "not readable": Row("unknown", "EACCES", hole("kernel/cmdline", "/proc/cmdline"), required=False),
        "captured tree without a kernel": Row("skipped", "does not hold", not_held("kernel")),
    }
)
def test_boot_iommu_pt(row: Row) -> None:
    row.assert_holds("boot.iommu_pt")


@pytest.mark.parametrize(
    ("cmdline", "state"),
    [
        ("ro iommu=pt", "active"),
        ("iommu=soft iommu=pt", "active"),
        ("iommu=pt iommu=soft", "overridden"),
        ("amd_iommu=on", "absent"),
        ("iommu=off", "off"),
        ("intel_iommu=on iommu=pt", "active"),
        ("xiommu=pt", "absent"),
        ("", "absent"),
    ],
)
def test_the_last_word_of_a_command_line_wins(cmdline: str, state: str) -> None:
    assert iommu_state(cmdline) == state
