# SPDX-License-Identifier: Apache-2.0
"""The checks of gpu.py: there, alike and driven."""

from __future__ import annotations

from support.machines import Json
from support.rows import Row, change, changes, each, hole, not_held

UNBOUND = change("pci/gpus/2/driver", None)


def without_first_card(snapshot: Json) -> None:
    """Take 0000:03:00.0 from PCI and from KFD."""
    snapshot["pci"]["gpus"].pop(0)
    snapshot["kfd"]["nodes"] = [node for node in snapshot["kfd"]["nodes"] if node["bdf"] != "0000:03:00.0"]


def in_partitions(*counts: int) -> object:
    """Show cards of several partitions in KFD, as an accelerator in CPX mode does."""

    def apply(snapshot: Json) -> None:
        nodes = snapshot["kfd"]["nodes"]
        gpus = [node for node in nodes if node["bdf"]]
        snapshot["kfd"]["nodes"] = [
            {**gpu, "bdf": gpu["bdf"][:-1] + str(function)}
            for gpu, number in zip(gpus, counts, strict=True)
            for function in range(number)
        ]

    return apply


@each(
    {
        "all GPUs": Row("ok", observed="8 on PCI"),
        "fewer slots in use, and declared": Row("ok", change=without_first_card, options={"gpu_count": 7}),
        "one card gone": Row("fail", "fewer GPUs on PCI", without_first_card, expected="8 on PCI", observed="7 on PCI"),
        "more cards than declared": Row("fail", "more GPUs", options={"gpu_count": 4}),
        "on PCI, not in KFD": Row(
            "fail",
            "fewer GPUs in KFD",
            lambda snapshot: snapshot["kfd"]["nodes"].pop(),
            observed="7 in KFD",
            evidence="/sys/class/kfd/kfd/topology/nodes",
        ),
        "no KFD at all": Row("fail", "not loaded", change("kfd", None), observed="no KFD"),
        "undeclared, some there": Row("ok", "not declared", options={"gpu_count": None}),
        "undeclared, none there": Row(
            "fail", "no GPU of this model", change("pci/gpus", []), options={"gpu_count": None}
        ),
        "one partition of many missing": Row(
            "fail", "0000:a3:00 shows 7 partitions", in_partitions(*[8] * 7, 7), observed="63 of 64 partitions"
        ),
        "all partitions": Row("ok", change=in_partitions(*[8] * 8)),
        "PCI not readable": Row("unknown", "EACCES", hole("pci", "/sys/bus/pci/devices")),
        "a card of unreadable id": Row(
            "unknown", "EACCES", hole("pci/gpus/0/device", "/sys/bus/pci/devices/0000:03:00.0/device")
        ),
        "a KFD node that the driver refuses": Row(
            "unknown",
            "EPERM",
            hole("kfd/nodes/4/properties", "/sys/class/kfd/kfd/topology/nodes/4/properties", "EPERM"),
        ),
        "captured tree with KFD only": Row("ok", change=not_held("pci"), observed="8 in KFD"),
        "captured tree with neither": Row("skipped", "does not hold", not_held("pci", "kfd")),
    }
)
def test_gpu_count(row: Row) -> None:
    row.assert_holds("gpu.count")


@each(
    {
        "all driven": Row("ok"),
        "blacklisted": Row(
            "fail",
            "blacklisted by /etc/modprobe.d/x.conf",
            changes(
                UNBOUND,
                change("modules/amdgpu/loaded", False),
                change("modules/blacklisted_by", ["/etc/modprobe.d/x.conf"]),
            ),
            subject="0000:43:00.0",
            evidence="/sys/bus/pci/devices/0000:43:00.0/driver",
        ),
        "nomodeset": Row("fail", "nomodeset", changes(UNBOUND, change("kernel/cmdline", "quiet nomodeset"))),
        "not loaded": Row("fail", "is not loaded", changes(UNBOUND, change("modules/amdgpu/loaded", False))),
        "loaded, and gave the GPU up": Row("fail", "gave this GPU up", UNBOUND),
        "passed to a guest": Row("fail", "bound to vfio-pci", change("pci/gpus/0/driver", "vfio-pci")),
        "not readable": Row("unknown", "EACCES", hole("pci/gpus/0/driver", "/sys/bus/pci/devices/0000:03:00.0/driver")),
        "no GPU": Row("skipped", "nothing to judge", change("pci/gpus", [])),
        "captured tree without PCI": Row("skipped", "does not hold", not_held("pci")),
    }
)
def test_gpu_driver_bound(row: Row) -> None:
    row.assert_holds("gpu.driver_bound")


@each(
    {
        "one model": Row("ok", observed="8 x 1002:740f", required=False),
        "an integrated GPU does not count": Row("ok", change=changes(
            change("pci/gpus/0/class", "030000"), change("pci/gpus/0/device", "1638"))),
        "two models": Row(
            "warn", "several models", change("pci/gpus/0/device", "738c"), observed="1 x 1002:738c, 7 x 1002:740f"
        ),
        "another model": Row(
            "warn",
            "are not AMD Instinct MI210",
            lambda snapshot: [gpu.update(device="738c") for gpu in snapshot["pci"]["gpus"]],
        ),
        "no card": Row("skipped", "no compute card", change("pci/gpus", [])),
        "the list of GPUs broke": Row("unknown", "EACCES", hole("pci/gpus", "/sys/bus/pci/devices")),
    }
)  # fmt: skip
def test_gpu_model_uniform(row: Row) -> None:
    row.assert_holds("gpu.model_uniform")
