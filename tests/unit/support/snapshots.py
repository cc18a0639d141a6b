# SPDX-License-Identifier: Apache-2.0
"""Made nodes for the tests of checks and reports: whole snapshots, healthy, with the plan that fits them.

Nothing here is read from hardware. A test takes a healthy node, breaks one thing, and asks one check.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import hashlib
import json
from collections.abc import Callable
from typing import Any

from support.machines import MACHINES, Json, hardware

from ansible_collections.instinct.bringup.plugins.plugin_utils.catalog import default_catalog
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks import CHECKS, CheckContext, CheckResult
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.build import build_plan, watched_paths
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.model import PlanContext
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.repositories import KEYRING_PATH
from ansible_collections.instinct.bringup.plugins.plugin_utils.profile import Profile, all_options, build_profile

KERNEL = "5.15.0-91-generic"
DRIVER = "5.18.13-1510348.22.04"
VENV = "/opt/instinct-bringup/venv"
BASE = "https://repo.radeon.com"
KEY = "CA8BB4727A47B4D09B4EE8969386B48A1A693C5C"
# ROCm's own numbers within release 5.4.2; only the tail tells the release.
PACKAGES = {
    "amdgpu-install": "5.4.50402-1",
    "amdgpu-dkms": "1:5.18.13.50402-1510348.22.04",
    "amdgpu-dkms-firmware": "1:5.18.13.50402-1510348.22.04",
    "rocm-core": "5.4.2.50402-104~22.04",
    "rocm-hip-sdk": "5.4.2.50402-104~22.04",
    "rocminfo": "1.0.0.50402-104~22.04",
    "hipcc": "1.0.0.50402-104~22.04",
    "rccl": "2.13.4.50402-104~22.04",
}
OTHERS = {
    "openmpi-bin": "4.1.2-2ubuntu1",
    "libopenmpi-dev": "4.1.2-2ubuntu1",
    "pdsh": "2.31-3build2",
    "python3-venv": "3.10.6-1~22.04",
    "python3-packaging": "21.3-1",
    "linux-image-generic": "5.15.0.91.88",
}
WHEELS = {
    "torch": "2.0.1+rocm5.4.2",
    "torchvision": "0.15.2+rocm5.4.2",
    "torchaudio": "2.0.2+rocm5.4.2",
    "pytorch-triton-rocm": "2.0.2",
    "numpy": "1.26.4",
    "filelock": "3.13.1",
}
LOCK = "".join(f"{name}=={version} \\\n    --hash=sha256:{'0' * 64}\n" for name, version in WHEELS.items())


def source(path: str, uri: str, options: Json | None = None) -> Json:
    return {
        "path": path, "line": 2, "enabled": True, "type": "deb", "uri": uri, "suite": "jammy", "components": ["main"],
        "options": {"arch": "amd64", "signed-by": KEYRING_PATH} if options is None else options,
    }  # fmt: skip


def policy(version: str, priority: int = 600, shadow: str | None = None) -> Json:
    """Return apt's policy of an installed package of AMD's, with a distribution's version beside it or none."""
    mirror = {"priority": priority, "uri": f"{BASE}/rocm/apt/5.4.2", "suite": "jammy/main"}
    versions = [{"version": version, "priority": priority, "sources": [mirror]}]
    if shadow:
        archive = {"priority": 500, "uri": "http://mirror.example/ubuntu", "suite": "jammy/universe"}
        versions.insert(0, {"version": shadow, "priority": 500, "sources": [archive]})
    return {"installed": version, "candidate": version, "versions": versions}


def interface(name: str, state: str = "up") -> Json:
    return {"name": name, "operstate": state, "mtu": 1500, "speed_mbps": None, "bdf": None, "virtual": True}


def software() -> Json:
    """Return everything of a snapshot that is not hardware, of a node that has what the profile wants."""
    rows = {
        name: {"version": version, "status": "ii ", "hold": name in PACKAGES, "auto": None}
        for name, version in {**PACKAGES, **OTHERS}.items()
    }
    devices = ["/dev/kfd", "/dev/dri/renderD128"]
    return {
        "schema": 1, "collected": "2026-12-01T08:00:00Z", "root": "/", "cpu_seconds": 0.2, "problems": [],
        "skipped": {},
        "os": {
            "id": "ubuntu", "id_like": "debian", "version_id": "22.04", "codename": "jammy",
            "pretty_name": "Ubuntu 22.04.3 LTS", "machine": "x86_64",
        },
        "kernel": {
            "release": KERNEL, "cmdline": f"BOOT_IMAGE=/vmlinuz-{KERNEL} ro iommu=pt", "boot_id": "made",
            "next_release": KERNEL, "next_cmdline": "iommu=pt", "installed": [KERNEL], "headers": [KERNEL],
            "config": dict.fromkeys(("CONFIG_PCI_P2PDMA", "CONFIG_DMABUF_MOVE_NOTIFY", "CONFIG_HSA_AMD_P2P"), "y"),
        },
        "python": {"executable": "/usr/bin/python3", "version": "3.10.12", "tag": "cp310", "ensurepip": True},
        "cpu": {"logical": 128, "sockets": 2, "vendor": "AuthenticAMD", "family": 25, "model": 1, "smt_active": False},
        "memory": {"total_bytes": 1 << 40},
        "modules": {
            "amdgpu": {"loaded": True, "version": "5.18.13", "initstate": "live", "refcount": 0}, "blacklisted_by": [],
            "file": {"path": f"/lib/modules/{KERNEL}/updates/dkms/amdgpu.ko", "signed": True, "signer": "made owner"},
            "loaders": [],
        },
        "dkms": {"trees": [{
            "module": "amdgpu", "version": DRIVER, "path": f"/var/lib/dkms/amdgpu/{DRIVER}", "has_source": True,
            "kernels": {KERNEL: "installed"},
        }]},
        "devices": {
            "nodes": [
                {"path": path, "mode": "0660", "uid": 0, "gid": 104, "owner": "root", "group": "render"}
                for path in devices
            ],
            "open_as": {"deploy": dict.fromkeys(devices, "ok")},
        },
        "gpu_processes": [],
        "users": {"deploy": {
            "exists": True, "local": True, "uid": 1000, "gid": 1000, "groups": ["deploy", "render", "video"],
            "gids": {"render": 104, "video": 44},
        }},
        "groups": {"render": 104, "video": 44},
        "dpkg": {"architecture": "amd64", "packages": rows},
        "apt": {
            "sources": [
                source("/etc/apt/sources.list.d/rocm.list", f"{BASE}/rocm/apt/5.4.2"),
                source("/etc/apt/sources.list.d/amdgpu.list", f"{BASE}/amdgpu/5.4.2/ubuntu"),
                source("/etc/apt/sources.list", "http://mirror.example/ubuntu", {}),
            ],
            "preferences": [{
                "path": "/etc/apt/preferences.d/rocm-pin-600", "line": 1, "package": "*",
                "pin": "release o=repo.radeon.com", "priority": 600,
            }],
            "preference_problems": [],
            "keyrings": [{
                "path": KEYRING_PATH, "problem": None,
                "keys": [{"fingerprint": KEY, "created": "2016-08-01T00:00:00Z", "expires": "2033-01-01T00:00:00Z"}],
            }],
            "policy": {
                "rocm-core": policy(PACKAGES["rocm-core"]),
                "hipcc": policy(PACKAGES["hipcc"], shadow="5.0.0-1"),
            },
            "locks": [],
        },
        "opt": {
            "rocm_link": {"target": "/etc/alternatives/rocm", "resolved": "/opt/rocm-5.4.2"},
            "trees": [
                {"path": "/opt/rocm-5.4.2", "owners": ["rocm-core"], "version": "5.4.2-104", "unowned_files": 0},
            ],
        },
        "alternatives": [
            {"name": "rocm", "value": "/opt/rocm-5.4.2", "target_exists": True, "choices": ["/opt/rocm-5.4.2"]},
        ],
        "space": {path: {"free_bytes": 1 << 39, "total_bytes": 1 << 40} for path in ("/opt", "/var", VENV)},
        "python_envs": [{
            "path": VENV, "exists": True, "python": "3.10.12",
            "distributions": {
                name: {"version": version, "requires": ["pytorch-triton-rocm"] if name == "torch" else []}
                for name, version in WHEELS.items()
            },
            "torch": {"version": WHEELS["torch"], "hip": "5.4.22803-474e8620", "cuda": None},
        }],
        "net": {"interfaces": [interface("eth0"), interface("lo", "unknown")], "hcas": []},
        "environment": {"files": [], "processes": [], "logs": [], "referenced": {}},
        "journal": {"runs": [], "holds": []},
        "system": {"virtualization": None},
        **platform(),
    }  # fmt: skip


def platform() -> Json:
    """Return the areas about how a machine is set up, well set up."""
    balancing = {"path": "/etc/sysctl.d/90-rocm.conf", "value": "0"}
    return {
        "cpu_power": {
            "governors": {"performance": 128}, "idle_driver": "acpi_idle",
            "idle_states": [{"state": "state2", "name": "C2", "processors": 128, "disabled": 128}],
        },
        "secure_boot": {
            "efi": True, "enabled": True, "setup_mode": False, "enrolled": ["made owner"], "kernel_keys": [],
            "lockdown": "integrity",
        },
        "sysctl": {"kernel.numa_balancing": {
            "now": "0", "next": "0", "next_from": balancing["path"], "set_by": [balancing],
        }},
        "thp": {"enabled": "madvise", "defrag": "madvise"},
        "shm": {"total_bytes": 1 << 39, "free_bytes": 1 << 39},
        "services": [{"name": "slurmd", "pid": 7, "memlock_soft": "unlimited", "memlock_hard": "unlimited"}],
        "firmware_files": {
            "found": {
                f"aldebaran_{part}.bin": f"/lib/firmware/updates/amdgpu/aldebaran_{part}.bin"
                for part in ("mec", "mec2", "rlc", "sdma", "smc", "sos", "ta", "vcn")
            },
            "missing": [],
        },
        "rccl_libraries": {"system": None, "cached": [], "venvs": []},
        "kernel_log": {"whole": True, "events": [], "hives": {}, "vram": {}},
        "slurm": {"lines": []},
        "launch": {
            "user": "deploy", "home": "/home/deploy", "unsafe": [], "listening": [22], "ephemeral": [32768, 60999],
            "authorized": [f"restrict ssh-ed25519 {'A' * 68} instinct-bringup-launch"],
        },
        "mpi": None,
        "tools": None,
        "deepspeed_ops": None,
    }  # fmt: skip


@dataclasses.dataclass
class Node:
    """A node of a test: what the site wants of it, what it shows, and the plan that was made while it was healthy."""

    profile: Profile
    snapshot: Json
    plan: Json

    def context(self) -> CheckContext:
        return CheckContext(self.profile, default_catalog(), self.snapshot, self.plan)

    def replan(self) -> None:
        """Make the plan of the node as it is now."""
        self.plan = _plan(self.profile, self.snapshot)

    def check(self, check_id: str) -> list[CheckResult]:
        return CHECKS[check_id].run(self.context())


def node(machine: str = "mi210-8gpu-2hives", change: Callable[[Json], object] | None = None, **options: Any) -> Node:
    """Return a node of a machine of MACHINES that has what its profile wants.

    change: breaks the snapshot, which the plan does not see. options: of the profile; None leaves one undeclared.
    """
    made = copy.deepcopy(_healthy(machine, json.dumps(options, sort_keys=True)))
    if change is not None:
        change(made.snapshot)
    return made


@functools.cache
def _healthy(machine: str, options: str) -> Node:
    hives, sockets, hive_size = MACHINES[machine]
    given = {
        "rocm_release": "5.4.2", "gpu_model": "mi210", "gpu_count": sum(map(len, hives)), "gpu_hive_size": hive_size,
        "bringup_users": ["deploy"], "rocm_installer_sha256": "0" * 64, "pytorch_lock_file": "made.lock",
        "pytorch_venv": VENV, **json.loads(options),
    }  # fmt: skip
    catalog = default_catalog()
    profile = build_profile(all_options(catalog), {name: value for name, value in given.items() if value is not None})
    assert profile.problems == ()
    snapshot = {**software(), **hardware(hives, sockets), "watch": {}}
    snapshot["cpu"]["sockets"] = sockets
    plan = _plan(profile, snapshot)
    in_force = {"/proc/sys/kernel/numa_balancing": {**_absent(), "type": "file", "text": "0\n"}}
    snapshot["watch"] = (
        {path: _absent() for path in watched_paths(profile)}
        | in_force
        | {file["path"]: _present(file) for file in plan["files"]}
    )
    read = {"/etc/rccl.conf", "/etc/profile.d/rccl.sh"}
    snapshot["environment"]["files"] = [
        {"path": file["path"], "user": None, "text": file["content"]} for file in plan["files"] if file["path"] in read
    ]
    return Node(profile, snapshot, _plan(profile, snapshot))


def _plan(profile: Profile, snapshot: Json) -> Json:
    fleet = (("gpu01", len(snapshot["pci"]["gpus"])),)
    return build_plan(PlanContext("gpu01", "made-run", profile, default_catalog(), snapshot, fleet, LOCK))


def _absent() -> Json:
    return {"type": "absent", **dict.fromkeys(("sha256", "mode", "owner", "group", "size", "target", "text"))}


def _present(file: Json) -> Json:
    content = file["content"].encode()
    return {
        "type": "file", "sha256": hashlib.sha256(content).hexdigest(), "size": len(content), "target": None,
        "text": file["content"], **{key: file[key] for key in ("mode", "owner", "group")},
    }  # fmt: skip
