# SPDX-License-Identifier: Apache-2.0
"""The checks of secure_boot.py. CASES K-04 (trust) and K-05 (blacklists)."""

from __future__ import annotations

from support.rows import Row, change, changes, each, not_held

MOK = "node01 Secure Boot Module Signature key"
NOT_ENROLLED = changes(
    change("secure_boot/enrolled", ["Canonical Ltd. Master Certificate Authority"]), change("modules/file/signer", MOK)
)
MODULE = "/lib/modules/5.15.0-91-generic/updates/dkms/amdgpu.ko"


@each(
    {
        "enrolled": Row("ok", observed="made owner", evidence=MODULE),
        "K-04, not enrolled": Row("fail", f"{MOK!r} that signed", NOT_ENROLLED, observed=f"{MOK}, not enrolled"),
        "K-04, not signed": Row(
            "fail", "no signature", changes(change("modules/file/signed", False), change("modules/file/signer", None))
        ),
        "K-04, switched off": Row("ok", change=changes(NOT_ENROLLED, change("secure_boot/enabled", False))),
        "no EFI": Row("ok", "not started by EFI", changes(NOT_ENROLLED, change("secure_boot/efi", False))),
        "the kernel holds the key": Row("ok", change=changes(NOT_ENROLLED, change("secure_boot/kernel_keys", [MOK]))),
        "the kernel's own module": Row(
            "ok",
            "distribution",
            changes(
                NOT_ENROLLED, change("modules/file/path", "/lib/modules/x/kernel/drivers/gpu/drm/amd/amdgpu/amdgpu.ko")
            ),
        ),
        "not known whether it is on": Row("unknown", "not hold", change("secure_boot/enabled", None)),
        "the signer cannot be read": Row("unknown", "not hold", change("modules/file/signer", None)),
        "no list can be read": Row(
            "unknown",
            "not hold",
            changes(change("secure_boot/enrolled", None), change("secure_boot/kernel_keys", None)),
        ),
        "no module": Row("skipped", "dkms.built_for_running", change("modules/file/path", None)),
        "captured tree without it": Row("skipped", "does not hold", not_held("secure_boot")),
    }
)
def test_module_trust(row: Row) -> None:
    row.assert_holds("boot.secureboot_module_trust")


def test_the_remedy_says_that_a_person_must_go_to_the_console() -> None:
    (result,) = Row("fail", change=NOT_ENROLLED).node().check("boot.secureboot_module_trust")
    assert "mokutil --import" in result.remedy
    assert "console" in result.remedy


FILE = "/etc/modprobe.d/blacklist-amdgpu.conf"


@each(
    {
        "none": Row("ok", observed="not blacklisted"),
        "K-05, variant A, with a loader": Row(
            "ok",
            "amdgpu-late.service",
            changes(
                change("modules/blacklisted_by", [FILE, "cmdline"]),
                change("modules/loaders", ["/etc/systemd/system/amdgpu-late.service"]),
            ),
        ),
        "K-05, variant B, without": Row(
            "fail",
            f"blacklisted by {FILE}, cmdline",
            change("modules/blacklisted_by", [FILE, "cmdline"]),
            evidence=FILE,
        ),
        "by the command line": Row(
            "fail", "cmdline", change("modules/blacklisted_by", ["cmdline"]), evidence="/proc/cmdline"
        ),
        "loaders not known": Row(
            "unknown", "not hold", changes(change("modules/blacklisted_by", [FILE]), change("modules/loaders", None))
        ),
        "captured tree without modules": Row("skipped", "does not hold", not_held("modules")),
    }
)
def test_blacklist_state(row: Row) -> None:
    row.assert_holds("mod.blacklist_state")
