# SPDX-License-Identifier: Apache-2.0
"""The checks of health.py: what the driver and the log say of each card. CASES S-03."""

from __future__ import annotations

from typing import Any

from support.rows import Row, change, changes, each, hole, not_held

GPU = "pci/gpus/0"
BDF = "0000:03:00.0"
UMC = f"/sys/bus/pci/devices/{BDF}/ras/umc_err_count"


def events(*entries: tuple[str, str | None]) -> Any:
    found = [{"kind": kind, "bdf": BDF, "detail": detail, "text": f"{kind} of {BDF}"} for kind, detail in entries]
    return change("kernel_log/events", found)


@each(
    {
        "none": Row("ok", observed="none", required=False),
        "S-03, gave up": Row(
            "fail",
            "error -12, no memory",
            changes(change(f"{GPU}/driver", None), events(("init_fatal", None), ("probe_failed", "-12"))),
            subject=BDF,
            observed="-12",
        ),
        "a post error is the cause": Row(
            "fail",
            "post_error of",
            changes(
                change(f"{GPU}/driver", None),
                events(("init_fatal", None), ("post_error", None), ("probe_failed", "-22")),
            ),
        ),
        "driven by now": Row("warn", "by now", events(("init_fatal", None))),
        "no log": Row("unknown", "not hold it", change("kernel_log", None), required=False),
        "captured tree without a log": Row("skipped", "does not hold", not_held("kernel_log")),
    }
)
def test_init_fatal(row: Row) -> None:
    row.assert_holds("gpu.init_fatal")


@each(
    {
        "none": Row("ok", observed="0"),
        "corrected only": Row("ok", change=change(f"{GPU}/health/ras/blocks/umc", {"ue": 0, "ce": 9})),
        "two": Row(
            "fail",
            "2 in umc",
            change(f"{GPU}/health/ras/blocks/umc", {"ue": 2, "ce": 0}),
            subject=BDF,
            observed="2 in umc",
            evidence=UMC,
        ),
        "in the log": Row("fail", "ras of", events(("ras", "1 uncorrectable hardware errors detected in umc block"))),
        "retired pages": Row("warn", "3 pages", change(f"{GPU}/health/ras/bad_pages", 3)),
        "not readable": Row("unknown", "EIO", hole(f"{GPU}/health/ras/blocks/umc", UMC, "EIO")),
        "no such card": Row("skipped", "no AMD", change("pci/gpus", [])),
        "captured tree without PCI": Row("skipped", "does not hold", not_held("pci")),
    }
)
def test_uncorrectable(row: Row) -> None:
    row.assert_holds("ras.uncorrectable")


def test_a_card_whose_driver_counts_nothing_is_skipped_not_ok() -> None:
    made = Row("skipped", change=change(f"{GPU}/health/ras", None)).node()
    assert [result.outcome for result in made.check("ras.uncorrectable") if result.subject == BDF] == ["skipped"]


@each(
    {
        "cool": Row("ok", observed="edge 33 C", expected="below 105 C"),
        "near": Row("warn", "3 degrees", change(f"{GPU}/health/sensors/temperatures/edge/celsius", 102.0)),
        "at its limit": Row("fail", "limit", change(f"{GPU}/health/sensors/temperatures/edge/celsius", 105.0)),
        "captured tree without PCI": Row("skipped", "does not hold", not_held("pci")),
    }
)
def test_temperature(row: Row) -> None:
    row.assert_holds("gpu.temperature")
