# SPDX-License-Identifier: Apache-2.0
"""The checks of pcie_bus.py. CASES H-01 (windows), R-02 (ACS)."""

from __future__ import annotations

from typing import Any

from support.rows import Row, change, changes, each, hole, not_held

GPU = "pci/gpus/0"
BDF = "0000:03:00.0"
ROOT = "0000:00:01.1"
PCI = "/sys/bus/pci/devices"


def event(kind: str, text: str, detail: str | None = None, bdf: str = BDF) -> Any:
    return change("kernel_log/events", [{"kind": kind, "bdf": bdf, "detail": detail, "text": text}])


@each(
    {
        "large": Row("ok", observed="64 GiB", expected="BAR 0 of 64 GiB or more"),
        "H-01, no address": Row(
            "fail",
            "BAR 0 has no address",
            changes(
                change(f"{GPU}/bars", [{"index": 0, "start": 0, "size": 0}]),
                event("bar_no_space", "BAR 0: no space for [mem size 0x1000000000 64bit pref]", "0"),
            ),
            subject=BDF,
            observed="not assigned",
            evidence=f"{PCI}/{BDF}/resource",
        ),
        "H-01, small": Row(
            "warn",
            "smaller than",
            change(f"{GPU}/bars", [{"index": 0, "start": 1, "size": 1 << 28}]),
            observed="256 MiB",
        ),
        "another window has none": Row(
            "fail",
            "BAR 2 has no address",
            change(f"{GPU}/bars", [{"index": 0, "start": 1, "size": 1 << 36}, {"index": 2, "start": 0, "size": 0}]),
        ),
        "not readable": Row("unknown", "EACCES", hole(f"{GPU}/bars", f"{PCI}/{BDF}/resource")),
        "no such card": Row("skipped", "no AMD Instinct MI210", change("pci/gpus", [])),
        "captured tree without PCI": Row("skipped", "does not hold", not_held("pci")),
    }
)
def test_bar_assigned(row: Row) -> None:
    row.assert_holds("pcie.bar_assigned")


@each(
    {
        "routed": Row("ok", observed="routed", required=False),
        "a port does not route": Row(
            "fail", "does not route", change(f"{GPU}/path/1/atomics/routing", False), subject=BDF, observed="not routed"
        ),
        "the root port does not complete": Row(
            "fail",
            "does not complete",
            changes(
                change(f"{GPU}/path/2/atomics/completer_32", False), change(f"{GPU}/path/2/atomics/completer_64", False)
            ),
        ),
        "the root port need not route": Row("ok", change=change(f"{GPU}/path/2/atomics/routing", False)),
        "not switched on": Row("warn", "has not switched", change(f"{GPU}/atomics/requester", False)),
        "the log says so": Row("fail", "not supported", event("atomics_missing", "PCIE atomic ops is not supported")),
        "not readable": Row("unknown", "EACCES", hole(f"{GPU}/path/1/atomics", f"{PCI}/0000:01:00.0/config")),
        "no way up": Row("unknown", "not known", change(f"{GPU}/path", [])),
        "a guest": Row("skipped", "hypervisor", change("system/virtualization", "kvm")),
        "captured tree without PCI": Row("skipped", "does not hold", not_held("pci")),
    }
)
def test_atomics(row: Row) -> None:
    row.assert_holds("pcie.atomics")


@each(
    {
        "off": Row("ok", required=False),
        "R-02, requests": Row(
            "fail", "redirected at 0000:00:01.1", change(f"{GPU}/path/2/acs/request_redirect", True), subject=BDF
        ),
        "R-02, completions": Row("fail", "redirected", change(f"{GPU}/path/0/acs/completion_redirect", True)),
        "R-02, source validation alone": Row("ok", change=change(f"{GPU}/path/2/acs/source_validation", True)),
        "R-02, as a user": Row(
            "unknown",
            "for root",
            hole(f"{GPU}/path/2/acs", f"{PCI}/{ROOT}/config", "only 64 bytes: the rest is for root"),
        ),
        "a port without access control": Row("ok", change=change(f"{GPU}/path/1/acs", {"present": False})),
        "guests own the cards": Row("skipped", "SR-IOV", change(f"{GPU}/health/sriov_vfs", 2)),
        "a guest": Row("skipped", "hypervisor", change("system/virtualization", "kvm")),
        "no such card": Row("skipped", "no AMD Instinct MI210", change("pci/gpus", [])),
    }
)
def test_acs_redirect(row: Row) -> None:
    row.assert_holds("pcie.acs_redirect")


@each(
    {
        "none": Row("ok", observed="0"),
        "on the card": Row("fail", "2 fatal errors", change(f"{GPU}/aer/fatal", 2), observed="2"),
        "on a port": Row("fail", f"at {ROOT}", change(f"{GPU}/path/2/aer/fatal", 1)),
        "in the log, from the firmware": Row("fail", "device_id", event("aer", f"device_id: {BDF}", "fatal")),
        "in the log, not fatal": Row("ok", change=event("aer", "severity", "Uncorrected (Non-Fatal)")),
        "not fatal": Row("warn", "1 errors", change(f"{GPU}/aer/nonfatal", 1)),
        "not readable": Row("unknown", "EIO", hole(f"{GPU}/aer/fatal", f"{PCI}/{BDF}/aer_dev_fatal", "EIO")),
        "the firmware handles them": Row(
            "skipped",
            "firmware",
            changes(change(f"{GPU}/aer", None), *(change(f"{GPU}/path/{index}/aer", None) for index in range(3))),
            machine="mi210-2gpu-pcie",
        ),
        "captured tree without PCI": Row("skipped", "does not hold", not_held("pci")),
    }
)
def test_aer_fatal(row: Row) -> None:
    if row.outcome == "skipped" and row.machine == "mi210-2gpu-pcie":
        assert "skipped" in {result.outcome for result in row.node().check("pcie.aer_fatal")}
        return
    row.assert_holds("pcie.aer_fatal")
