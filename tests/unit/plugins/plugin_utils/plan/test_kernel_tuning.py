# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import typing as t

import pytest

from ansible_collections.instinct.bringup.plugins.plugin_utils.managed import ManagedFile
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan import kernel_tuning

from . import made

WANTED: dict[str, t.Any] = {
    "kernel_tuning_boot_parameters": ["iommu=pt", "amd_iommu=on"],
    "kernel_tuning_sysctl": {"kernel.numa_balancing": False, "vm.max_map_count": 262144},
    "kernel_tuning_memlock_services": ["slurmd", "docker.service"],
    "kernel_tuning_transparent_hugepage": "always",
    "kernel_tuning_disable_acs": True,
}


# What a site sets that wants none of it.
NOTHING: dict[str, t.Any] = {"kernel_tuning_boot_parameters": [], "kernel_tuning_sysctl": {}}


def step(snapshot: dict[str, t.Any], **given: t.Any) -> t.Any:
    return kernel_tuning.plan_kernel_tuning(made.context(snapshot, **given))


def contents() -> dict[str, str]:
    return {file.path: file.content for file in step(made.bare(), **WANTED).files}


def tuned() -> dict[str, t.Any]:
    snapshot = made.bare()
    for file in step(snapshot, **WANTED).files:
        snapshot["watch"][file.path] = as_watched(file)
    snapshot["watch"]["/proc/sys/kernel/numa_balancing"] = {"type": "file", "text": "0\n"}
    snapshot["watch"]["/proc/sys/vm/max_map_count"] = {"type": "file", "text": "262144\n"}
    snapshot["watch"][kernel_tuning.HUGE_PAGES] = {"type": "file", "text": "[always] madvise never\n"}
    snapshot["watch"][kernel_tuning.ENABLED] = {"type": "link"}
    return snapshot


def as_watched(file: ManagedFile) -> dict[str, t.Any]:
    return {"type": "file", "sha256": file.sha256, "mode": file.mode, "owner": file.owner, "group": file.group}


def test_nothing_is_planned_where_a_site_asks_for_nothing() -> None:
    planned = step(made.bare(), **NOTHING)
    assert planned.changes == planned.files == ()


def test_existing_boot_parameters_are_kept_and_ours_come_last() -> None:
    content = contents()[kernel_tuning.GRUB]
    assert 'GRUB_CMDLINE_LINUX_DEFAULT="${GRUB_CMDLINE_LINUX_DEFAULT} iommu=pt amd_iommu=on"' in content


def test_a_service_gets_its_limit_through_a_drop_in() -> None:
    files = contents()
    for name in ("slurmd", "docker"):
        path = f"/etc/systemd/system/{name}.service.d/99-instinct-bringup.conf"
        assert "LimitMEMLOCK=infinity" in files[path]
    assert "memlock unlimited" in files[kernel_tuning.LIMITS]


def test_booleans_of_yaml_become_the_kernels_numbers() -> None:
    assert "kernel.numa_balancing = 0\n" in contents()[kernel_tuning.SYSCTL]


def test_a_tuned_node_has_nothing_to_change() -> None:
    planned = step(tuned(), **WANTED)
    assert planned.changes == ()
    inputs = planned.inputs
    assert not (inputs["grub"])
    assert not (inputs["sysctl"])
    assert not (inputs["reload"])
    assert not (inputs["unit"]["start"])


@pytest.mark.parametrize(
    ("path", "value", "kind", "input_name"),
    [
        ("/proc/sys/kernel/numa_balancing", {"text": "1\n"}, "sysctl", "sysctl"),
        (kernel_tuning.HUGE_PAGES, {"text": "always [madvise] never\n"}, "live", None),
        (kernel_tuning.GRUB, {"sha256": "0"}, "file", "grub"),
        (kernel_tuning.UNIT, {"mode": "0666"}, "file", "reload"),
        (kernel_tuning.ENABLED, {"type": "absent"}, "unit", "reload"),
    ],
)
def test_what_was_changed_behind_our_back_is_planned_back(
    path: str, value: dict[str, str], kind: str, input_name: str | None
) -> None:
    snapshot = tuned()
    snapshot["watch"][path].update(value)
    planned = step(snapshot, **WANTED)
    assert [change.kind for change in planned.changes] == [kind]
    assert planned.inputs[input_name] if input_name else planned.inputs["unit"]["start"]


def test_what_is_no_longer_asked_for_is_taken_away() -> None:
    planned = step(tuned(), **NOTHING)
    assert {change.subject for change in planned.changes} >= {kernel_tuning.GRUB, kernel_tuning.SYSCTL}
    assert all(change.after in ("absent", "disabled") for change in planned.changes)
    assert planned.inputs["grub"]


def test_the_drop_in_of_a_service_that_a_site_no_longer_names_goes() -> None:
    snapshot = tuned()
    given = {**WANTED, "kernel_tuning_memlock_services": ["slurmd"]}
    path = "/etc/systemd/system/docker.service.d/99-instinct-bringup.conf"
    planned = step(snapshot, **given)
    assert [(change.subject, change.after) for change in planned.changes] == [(path, "absent")]
    assert planned.inputs["absent"] == [path]
    assert planned.inputs["reload"]


def test_a_menu_of_the_boot_loader_without_the_parameters_is_made_anew() -> None:
    snapshot = tuned()
    snapshot["kernel"].update(cmdline="ro iommu=pt amd_iommu=on", boot_cmdline="root=UUID=1 ro iommu=pt")
    planned = step(snapshot, **WANTED)
    assert [(change.kind, change.before) for change in planned.changes] == [("boot", "without amd_iommu=on")]
    assert planned.inputs["grub"]
    snapshot["kernel"]["boot_cmdline"] += " amd_iommu=on"
    assert step(snapshot, **WANTED).changes == ()


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("kernel_tuning_boot_parameters", ['x" ; reboot "']),
        ("kernel_tuning_boot_parameters", ["iommu=pt quiet"]),
        ("kernel_tuning_sysctl", {"kernel numa": 1}),
        ("kernel_tuning_memlock_services", ["../x"]),
    ],
)
def test_a_word_that_would_not_stay_one_is_refused(option: str, value: t.Any) -> None:
    (refusal,) = made.plan(made.bare(), **{option: value})["refusals"]
    assert refusal["subject"] == option


def test_every_file_and_what_is_in_effect_is_watched() -> None:
    profile = made.profile(**WANTED)
    watched = {*kernel_tuning.tuning_paths(profile), *kernel_tuning.live_paths(profile)}
    assert set(contents()) <= watched
    assert {"/proc/sys/kernel/numa_balancing", kernel_tuning.HUGE_PAGES} <= watched


def test_an_intel_host_gets_its_iommu_switched_on_too() -> None:
    snapshot = made.bare()
    snapshot["cpu"]["vendor"] = "GenuineIntel"
    content = next(file.content for file in step(snapshot).files if file.path == kernel_tuning.GRUB)
    assert "} intel_iommu=on iommu=pt" in content


def test_what_is_in_force_is_not_asked_of_a_capture_without_files() -> None:
    snapshot = made.bare()
    snapshot["watch"] = None
    assert not [change for change in step(snapshot).changes if change.kind == "sysctl"]
