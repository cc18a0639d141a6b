# SPDX-License-Identifier: Apache-2.0
"""The checks of firmware_state.py. CASES K-06 (files) and H-08 (versions)."""

from __future__ import annotations

from typing import Any

import pytest
from support.rows import Row, change, changes, each, hole, not_held

from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.firmware_fields import (
    NotComparable,
    minimum_problems,
    parse_minimum,
    shown,
)

GPU = "pci/gpus/0"
BDF = "0000:03:00.0"
PCI = f"/sys/bus/pci/devices/{BDF}"


@each(
    {
        "known": Row("ok", observed="113-D67301-059"),
        "H-08, another vendor's": Row("warn", "each vendor", change(f"{GPU}/vbios", "113-D67399-001"), subject=BDF),
        "allowed by the site": Row(
            "ok", change=change(f"{GPU}/vbios", "113-D67399-001"), options={"fw_vbios_allowed": ["113-D67399-001"]}
        ),
        "not readable": Row("unknown", "EIO", hole(f"{GPU}/vbios", f"{PCI}/vbios_version", "EIO")),
        "no driver": Row(
            "unknown", "without a driver", changes(change(f"{GPU}/vbios", None), change(f"{GPU}/driver", None))
        ),
        "no such card": Row("skipped", "no AMD", change("pci/gpus", [])),
    }
)
def test_vbios_allowed(row: Row) -> None:
    row.assert_holds("fw.vbios_allowed")


@each(
    {
        "alike": Row("ok", observed="1 firmwares, all alike"),
        "one differs": Row(
            "fail",
            f"{BDF} has mec 70, the others 71",
            change(f"{GPU}/firmware/mec", "0x00000046"),
            evidence=f"{PCI}/fw_version/mec_fw_version",
        ),
        "not readable": Row("unknown", "EIO", hole(f"{GPU}/firmware/mec", f"{PCI}/fw_version/mec_fw_version", "EIO")),
        "no such card": Row("skipped", "no AMD", change("pci/gpus", [])),
    }
)
def test_microcode_uniform(row: Row) -> None:
    row.assert_holds("fw.microcode_uniform")


@pytest.mark.parametrize(
    ("field", "least", "reading", "met"),
    [
        ("smc", "68.63.0", "0x00443f00", True),
        ("smc", "68.63.0", "0x00443b00", False),
        ("smc", "68.9", "0x00443b00", True),
        ("smc", "00.68.63.00", "0x00443f00", True),
        ("smc", "0x00443f00", "0x00443f00", True),
        ("ta_xgmi", "32.00.00.13", "0x2000000d", True),
        ("ta_xgmi", "32.00.00.14", "0x2000000d", False),
        ("mec", 71, "0x00000047", True),
        ("mec", "72", "0x00000047", False),
        ("mec_fw_version", "71", "0x00000047", True),
        ("sos", "0x0027007f", "0x0027007f", True),
        ("sos", "0x00270080", "0x0027007f", False),
        ("vbios", "073", "113-D67301V-074", True),
        ("vbios", "-073", "113-D67301-059", False),
        ("vbios", "113-D67301-059", "113-D67301-063", True),
    ],
)
def test_a_minimum_is_compared_in_its_field_s_own_form(field: str, least: object, reading: str, met: bool) -> None:
    assert parse_minimum(field, least).is_met(reading) is met


def test_boards_of_other_vendors_count_for_themselves() -> None:
    with pytest.raises(NotComparable, match="another board"):
        parse_minimum("vbios", "113-D67301-059").is_met("113-D67307V-075")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"amdgpu-firmware": "1.0.0.14"}, "the fields are vbios, asd"),
        ("1.0.0.14", "must name the field"),
        ({"mec": "1.0.0.14"}, "a number, such as 71"),
        ({"vbios": "1.0.0.14"}, "a whole name"),
        ({"smc": 68.63}, "write it in quotes"),
        ({"smc": "68.300.0"}, "two to four numbers"),
        ({"sos": "39"}, "hexadecimal"),
        ({"mec": True}, "a number"),
    ],
    ids=str,
)
def test_what_fits_no_field_is_refused_with_what_would(given: object, says: str) -> None:
    (problem,) = minimum_problems(given)
    assert says in problem


def test_nothing_is_asked_of_a_profile_without_a_minimum() -> None:
    assert minimum_problems({}) == minimum_problems(None) == []
    assert minimum_problems({"smc": "68.63.0", "vbios": "073"}) == []


@pytest.mark.parametrize(
    ("field", "reading", "text"),
    [
        ("smc", "0x00443f00", "68.63.0"),
        ("ta_ras", "0x1b00013c", "27.0.1.60"),
        ("mec", "0x47", "71"),
        ("sos", "0x1", "0x1"),
    ],
)
def test_readings_are_shown_as_people_write_them(field: str, reading: str, text: str) -> None:
    assert shown(field, reading) == text


@each(
    {
        "nothing is asked": Row("skipped", "asks for nothing"),
        "met": Row("ok", options={"fw_minimum": {"mec": 71, "vbios": "059"}}),
        "older": Row("fail", "mec 71 is older than 72", options={"fw_minimum": {"mec": 72}}, subject=f"{BDF} mec"),
        "no such reading": Row("unknown", "not hold", options={"fw_minimum": {"smc": "68.63.0"}}),
        "of another board": Row("unknown", "another board", options={"fw_minimum": {"vbios": "113-D67307V-075"}}),
    }
)
def test_minimum(row: Row) -> None:
    row.assert_holds("fw.minimum")


def lost(name: str) -> Any:
    return lambda snapshot: snapshot["firmware_files"]["found"].pop(name)


def could_not_load(name: str) -> Any:
    text = f"Direct firmware load for {name} failed with error -2"
    return change("kernel_log/events", [{"kind": "firmware_missing", "bdf": BDF, "detail": name, "text": text}])


@each(
    {
        "there": Row("ok", observed="8 there"),
        "K-06, one is gone": Row("fail", "aldebaran_smc.bin", lost("aldebaran_smc.bin"), observed="1 missing"),
        "K-06, not in the initramfs": Row("warn", "initramfs", could_not_load("amdgpu/aldebaran_mec.bin")),
        "another card's file": Row("ok", change=could_not_load("amdgpu/navi10_mec.bin")),
        "no such card": Row("skipped", "no AMD", change("pci/gpus", [])),
        "captured tree without it": Row("skipped", "does not hold", not_held("firmware_files")),
    }
)
def test_present_for_gpu(row: Row) -> None:
    row.assert_holds("fw.present_for_gpu")


PATH = "/lib/firmware/amdgpu/arcturus_gpu_info.bin"


@each(
    {
        "whole": Row("ok"),
        "K-06, deleted by another's uninstall": Row(
            "fail",
            "linux-firmware is gone",
            change("firmware_files/missing", [{"package": "linux-firmware", "path": PATH}]),
            subject=PATH,
        ),
    }
)
def test_package_verify(row: Row) -> None:
    row.assert_holds("fw.package_verify")
