# SPDX-License-Identifier: Apache-2.0
"""The checks of boot.py."""

from __future__ import annotations

from typing import Any

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


def TRANSLATES(snapshot: dict[str, Any]) -> None:
    snapshot["iommu"]["gpu_types"] = dict.fromkeys(snapshot["iommu"]["gpu_types"], "DMA-FQ")


@each(
    {
        "active": Row("ok", observed="active", required=False, evidence="/proc/cmdline"),
        "switched off": Row("ok", "switched off", change("kernel/cmdline", "ro amd_iommu=off")),
        "pending": Row("fail", "not active", changes(ABSENT, TRANSLATES), observed="pending"),
        "set, but a GPU's group translates": Row(
            "fail", "of type DMA-FQ", TRANSLATES, observed="translating", evidence="/sys/kernel/iommu_groups"
        ),
        "the kernel's default passes through": Row("ok", "kernel's default", changes(ABSENT, NOT_SET)),
        "switched off in the BIOS": Row(
            "ok", "no IOMMU at work", changes(ABSENT, NOT_SET, change("iommu", {"units": [], "gpu_types": {}}))
        ),
        "no group type is shown, as on an old kernel": Row(
            "fail", "no iommu=pt", changes(ABSENT, NOT_SET, change("iommu/gpu_types", {})), observed="absent"
        ),
        "an Intel host": Row(
            "fail",
            "no intel_iommu=on iommu=pt",
            changes(ABSENT, NOT_SET, TRANSLATES, change("cpu/vendor", "GenuineIntel")),
        ),
        "one GPU": Row(
            "warn",
            "with one GPU",
            changes(ABSENT, NOT_SET, TRANSLATES, lambda snapshot: snapshot["pci"]["gpus"].__delitem__(slice(1, None))),
        ),
        "overridden": Row(
            "fail",
            "takes iommu=pt back",
            changes(change("kernel/cmdline", "ro iommu=pt iommu=soft"), NOT_SET, TRANSLATES),
            observed="overridden",
        ),
        "absent": Row("fail", "no iommu=pt", changes(ABSENT, NOT_SET, TRANSLATES), observed="absent"),
        "a container is judged by its host's kernel": Row(
            "fail", "no iommu=pt", changes(ABSENT, NOT_SET, TRANSLATES, change("system/virtualization", "podman"))
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
