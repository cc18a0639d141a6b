# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from support import binaries

from ansible_collections.instinct.bringup.plugins.module_utils.command_runner import Result
from ansible_collections.instinct.bringup.plugins.module_utils.der import DerError, certificate_subject
from ansible_collections.instinct.bringup.plugins.module_utils.module_file import read_module_file
from ansible_collections.instinct.bringup.plugins.module_utils.secure_boot import (
    list_subjects,
    parse_keys,
    read_secure_boot,
)
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

Plant = Callable[[dict[str, Any]], Tree]
KERNEL = "5.15.0-91-generic"
MODULE = f"/lib/modules/{KERNEL}/updates/dkms/amdgpu.ko"
VARIABLE = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"


def test_a_machine_with_secure_boot(plant: Plant, made_node: dict[str, Any]) -> None:
    tree = plant(made_node)
    assert read_secure_boot(tree) == {
        "efi": True,
        "enabled": True,
        "setup_mode": False,
        "enrolled": ["made machine owner"],
        "kernel_keys": ["made vendor"],
        "lockdown": "integrity",
    }
    assert tree.problems() == []


def test_a_machine_without_efi_has_none(plant: Plant) -> None:
    tree = plant({"/sys/kernel": None})
    seen = read_secure_boot(tree)
    assert (seen["efi"], seen["enabled"], seen["enrolled"]) == (False, False, None)
    assert tree.problems() == []


def test_efi_whose_variables_are_not_shown_tells_nothing(plant: Plant) -> None:
    assert read_secure_boot(plant({"/sys/firmware/efi/fw_platform_size": "64\n"}))["enabled"] is None


@pytest.mark.parametrize("content", [b"", b"\1\0\0\0", b"\6\0\0\0\7"], ids=["empty", "cut short", "neither 0 nor 1"])
def test_a_damaged_variable_is_a_problem_and_no_answer(plant: Plant, content: bytes) -> None:
    tree = plant({VARIABLE: content})
    assert read_secure_boot(tree)["enabled"] is None
    assert VARIABLE in {entry["path"] for entry in tree.problems()}


def test_certificates_are_told_from_hashes() -> None:
    data = binaries.signature_list(binaries.certificate("one"), binaries.certificate("two"))
    assert list_subjects(data) == ["one", "two"]


@pytest.mark.parametrize("cut", [30, 90, 150])
def test_a_list_that_is_cut_short_is_refused(cut: int) -> None:
    data = binaries.signature_list(binaries.certificate("one"))
    with pytest.raises(ValueError, match=r"list|value|certificate"):
        list_subjects(data[:cut] + b"\xff" * 30)


def test_what_is_no_certificate_is_refused() -> None:
    for data in (b"", b"\x30", b"\x31\0", b"\x30\x85\1\1\1\1\1", b"\x30\2\x30\0"):
        with pytest.raises(DerError):
            certificate_subject(data)


def test_the_kernel_s_keys() -> None:
    text = (
        "1a I------     1 perm 1f030000     0     0 asymmetri Canonical Ltd. CA: ad9: X509.rsa 65 []\n"
        "2b I--Q---     4 perm 3f030000     0     0 keyring   _uid.0: empty\n"
    )
    assert parse_keys(text) == ["Canonical Ltd. CA"]


@pytest.mark.parametrize(
    ("content", "signed", "signer"),
    [
        (
            binaries.signed_module("node01 Secure Boot Module Signature key"),
            True,
            "node01 Secure Boot Module Signature key",
        ),
        (b"\x7fELF made module", False, None),
        (b"x~Module signature appended~\n", True, None),
        (b"", False, None),
    ],
    ids=["signed", "not signed", "cut short", "empty"],
)
def test_who_signed_a_module(plant: Plant, content: bytes, signed: bool, signer: str | None) -> None:
    seen = read_module_file(plant({MODULE: content}), KERNEL, "amdgpu", None)
    assert seen == {"path": MODULE, "signed": signed, "signer": signer}


def test_a_compressed_module_is_read_by_modinfo_only(plant: Plant) -> None:
    tree = plant({MODULE + ".zst": b"\x28\xb5\x2f\xfd"})
    assert read_module_file(tree, KERNEL, "amdgpu", None)["signed"] is None
    asked: list[list[str]] = []

    def probe(argv: Any) -> Result:
        asked.append(list(argv))
        return Result(0, "made key\n", "")

    assert read_module_file(tree, KERNEL, "amdgpu", probe)["signer"] == "made key"
    assert asked[0][:3] == ["modinfo", "-F", "signer"]


def test_dkms_comes_before_the_kernel_s_own(plant: Plant) -> None:
    own = f"/lib/modules/{KERNEL}/kernel/drivers/gpu/drm/amd/amdgpu/amdgpu.ko"
    assert read_module_file(plant({own: b"", MODULE: b""}), KERNEL, "amdgpu", None)["path"] == MODULE
    assert read_module_file(plant({}), "6.0", "amdgpu", None) == {"path": None, "signed": None, "signer": None}
