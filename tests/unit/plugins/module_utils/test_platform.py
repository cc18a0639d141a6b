# SPDX-License-Identifier: Apache-2.0
"""Readers of how a machine is set up: IOMMU, power, tunables, memory, services, firmware files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.instinct.bringup.plugins.module_utils import (
    cpu_power,
    firmware_files,
    iommu,
    memory_settings,
    services,
    smi,
    sysctl,
)
from ansible_collections.instinct.bringup.plugins.module_utils.command_runner import Result
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

Plant = Callable[[dict[str, Any]], Tree]
BDF = "0000:63:00.0"
CPU = "/sys/devices/system/cpu"
BALANCING = "kernel.numa_balancing"


def test_how_the_iommu_treats_the_gpus(plant: Plant, gpu: Callable[..., Any]) -> None:
    tree = plant({**gpu(), "/sys/class/iommu/ivhd0": None})
    assert iommu.read_iommu(tree, [BDF, "0000:99:00.0"]) == {
        "units": ["ivhd0"],
        "gpu_types": {BDF: "identity", "0000:99:00.0": None},
    }


def test_governors_and_idle_states_are_counted(plant: Plant) -> None:
    files = {f"{CPU}/online": "0-2\n", f"{CPU}/cpuidle/current_driver": "acpi_idle\n"}
    for number in range(3):
        files[f"{CPU}/cpu{number}/cpufreq/scaling_governor"] = "performance\n" if number else "schedutil\n"
        for state, name in enumerate(("POLL", "C1", "C2")):
            files[f"{CPU}/cpu{number}/cpuidle/state{state}/name"] = f"{name}\n"
            files[f"{CPU}/cpu{number}/cpuidle/state{state}/disable"] = "1\n" if number == 0 else "0\n"
    assert cpu_power.read_cpu_power(plant(files)) == {
        "governors": {"schedutil": 1, "performance": 2},
        "idle_driver": "acpi_idle",
        "idle_states": [{"state": "state2", "name": "C2", "processors": 3, "disabled": 1}],
    }


@pytest.mark.parametrize(
    ("files", "value", "source"),
    [
        ({}, None, None),
        ({"/etc/sysctl.d/90-rocm.conf": "kernel.numa_balancing=0\n"}, "0", "/etc/sysctl.d/90-rocm.conf"),
        (
            {
                "/etc/sysctl.d/90-rocm.conf": "kernel.numa_balancing=0\n",
                "/etc/sysctl.d/99-tuned.conf": "kernel.numa_balancing = 1\n",
            },
            "1",
            "/etc/sysctl.d/99-tuned.conf",
        ),
        (
            {
                "/usr/lib/sysctl.d/50-x.conf": "-kernel/numa_balancing=2\n",
                "/etc/sysctl.d/50-x.conf": "# hides the other\n",
            },
            None,
            None,
        ),
        ({"/usr/lib/sysctl.d/50-x.conf": "-kernel/numa_balancing=2\n"}, "2", "/usr/lib/sysctl.d/50-x.conf"),
        ({"/proc/cmdline": "ro numa_balancing=disable\n"}, "0", "/proc/cmdline"),
        (
            {"/proc/cmdline": "sysctl.kernel.numa_balancing=0\n", "/etc/sysctl.d/a.conf": "kernel.numa_balancing=1"},
            "1",
            "/etc/sysctl.d/a.conf",
        ),
    ],
    ids=["nobody", "one", "a later one wins", "hidden by name", "with slashes", "command line", "files win"],
)
def test_what_the_next_boot_sets(plant: Plant, files: dict[str, Any], value: str | None, source: str | None) -> None:
    seen = sysctl.read_sysctl(plant({"/proc/sys/kernel/numa_balancing": "1\n", **files}))[BALANCING]
    assert (seen["now"], seen["next"], seen["next_from"]) == ("1", value, source)


def test_a_kernel_without_the_tunable(plant: Plant) -> None:
    tree = plant({})
    assert sysctl.read_sysctl(tree)[BALANCING]["now"] is None
    assert tree.problems() == []


def test_the_word_in_brackets(plant: Plant) -> None:
    tree = plant({f"{memory_settings.THP}/enabled": "always [madvise] never\n", f"{memory_settings.THP}/defrag": "x\n"})
    assert memory_settings.read_thp(tree) == {"enabled": "madvise", "defrag": None}
    assert tree.problems()[0]["path"].endswith("defrag")


def test_shared_memory(plant: Plant) -> None:
    tree = plant({"/dev/shm": None})
    seen = memory_settings.read_shm(tree)
    assert seen is not None
    assert seen["total_bytes"] >= seen["free_bytes"] > 0


LIMITS = "Limit                     Soft Limit           Hard Limit           Units     \n"


@pytest.mark.parametrize(
    ("line", "limits"),
    [
        ("Max locked memory         65536                65536                bytes     \n", [65536, 65536]),
        ("Max locked memory         unlimited            unlimited            bytes     \n", ["unlimited"] * 2),
        ("Max open files            1024                 4096                 files     \n", [None, None]),
        ("Max locked memory         lots                 65536                bytes     \n", [None, 65536]),
    ],
    ids=["64 KiB", "unlimited", "not there", "odd"],
)
def test_limits_of_a_service(plant: Plant, line: str, limits: list[Any]) -> None:
    tree = plant(
        {
            "/proc/40/comm": "slurmd\n",
            "/proc/40/limits": LIMITS + line,
            "/proc/41/comm": "slurmd\n",
            "/proc/5/comm": "bash\n",
            "/proc/self": None,
        }
    )
    (seen,) = services.read_services(tree)
    assert (seen["name"], seen["pid"]) == ("slurmd", 40)
    assert [seen["memlock_soft"], seen["memlock_hard"]] == limits


def test_who_loads_a_module_on_purpose(plant: Plant) -> None:
    unit = "[Service]\nExecStart=/sbin/modprobe amdgpu\n"
    tree = plant(
        {
            "/etc/systemd/system/late.service": unit,
            "/etc/systemd/system/commented.service": "#ExecStart=/sbin/modprobe amdgpu\n",
            "/etc/systemd/system/other.service": "ExecStart=/sbin/modprobe amdgpu_other\n",
            "/etc/systemd/system/link.service": "-> /usr/lib/systemd/system/big.service",
            "/usr/lib/systemd/system/amdgpu-load.service": unit,
            "/usr/lib/systemd/system/big.service": unit,
            "/etc/modules-load.d/gpu.conf": "# why\namdgpu\n",
            "/etc/modules": "loop\n",
            "/etc/rc.local": "#!/bin/sh\nmodprobe -v amdgpu\n",
        }
    )
    assert services.read_loaders(tree, "amdgpu") == [
        "/etc/systemd/system/late.service",
        "/usr/lib/systemd/system/amdgpu-load.service",
        "/etc/rc.local",
        "/etc/modules-load.d/gpu.conf",
    ]


def test_where_the_kernel_finds_firmware(plant: Plant) -> None:
    tree = plant(
        {
            "/lib/firmware/updates/amdgpu/aldebaran_mec.bin": "",
            "/lib/firmware/amdgpu/aldebaran_mec.bin": "",
            "/lib/firmware/amdgpu/aldebaran_smc.bin.zst": "",
            "/lib/firmware/amdgpu/vega20_smc.bin": "",
            "/var/lib/dpkg/info/linux-firmware.list": "/lib/firmware/amdgpu/arcturus_gpu_info.bin\n"
            "/lib/firmware/amdgpu/aldebaran_mec.bin\n",
        }
    )
    assert firmware_files.read_firmware_files(tree, "5.15.0-91-generic") == {
        "found": {
            "aldebaran_mec.bin": "/lib/firmware/updates/amdgpu/aldebaran_mec.bin",
            "aldebaran_smc.bin": "/lib/firmware/amdgpu/aldebaran_smc.bin.zst",
        },
        "missing": [{"package": "linux-firmware", "path": "/lib/firmware/amdgpu/arcturus_gpu_info.bin"}],
    }


def test_the_tools_are_asked_only_where_they_are(plant: Plant, tmp_path: Path) -> None:
    tree = plant({"/opt/rocm/bin/rocm-smi": ""})
    seen = smi.run_tools(tree, lambda argv: Result(0, " ".join(argv), "warning"))
    assert seen is not None
    assert seen["rocm_smi_hw"] == {"rc": 0, "out": "/opt/rocm/bin/rocm-smi --showhw", "err": "warning"}
    assert seen["amd_smi_list"] is None
    assert smi.run_tools(tree, None) is None
