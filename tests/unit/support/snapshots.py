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
from collections.abc import Callable, Sequence
from typing import Any

from ansible_collections.instinct.bringup.plugins.plugin_utils.catalog import default_catalog
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks import CHECKS, CheckContext, CheckResult
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.build import build_plan, watched_paths
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.model import PlanContext
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.repositories import KEYRING_PATH
from ansible_collections.instinct.bringup.plugins.plugin_utils.profile import Profile, all_options, build_profile

Json = dict[str, Any]

KERNEL = "5.15.0-91-generic"
DRIVER = "5.18.13-1510348.22.04"
VENV = "/opt/instinct-bringup/venv"
BASE = "https://repo.radeon.com"
KEY = "CA8BB4727A47B4D09B4EE8969386B48A1A693C5C"
VBIOS = "113-D67301-059"
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


def link(width: int = 16, speed: float = 16.0) -> Json:
    text = f"{speed:.1f} GT/s PCIe"
    return {"current_speed": text, "current_width": width, "max_speed": text, "max_width": width}


def port(bdf: str, pci_id: str, kind: str, speed: float = 16.0) -> Json:
    vendor, device = pci_id.split(":")
    return {
        "bdf": bdf, "vendor": vendor, "device": device, "class": "060400", "port_type": kind, "link": link(speed=speed),
    }  # fmt: skip


def gpu(bus: int, numa_node: int, minor: int, hive: str | None) -> Json:
    """Return an MI210: the GPU says 32 GT/s, which is the link inside the card."""
    return {
        "bdf": f"0000:{bus:02x}:00.0", "vendor": "1002", "device": "740f",
        "subsystem_vendor": "1002", "subsystem_device": "0c34", "class": "038000", "revision": "02",
        "driver": "amdgpu", "numa_node": numa_node, "local_cpulist": f"{numa_node * 64}-{numa_node * 64 + 63}",
        "link": link(speed=32.0),
        "path": [
            port(f"0000:{bus - 1:02x}:00.0", "1002:14c8", "switch_downstream", 32.0),
            port(f"0000:{bus - 2:02x}:00.0", "1022:14c7", "switch_upstream"),
            port(f"0000:{bus & 0xE0:02x}:01.1", "1022:1483", "root_port", 32.0),
        ],
        "bars": [{"index": 0, "start": 1 << 40, "size": 1 << 36}], "vbios": VBIOS, "firmware": {"mec": "0x00000047"},
        "vram_bytes": 68702699520, "hive_id": hive, "render_minor": minor, "card": f"card{minor - 127}",
    }  # fmt: skip


def kfd_node(number: int, bus: int, near: int, peers: Sequence[int], hive: int) -> Json:
    """Return a KFD node of an MI210 with a PCIe link to its CPU and XGMI links to its peers."""
    links = [{"type": 2, "node_from": number, "node_to": near, "weight": 20}]
    links += [
        {"type": 11, "node_from": number, "node_to": peer, "weight": 15, "min_bandwidth": 50000, "max_bandwidth": 50000}
        for peer in peers
    ]
    properties = {
        "simd_count": 416, "vendor_id": 0x1002, "device_id": 0x740F, "location_id": bus << 8, "domain": 0,
        "hive_id": hive, "gfx_target_version": 90010,
    }  # fmt: skip
    return {
        "id": number, "name": "aldebaran", "gpu_id": 1000 + number, "properties": properties, "io_links": links,
        "p2p_links": [], "mem_banks": [], "bdf": f"0000:{bus:02x}:00.0",
    }  # fmt: skip


def hardware(hives: Sequence[Sequence[int]], sockets: int) -> Json:
    """Return pci, kfd and numa of a machine: buses of MI210 cards, in the groups that bridges join."""
    gpus: list[Json] = []
    nodes: list[Json] = [
        {"id": socket, "name": "", "gpu_id": 0, "properties": {"cpu_cores_count": 64, "simd_count": 0},
         "io_links": [], "p2p_links": [], "mem_banks": [], "bdf": None}
        for socket in range(sockets)
    ]  # fmt: skip
    for position, buses in enumerate(hives):
        hive = 0x2000000000000001 + position if len(buses) > 1 else 0
        first = len(nodes)
        for offset, bus in enumerate(buses):
            near = min(bus // 0x80, sockets - 1)
            peers = [first + other for other in range(len(buses)) if other != offset]
            gpus.append(gpu(bus, near, 128 + len(gpus), f"0x{hive:016x}" if hive else None))
            nodes.append(kfd_node(first + offset, bus, near, peers, hive))
    return {
        "pci": {"gpus": sorted(gpus, key=lambda card: card["bdf"]), "nics": []},
        "kfd": {"nodes": nodes},
        "numa": {
            "nodes": [
                {"id": node, "cpulist": f"{node * 64}-{node * 64 + 63}", "distance": [10, 32][:sockets]}
                for node in range(sockets)
            ]
        },
    }


MACHINES = {
    "mi210-8gpu-2hives": ([[0x63, 0x43, 0x03, 0x26], [0xE3, 0xC3, 0x83, 0xA3]], 2, 4),
    "mi210-4gpu-quad": ([[0x23, 0x43, 0x63, 0x03]], 1, 4),
    "mi210-2gpu-pcie": ([[0x08], [0x88]], 2, 1),
}


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
        },
        "python": {"executable": "/usr/bin/python3", "version": "3.10.12", "tag": "cp310", "ensurepip": True},
        "cpu": {"logical": 128, "sockets": 2, "vendor": "AuthenticAMD", "family": 25, "model": 1, "smt_active": False},
        "memory": {"total_bytes": 1 << 40},
        "modules": {
            "amdgpu": {"loaded": True, "version": "5.18.13", "initstate": "live", "refcount": 0}, "blacklisted_by": [],
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
        "net": {"interfaces": [], "hcas": []},
        "journal": {"runs": []},
        "system": {"virtualization": None},
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
    plan = _plan(profile, snapshot)
    snapshot["watch"] = {path: _absent() for path in watched_paths(profile)} | {
        file["path"]: _present(file) for file in plan["files"]
    }
    return Node(profile, snapshot, _plan(profile, snapshot))


def _plan(profile: Profile, snapshot: Json) -> Json:
    return build_plan(PlanContext("gpu01", "made-run", profile, default_catalog(), snapshot, (("gpu01", 8),), LOCK))


def _absent() -> Json:
    return {"type": "absent", **dict.fromkeys(("sha256", "mode", "owner", "group", "size", "target", "text"))}


def _present(file: Json) -> Json:
    content = file["content"].encode()
    return {
        "type": "file", "sha256": hashlib.sha256(content).hexdigest(), "size": len(content), "target": None,
        "text": file["content"], **{key: file[key] for key in ("mode", "owner", "group")},
    }  # fmt: skip
