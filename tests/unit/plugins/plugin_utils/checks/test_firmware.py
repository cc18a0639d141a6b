# SPDX-License-Identifier: Apache-2.0
"""The check of firmware.py."""

from __future__ import annotations

from support.rows import Row, change, changes, each, hole, not_held

FILE = "/sys/bus/pci/devices/0000:26:00.0/vbios_version"


@each(
    {
        "one VBIOS": Row("ok", observed="113-D67301-059"),
        "one card differs": Row(
            "fail",
            "0000:26:00.0 has 113-D67301V-073; the others have 113-D67301-059",
            change("pci/gpus/1/vbios", "113-D67301V-073"),
            observed="7 x 113-D67301-059, 1 x 113-D67301V-073",
            evidence=FILE,
        ),
        "another vendor's board may differ": Row(
            "ok",
            change=changes(
                change("pci/gpus/1/vbios", "113-D67307V-075"), change("pci/gpus/1/subsystem_vendor", "1137")
            ),
        ),
        "not readable": Row("unknown", "EACCES", hole("pci/gpus/1/vbios", FILE), evidence=FILE),
        "without a driver": Row(
            "unknown",
            "without a driver there is none",
            changes(change("pci/gpus/1/vbios", None), change("pci/gpus/1/driver", None)),
        ),
        "no GPU": Row("skipped", "no AMD Instinct MI210", change("pci/gpus", [])),
        "captured tree without PCI": Row("skipped", "does not hold", not_held("pci")),
    }
)
def test_fw_vbios_uniform(row: Row) -> None:
    row.assert_holds("fw.vbios_uniform")
