# SPDX-License-Identifier: Apache-2.0
"""The field cases of kernel, driver and boot, K-01 to K-06 and N-03: what the plan refuses, notes and holds."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest

from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.build import build_plan
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.kernel import begins_with, numbers
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.text import plan_text

from . import made


def on_kernel(release: str, *, next_release: str | None = None, headers: tuple[str, ...] = ()) -> dict[str, t.Any]:
    snapshot = made.bare()
    snapshot["kernel"].update(
        release=release,
        next_release=next_release or release,
        installed=[release, "5.15.0-91-generic"],
        headers=list(headers),
    )
    return snapshot


def refusal(plan: dict[str, t.Any], identity: str) -> dict[str, str] | None:
    return next((entry for entry in plan["refusals"] if entry["id"] == identity), None)


def rocm_step(plan: dict[str, t.Any]) -> dict[str, t.Any]:
    return next(step for step in plan["steps"] if step["role"] == "rocm")


def test_k01_kernel_packages_are_held_when_asked_and_only_then() -> None:
    snapshot = made.bare()
    for name in ("linux-generic", "linux-image-generic", "linux-image-5.15.0-91-generic", "linux-libc-dev"):
        snapshot["dpkg"]["packages"][name] = made.package("5.15.0.91.88")
    assert not any(name.startswith("linux") for name in rocm_step(made.plan(snapshot))["inputs"]["hold"]["names"])
    held = rocm_step(made.plan(snapshot, rocm_hold_kernel=True))["inputs"]["hold"]["names"]
    assert held == ["linux-generic", "linux-image-5.15.0-91-generic", "linux-image-generic"]
    assert "rocm_hold_kernel" in plan_text(made.plan(snapshot))


def test_k01_the_next_boots_kernel_counts_too_and_gets_its_headers() -> None:
    plan = made.plan(on_kernel("5.15.0-91-generic", next_release="5.19.0-38-generic"))
    assert rocm_step(plan)["inputs"]["headers"] == [
        "linux-headers-5.15.0-91-generic",
        "linux-headers-5.19.0-38-generic",
    ]
    refused = refusal(made.plan(on_kernel("5.15.0-91-generic", next_release="6.2.0-39-generic")), "kernel.known_bad")
    assert refused is not None
    assert refused["subject"] == "kernel 6.2.0-39-generic"


def test_k01_kernel_packages_that_a_driver_has_failed_are_no_obstacle_where_that_driver_goes() -> None:
    snapshot = made.old()
    rows = {"linux-headers-5.15.0-92-generic": "iF ", "linux-headers-generic": "iU "}
    snapshot["dpkg"]["packages"].update({name: made.package("5.15.0.92.89", status) for name, status in rows.items()})
    plan = made.plan(snapshot)
    assert plan["refusals"] == []
    note = "(iF): the build of the driver that goes has left it so; it is configured once that driver is gone"
    assert f"note: linux-headers-5.15.0-92-generic {note}" in plan_text(plan)
    assert set(rows) < set(plan["steps"][0]["inputs"]["going"])
    # Where nothing of a driver goes nobody can tell why they are so.
    del snapshot["dpkg"]["packages"]["amdgpu-dkms"]
    refused = refusal(made.plan(snapshot), "dpkg.unfinished")
    assert refused is not None
    assert "linux-headers-5.15.0-92-generic (iF), linux-headers-generic (iU)" in refused["seen"]


def test_k02_a_kernel_that_the_driver_does_not_build_on_is_refused_with_the_ways_out() -> None:
    refused = refusal(made.plan(on_kernel("6.2.0-39-generic")), "kernel.known_bad")
    assert refused is not None
    assert "does not build on 6.2.0-20" in refused["seen"]
    assert refused["wanted"] == "5.15 or 5.17 or 5.19"
    for way in ("boot 5.15.0-91-generic, which is installed", "choose ROCm 5.7.0", "rocm_dkms to false"):
        assert way in refused["remedy"]
    assert made.plan(on_kernel("6.2.0-39-generic"), rocm_dkms=False)["refusals"] == []


def test_k02_a_kernel_of_which_nothing_is_known_is_noted_with_the_good_ones() -> None:
    plan = made.plan(on_kernel("6.20.0-1-generic"))
    assert plan["refusals"] == []
    assert (
        "nothing is known of driver 5.18.13 on kernel 6.20.0-1-generic; known good: 5.15 or 5.17 or 5.19"
        in plan["notes"]
    )


@pytest.mark.parametrize(
    ("release", "entry", "is_one"),
    [
        ("6.14.0-24-generic", "6.14", True),
        ("6.1.52-060152-generic", "6.1.52", True),
        ("6.14.0-24-generic", "6.1", False),
        ("6.8.0-44-generic", "6.8.0-44", True),
        ("6.8.0-440-generic", "6.8.0-44", False),
        ("", "6.8", False),
    ],
)
def test_k02_kernels_are_compared_by_their_numbers(release: str, entry: str, is_one: bool) -> None:
    assert begins_with(release, entry) is is_one
    assert numbers("6.14.0-24-generic") > numbers("6.8.0-44-generic") > numbers("6.5.0-1073-azure")


@pytest.mark.parametrize(
    ("release", "candidate", "refused"),
    [
        ("5.18.2-mi300-build-000000-ubuntu-22.04", None, True),
        ("5.13.11-051311-generic", None, True),
        ("5.13.11-051311-generic", "5.13.11-051311.1", False),
        ("5.15.0-1073-azure", None, False),
        ("5.15.0-1052-oracle", None, False),
        ("5.15.0-1060-aws", None, False),
        ("5.15.0-91-generic", None, False),
    ],
)
def test_k03_headers_of_a_kernel_that_is_no_distributions(release: str, candidate: str | None, refused: bool) -> None:
    snapshot = on_kernel(release, headers=("5.15.0-91-generic",))
    snapshot["apt"]["policy"][f"linux-headers-{release}"] = {"installed": None, "candidate": candidate, "versions": []}
    found = refusal(made.plan(snapshot), "kernel.headers_available")
    assert (found is not None) is (refused and release != "5.15.0-91-generic")
    if found:
        assert "not a distribution's kernel" in found["seen"]
        assert "boot 5.15.0-91-generic, whose headers are installed" in found["remedy"]


@pytest.mark.parametrize(
    ("state", "refused"),
    [
        ({"enabled": True, "enrolled": []}, True),
        ({"enabled": True, "enrolled": ["Canonical Ltd. Master Certificate Authority"]}, True),
        ({"enabled": True, "enrolled": ["gpu01 Secure Boot Module Signature key"]}, False),
        ({"enabled": True, "enrolled": None}, False),
        ({"enabled": False, "enrolled": []}, False),
        (None, False),
    ],
    ids=["no key", "only the distribution's", "enrolled", "may not be looked at", "off", "no EFI"],
)
def test_k04_secure_boot_without_a_key_of_the_machines_own(state: dict[str, t.Any] | None, refused: bool) -> None:
    snapshot = made.bare()
    snapshot["secure_boot"] = state
    found = refusal(made.plan(snapshot), "boot.secure_boot")
    assert (found is not None) is refused
    assert not found or "mokutil --import" in found["remedy"]
    assert refusal(made.plan(snapshot, rocm_dkms=False), "boot.secure_boot") is None


def test_k05_a_blacklist_of_the_sites_is_no_leftover() -> None:
    snapshot = made.old()
    snapshot["modules"]["blacklisted_by"] = ["/etc/modprobe.d/blacklist-amdgpu.conf"]
    subjects = [change["subject"] for step in made.plan(snapshot)["steps"] for change in step["changes"]]
    assert not any("modprobe" in subject for subject in subjects)


def test_k06_only_firmware_of_a_driver_that_goes_is_a_leftover() -> None:
    snapshot = made.old()
    snapshot["leftovers"] = [
        {"path": "/lib/firmware/updates/amdgpu", "type": "directory", "owners": ["linux-firmware"]}
    ]
    subjects = [change["subject"] for step in made.plan(snapshot)["steps"] for change in step["changes"]]
    assert "/lib/firmware/updates/amdgpu" not in subjects


def test_the_kernels_own_driver_is_what_is_left_without_rocm_dkms() -> None:
    snapshot = made.converged()
    snapshot["dkms"]["trees"] = [
        {"module": "amdgpu", "version": "5.18.13-1510348.22.04", "path": "p", "has_source": True, "kernels": {}}
    ]
    plan = made.plan(snapshot, rocm_dkms=False)
    gone = {c["subject"] for step in plan["steps"] if step["role"] == "rocm_purge" for c in step["changes"]}
    assert {"amdgpu-dkms", "amdgpu/5.18.13-1510348.22.04"} <= gone
    assert plan["reboot"]["reasons"] == ["AMD's driver 5.18.13 is running, wanted is the kernel's own"]
    assert "amdgpu-dkms" not in plan["packages"]


def test_n02_who_holds_apts_lock_is_told_before_the_run_waits_for_it() -> None:
    snapshot = made.bare()
    snapshot["apt"]["locks"] = [{"path": "/var/lib/dpkg/lock-frontend", "pid": 24459, "name": "unattended-upgr"}]
    assert "held by unattended-upgr (pid 24459): the run waits up to 600 s" in plan_text(made.plan(snapshot))


def test_n03_a_local_connection_is_never_rebooted_and_says_what_to_do() -> None:
    snapshot = made.converged()
    snapshot["modules"]["amdgpu"]["version"] = "5.16.9.22.20"
    context = made.context(snapshot, bringup_reboot=True)
    plan = build_plan(dataclasses.replace(context, local=True))
    assert plan["steps"] == []
    assert "local connection: run `systemctl reboot` yourself" in plan_text(plan)


def test_n03_pending_boot_parameters_are_a_reboot_and_active_ones_are_none() -> None:
    snapshot = made.converged()
    given = {"kernel_tuning_boot_parameters": ["iommu=pt"], "bringup_reboot": True}
    snapshot["kernel"]["cmdline"] = "ro"
    pending = made.plan(snapshot, **given)
    assert pending["reboot"]["reasons"] == ["boot parameters are pending: iommu=pt"]
    snapshot["kernel"]["cmdline"] = "ro iommu=off iommu=pt"
    assert not made.plan(snapshot, **given)["reboot"]["needed"]
    snapshot["kernel"]["cmdline"] = "ro iommu=pt iommu=soft"
    assert made.plan(snapshot, **given)["reboot"]["needed"]
