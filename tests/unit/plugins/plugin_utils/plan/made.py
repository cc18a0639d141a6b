# SPDX-License-Identifier: Apache-2.0
"""Make small snapshots by hand: only what a plan reads. They are no readings of real nodes."""

from __future__ import annotations

import copy
import pathlib
import typing as t

from ansible_collections.instinct.bringup.plugins.plugin_utils.catalog import default_catalog
from ansible_collections.instinct.bringup.plugins.plugin_utils.managed import ManagedFile
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.build import PlanDict, build_plan
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.model import PlanContext
from ansible_collections.instinct.bringup.plugins.plugin_utils.profile import Profile, all_options, build_profile

FINGERPRINT = "CA8BB4727A47B4D09B4EE8969386B48A1A693C5C"
HASH = "--hash=sha256:" + "0" * 64
LOCK = "".join(
    f"{name}=={version} \\\n    {HASH}\n"
    for name, version in (
        ("torch", "2.0.1+rocm5.4.2"),
        ("torchvision", "0.15.2+rocm5.4.2"),
        ("torchaudio", "2.0.2+rocm5.4.2"),
        ("numpy", "1.26.4"),
    )
)
GPU = {
    "bdf": "0000:63:00.0",
    "vendor": "1002",
    "device": "740f",
    "subsystem_vendor": "1002",
    "subsystem_device": "0c34",
    "class": "038000",
    "revision": "02",
    "driver": "amdgpu",
    "numa_node": 0,
    "local_cpulist": "0-63",
    "link": {"current_speed": "16.0 GT/s PCIe", "current_width": 16, "max_speed": "16.0 GT/s PCIe", "max_width": 16},
    "path": [],
    "bars": [],
    "vbios": "113-D67301-059",
    "firmware": {},
    "vram_bytes": 68702699520,
    "hive_id": None,
    "render_minor": 128,
    "card": "card0",
}
BARE: dict[str, t.Any] = {
    "schema": 1,
    "root": "/",
    "problems": [],
    "skipped": {},
    "os": {
        "id": "ubuntu",
        "id_like": "debian",
        "version_id": "22.04",
        "codename": "jammy",
        "pretty_name": "Ubuntu 22.04.3 LTS",
        "machine": "x86_64",
    },
    "kernel": {
        "release": "5.15.0-91-generic",
        "cmdline": "ro iommu=pt",
        "boot_id": "b",
        "next_release": "5.15.0-91-generic",
        "next_cmdline": None,
        "installed": ["5.15.0-91-generic"],
        "headers": [],
    },
    "python": {"executable": "/usr/bin/python3", "version": "3.10.12", "tag": "cp310", "ensurepip": False},
    "cpu": {"logical": 64, "sockets": 1, "vendor": "AuthenticAMD", "family": 25, "model": 1, "smt_active": False},
    "memory": {"total_bytes": 2**39},
    "numa": {"nodes": [{"id": 0, "cpulist": "0-63", "distance": [10]}]},
    "pci": {"gpus": [GPU], "nics": []},
    "kfd": {
        "nodes": [
            {
                "id": 0,
                "name": None,
                "gpu_id": None,
                "properties": {"cpu_cores_count": 64, "simd_count": 0},
                "io_links": [],
                "p2p_links": [],
                "mem_banks": [],
                "bdf": None,
            },
            {
                "id": 1,
                "name": None,
                "gpu_id": 1,
                "properties": {
                    "cpu_cores_count": 0,
                    "simd_count": 416,
                    "device_id": 29711,
                    "vendor_id": 4098,
                    "location_id": 0x6300,
                    "domain": 0,
                    "gfx_target_version": 90010,
                    "hive_id": 0,
                },
                "io_links": [{"type": 2, "node_from": 1, "node_to": 0, "weight": 20}],
                "p2p_links": [],
                "mem_banks": [],
                "bdf": "0000:63:00.0",
            },
        ]
    },
    "modules": {"amdgpu": {"loaded": True, "version": None, "initstate": "live", "refcount": 0}, "blacklisted_by": []},
    "dkms": {"trees": []},
    "devices": {"nodes": [], "open_as": {}},
    "gpu_processes": [],
    "users": {"deploy": {"exists": True, "local": True, "uid": 1000, "gid": 1000, "groups": ["deploy"]}},
    "groups": {"render": 104, "video": 44},
    "dpkg": {"architecture": "amd64", "packages": {}},
    "apt": {"sources": [], "preferences": [], "preference_problems": [], "keyrings": [], "policy": {}, "locks": []},
    "opt": {"rocm_link": None, "trees": []},
    "alternatives": [],
    "leftovers": [],
    "space": {
        "/opt": {"free_bytes": 2**40, "total_bytes": 2**41},
        "/opt/instinct-bringup/venv": {"free_bytes": 2**40, "total_bytes": 2**41},
    },
    "python_envs": [],
    "net": {"interfaces": [], "hcas": []},
    "watch": {"/proc/sys/kernel/numa_balancing": {"type": "file", "text": "0\n"}},
    "journal": {"runs": [], "holds": []},
}


def bare() -> dict[str, t.Any]:
    """Return a node of Ubuntu 22.04 with one MI210 and nothing of ROCm."""
    return copy.deepcopy(BARE)


def package(version: str, status: str = "ii ", *, hold: bool = False) -> dict[str, t.Any]:
    """Return a row of dpkg."""
    return {"version": version, "status": status, "hold": hold, "auto": None}


def old() -> dict[str, t.Any]:
    """Return a node of Ubuntu 20.04 that carries ROCm 5.2.0 and older remains."""
    snapshot = bare()
    snapshot["os"].update(version_id="20.04", codename="focal", pretty_name="Ubuntu 20.04.6 LTS")
    snapshot["modules"]["amdgpu"]["version"] = "5.16.9.22.20"
    snapshot["dpkg"]["packages"] = {
        "amdgpu-install": package("22.20.50200-1"),
        "amdgpu-dkms": package("1:5.16.9.22.20-1438746~20.04"),
        "rocm-hip-sdk": package("5.2.0.50200-65~20.04", "hi ", hold=True),
        "rocm-core": package("5.2.0.50200-65~20.04"),
        "rocm-cmake": package("5.0.0-1"),
        "libamdhip64-5": package("5.0.0-1"),
        "linux-image-generic": package("5.15.0.91.88", "hi ", hold=True),
        "libucx0": package("1.8.1-2"),
    }
    snapshot["apt"]["sources"] = [
        source("/etc/apt/sources.list.d/rocm.list", "https://repo.radeon.com/rocm/apt/5.2"),
        source("/etc/apt/sources.list.d/rocm-old.list", "https://repo.radeon.com/rocm/apt/5.2"),
        source("/etc/apt/sources.list.d/other.list", "https://vendor.example/apt"),
        source("/etc/apt/sources.list.d/mixed.list", "https://vendor.example/apt"),
        source("/etc/apt/sources.list.d/mixed.list", "https://repo.radeon.com/rocm/apt/5.1"),
    ]
    snapshot["dkms"]["trees"] = [
        {"module": "amdgpu", "version": "5.13.20.22.10-1420322.20.04", "path": "p", "has_source": False, "kernels": {}},
        {"module": "other", "version": "1.0", "path": "p", "has_source": True, "kernels": {}},
    ]
    snapshot["opt"]["trees"] = [
        {"path": "/opt/rocm-5.1.3", "owners": [], "version": "5.1.3-66", "unowned_files": 3},
        {"path": "/opt/rocm-5.2.0", "owners": ["rocm-core"], "version": "5.2.0-65", "unowned_files": 0},
    ]
    snapshot["alternatives"] = [
        {"name": "rocm", "value": "/opt/rocm-5.2.0", "target_exists": True, "choices": ["/opt/rocm-5.2.0"]}
    ]
    return snapshot


def source(path: str, uri: str) -> dict[str, t.Any]:
    """Return an enabled source line."""
    return {
        "path": path,
        "line": 1,
        "enabled": True,
        "type": "deb",
        "uri": uri,
        "suite": "focal",
        "components": ["main"],
        "options": {},
    }


def profile(**given: t.Any) -> Profile:
    """Return a profile with what a site must set, and what is given."""
    return build_profile(
        all_options(default_catalog()), {"rocm_installer_sha256": "a" * 64, "bringup_users": ["deploy"], **given}
    )


def context(snapshot: dict[str, t.Any], lock: str | None = LOCK, **given: t.Any) -> PlanContext:
    """Return what a plan is made from."""
    return PlanContext(
        "node1", "RUN", profile(**given), default_catalog(), snapshot, (("node1", 1), ("node2", None)), lock
    )


def plan(snapshot: dict[str, t.Any], lock: str | None = LOCK, **given: t.Any) -> PlanDict:
    """Return the plan of a snapshot."""
    return build_plan(context(snapshot, lock, **given))


def converged() -> dict[str, t.Any]:
    """Return a snapshot that has everything its own plan asks for, filled in from that plan."""
    snapshot = bare()
    wanted = plan(snapshot, bringup_reboot=True)
    for entry in wanted["files"]:
        file = ManagedFile(**{key: value for key, value in entry.items() if key != "role"})
        snapshot["watch"][file.path] = {
            "type": "file",
            "sha256": file.sha256,
            "mode": file.mode,
            "owner": file.owner,
            "group": file.group,
            "size": len(file.content),
            "target": None,
            "text": file.content,
        }
    versions = {
        "*": "4.1.2-2ubuntu1",
        "1:5.18.13.50402-*": "1:5.18.13.50402-1510348.22.04",
        "*.50402-*22.04": "5.4.2.50402-104~22.04",
        "5.4.50402-1*": "5.4.50402-1",
    }
    for name, pattern in wanted["packages"].items():
        amd = pattern != "*"
        snapshot["dpkg"]["packages"][name] = package(versions[pattern], "hi " if amd else "ii ", hold=amd)
    snapshot["dpkg"]["packages"].update({"python3-venv": package("3.10.6"), "python3-packaging": package("21.3-1")})
    snapshot["modules"]["amdgpu"]["version"] = "5.18.13"
    snapshot["kernel"]["headers"] = ["5.15.0-91-generic"]
    snapshot["apt"]["keyrings"] = [
        {
            "path": "/etc/apt/keyrings/rocm.gpg",
            "keys": [{"fingerprint": FINGERPRINT, "created": "", "expires": None}],
            "problem": None,
        }
    ]
    snapshot["users"]["deploy"]["groups"] = ["deploy", "render", "video"]
    pins = {
        "torch": "2.0.1+rocm5.4.2",
        "torchvision": "0.15.2+rocm5.4.2",
        "torchaudio": "2.0.2+rocm5.4.2",
        "numpy": "1.26.4",
    }
    snapshot["python_envs"] = [
        {
            "path": "/opt/instinct-bringup/venv",
            "exists": True,
            "python": "3.10.12",
            "distributions": {name: {"version": version, "requires": []} for name, version in pins.items()},
            "torch": None,
        }
    ]
    return snapshot


REPOSITORY = pathlib.Path(__file__).resolve().parents[5]
