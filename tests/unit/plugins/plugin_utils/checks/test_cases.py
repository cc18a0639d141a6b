# SPDX-License-Identifier: Apache-2.0
"""Public bug reports about packages, kernels and wheels: what verify says of a node that is in that state, word by word.

What the plan does about the same cases is in plan/test_cases_*.py, and what a run does to a node in tests/lab/test_cases.py.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.machines import Json
from support.rows import change, changes, worst
from support.snapshots import KEY, PACKAGES, node, policy, source

Change = Callable[[Json], object]
LISTS = "/etc/apt/sources.list.d"


def told(check_id: str, *several: Change) -> str:
    """Return what a person reads of a check that must have failed or warned: where, what, why, what to do."""
    result = worst(node("mi210-8gpu-2hives", changes(*several)).check(check_id))
    assert result.outcome in ("fail", "warn"), result
    return f"{result.subject}: {result.observed}, not {result.expected}: {result.reason} ({result.remedy})"


def package(name: str, version: str, status: str = "ii ", *, hold: bool = False) -> Change:
    return change(f"dpkg/packages/{name}", {"version": version, "status": status, "hold": hold, "auto": None})


def wheel(name: str, version: str, *requires: str) -> Change:
    return change(f"python_envs/0/distributions/{name}", {"version": version, "requires": list(requires)})


def test_p01_the_distributions_candidate_is_named_with_its_origin_and_the_wanted_version() -> None:
    shadow = changes(
        change("apt/policy/hipcc", policy(PACKAGES["hipcc"], priority=500, shadow="5.7.1-3")),
        change("apt/policy/hipcc/candidate", "5.7.1-3"),
    )
    text = told("apt.vendor_candidate", shadow)
    for word in ("hipcc", "5.7.1-3", "http://mirror.example/ubuntu jammy/universe", PACKAGES["hipcc"]):
        assert word in text


def test_p02_a_pin_that_apt_does_not_honour_is_told_by_the_priority_that_apt_gives_and_by_the_broken_line() -> None:
    problem = {"path": "/etc/apt/preferences.d/rocm-pin-600", "line": 1, "message": "holds \\n as two characters"}
    weak = change("apt/policy/hipcc", policy(PACKAGES["hipcc"], priority=500, shadow="5.0.0-1"))
    text = told("apt.pin_effective", weak, change("apt/preference_problems", [problem]))
    for word in ("priority 500", "priority 600", "rocm-pin-600", "holds \\n as two characters"):
        assert word in text


def test_p03_a_package_of_the_same_name_without_the_vendors_build_is_named() -> None:
    text = told("pkg.foreign_rocm", package("rocminfo", "7.1.1-0ubuntu1"))
    assert "rocminfo" in text
    assert "7.1.1-0ubuntu1" in text
    assert "AMD's release also has" in text


def test_p04_an_expired_key_is_told_with_its_file_and_its_day_and_a_page_by_its_first_bytes() -> None:
    path = "/etc/apt/keyrings/rocm.gpg"
    expired = told("apt.key_expired", change("apt/keyrings/0/keys/0/expires", "2021-08-01T00:57:58Z"))
    assert f"{path} expired on 2021-08-01" in expired
    assert KEY in expired
    page = {"path": path, "keys": [], "problem": "not OpenPGP: starts with '<!DOCTYPE html>'"}
    assert "<!DOCTYPE html>" in told("apt.key_not_openpgp", change("apt/keyrings", [page]))


def test_p04_a_list_without_signed_by_is_told_with_its_line() -> None:
    def old(snapshot: Json) -> None:
        entry = source(f"{LISTS}/rocm-56.list", "https://repo.radeon.com/rocm/apt/5.6", {"arch": "amd64"})
        snapshot["apt"]["sources"].append({**entry, "line": 1})

    text = told("apt.signed_by_missing", old)
    assert f"{LISTS}/rocm-56.list" in text
    assert "signed-by" in text


def test_p05_a_tree_that_no_package_owns_and_a_link_into_it_are_told_with_link_target_and_owner() -> None:
    tree = {"path": "/opt/rocm-6.1.2", "owners": [], "version": None, "unowned_files": 1}
    link = change("opt/rocm_link", {"target": "/opt/rocm-6.1.2", "resolved": "/opt/rocm-6.1.2"})
    orphan = told("fs.rocm_orphan_tree", lambda snapshot: snapshot["opt"]["trees"].append(tree))
    assert "/opt/rocm-6.1.2" in orphan
    mismatch = told("fs.opt_rocm_version_mismatch", link)
    assert "/opt/rocm-6.1.2" in mismatch
    assert "5.4.2" in mismatch
    gone = {"name": "hipcc", "value": "/opt/rocm-6.1.2/bin/hipcc", "target_exists": False, "choices": []}
    text = told("alt.target_missing", change("alternatives", [gone]))
    assert "hipcc" in text
    assert "/opt/rocm-6.1.2/bin/hipcc" in text


def test_p06_an_orphan_of_dkms_is_told_by_its_version() -> None:
    orphan = {
        "module": "amdgpu", "version": "6.7.0-1787201.22.04", "path": "/var/lib/dkms/amdgpu/6.7.0-1787201.22.04",
        "has_source": False, "kernels": {},
    }  # fmt: skip
    text = told("dkms.orphan_tree", lambda snapshot: snapshot["dkms"]["trees"].append(orphan))
    assert "6.7.0-1787201.22.04" in text


def test_p07_two_streams_are_told_by_release_and_by_suite() -> None:
    text = told("pkg.stream_coherent", package("amdgpu-lib", "1:6.1.60102-1781449.22.04"))
    assert "ROCm 6.1.2" in text
    assert "ROCm 5.4.2" in text
    assert "builds for 20.04" in told("pkg.stream_coherent", package("rocblas", "2.46.0.50402-104~20.04"))


@pytest.mark.parametrize("state", ["iF ", "iU ", "iHR"])
def test_p08_what_dpkg_has_not_finished_is_told_with_its_state(state: str) -> None:
    text = told("dpkg.unfinished", package("amdgpu-dkms", "1:6.7.0.60102-1781449.22.04", state))
    assert "amdgpu-dkms" in text
    assert state.strip() in text


def test_p12_a_package_of_the_release_that_is_free_to_move_is_told() -> None:
    version = PACKAGES["hipcc"]
    assert "hipcc" in told("pkg.hold_state", package("hipcc", version, hold=False))


def test_k01_a_kernel_package_that_a_build_has_failed_is_told_with_its_state() -> None:
    name = "linux-headers-6.8.0-44-generic"
    text = told("kernel.half_configured", package(name, "6.8.0-44.44", "iF "))
    assert f"{name}" in text
    assert "iF" in text


def test_k01_the_next_boots_kernel_without_a_driver_is_told() -> None:
    text = told("dkms.built_for_next_boot", change("kernel/next_release", "6.8.0-44-generic"))
    assert "6.8.0-44-generic" in text


def test_k02_a_package_that_brings_the_next_kernel_is_told() -> None:
    text = told("kernel.hwe_meta_installed", package("linux-generic-hwe-24.04", "6.14.0-24.24~24.04.3"))
    assert "linux-generic-hwe-24.04" in text
    assert "next version" in text


def test_k03_a_running_kernel_without_headers_is_told() -> None:
    release = "5.18.2-mi300-build-000000-ubuntu-22.04"
    text = told("kernel.headers_available", change("kernel/release", release), change("kernel/headers", []))
    assert release in text


def test_k04_a_signer_that_is_not_enrolled_is_told_with_mokutils_command() -> None:
    state = {"enabled": True, "enrolled": ["Canonical Ltd. Master Certificate Authority"]}
    text = told(
        "boot.secureboot_module_trust",
        change("secure_boot", state),
        change(
            "modules/file", {"path": "/lib/modules/x/amdgpu.ko", "signer": "node01 Secure Boot Module Signature key"}
        ),
    )
    assert "node01 Secure Boot Module Signature key" in text
    assert "mokutil --import" in text
    assert "console" in text


def test_k05_a_blacklist_without_a_loader_is_told_with_its_file() -> None:
    path = "/etc/modprobe.d/blacklist-amdgpu.conf"
    text = told("mod.blacklist_state", change("modules/blacklisted_by", [path]))
    assert path in text


def test_k06_firmware_that_is_gone_is_told_by_its_file() -> None:
    gone = told("fw.present_for_gpu", lambda snapshot: snapshot["firmware_files"]["found"].pop("aldebaran_smc.bin"))
    assert "aldebaran_smc.bin" in gone
    path = "/lib/firmware/amdgpu/arcturus_gpu_info.bin"
    missing = change("firmware_files/missing", [{"package": "linux-firmware", "path": path}])
    deleted = told("fw.package_verify", missing)
    assert path in deleted
    assert "linux-firmware" in deleted


def test_y01_a_torch_that_a_later_pip_has_swapped_is_told_by_what_it_was_built_for() -> None:
    swapped = change("python_envs/0/torch", {"version": "2.9.1", "hip": None, "cuda": "12.8"})
    text = told("py.torch_is_rocm", swapped)
    for word in ("2.9.1", "CUDA 12.8", "2.0.1+rocm5.4.2"):
        assert word in text
    assert "nvidia-cublas-cu12 12.8.4.1" in told("py.no_nvidia_wheels", wheel("nvidia-cublas-cu12", "12.8.4.1"))


def test_y05_every_owner_of_triton_is_told_and_who_asked_for_it() -> None:
    text = told("py.triton_single_owner", wheel("triton", "3.3.0"), wheel("xgrammar", "0.1", "triton>=3"))
    assert "pytorch-triton-rocm" in text
    assert "triton 3.3.0 (asked for by xgrammar)" in text


def test_y06_numpy_2_under_a_torch_for_numpy_1_is_told_with_both() -> None:
    text = told("py.numpy_abi", wheel("numpy", "2.0.1"))
    assert "2.0.1" in text
    assert "was built with numpy 1" in text
    assert "numpy<2" in text
