# SPDX-License-Identifier: Apache-2.0
"""topology and rccl_topology_lint in one real ansible-playbook over a made tree."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
CASES = REPOSITORY / "tests" / "fixtures" / "rccl" / "cases"


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n", encoding="ascii")


def card(root: Path, bus: int, width: int) -> None:
    """Make an MI210 at its slot: root port, its own two ports, the GPU."""
    place = f"pci0000:{bus - 3:02x}"
    for name, pci_id, code in (
        (f"0000:{bus - 3:02x}:01.1", "1022:1483", "060400"),
        (f"0000:{bus - 2:02x}:00.0", "1022:14c7", "060400"),
        (f"0000:{bus - 1:02x}:00.0", "1002:14c8", "060400"),
        (f"0000:{bus:02x}:00.0", "1002:740f", "038000"),
    ):
        place += f"/{name}"
        vendor, device = pci_id.split(":")
        values = {"vendor": f"0x{vendor}", "device": f"0x{device}", "class": f"0x{code}", "numa_node": "0"}
        values |= {"current_link_speed": "16.0 GT/s PCIe", "max_link_speed": "16.0 GT/s PCIe", "max_link_width": "16"}
        values["current_link_width"] = str(width if pci_id == "1022:14c7" else 16)
        for key, value in values.items():
            write(root / "sys/devices" / place / key, value)
        listing = root / "sys/bus/pci/devices" / name
        listing.parent.mkdir(parents=True, exist_ok=True)
        listing.symlink_to(os.path.relpath(root / "sys/devices" / place, listing.parent))


@pytest.fixture
def made_pair(tmp_path: Path) -> Path:
    """Return the tree of a made machine: two MI210 on a bridge, the second slot at x8."""
    root = tmp_path / "root"
    write(root / "proc/cpuinfo", "processor : 0\nvendor_id : AuthenticAMD\ncpu family : 25\nmodel : 1\n")
    write(root / "sys/devices/system/node/node0/cpulist", "0-7")
    nodes = root / "sys/class/kfd/kfd/topology/nodes"
    write(nodes / "0/properties", "cpu_cores_count 8\nsimd_count 0")
    for number, bus in enumerate((0x23, 0x43), start=1):
        card(root, bus, 8 if bus == 0x43 else 16)
        properties = f"simd_count 416\ngfx_target_version 90010\nlocation_id {bus << 8}\ndomain 0\nhive_id 5"
        write(nodes / f"{number}/properties", properties)
        link = f"type 11\nweight 15\nmin_bandwidth 50000\nmax_bandwidth 50000\nnode_to {3 - number}"
        write(nodes / f"{number}/io_links/0/properties", link)
    return root


def play(folder: Path, root: Path, tasks: list[dict[str, Any]], holds: list[str]) -> subprocess.CompletedProcess[str]:
    """Run tasks, each registered as made_0 and so on, and then what must hold of them."""
    for number, task in enumerate(tasks):
        task |= {"name": f"Task {number}", "register": f"made_{number}", "ignore_errors": True}
    check = {"name": "Check", "ansible.builtin.assert": {"that": holds}}
    plays = [{"name": "Try", "hosts": "all", "gather_facts": False, "tasks": [*tasks, check]}]
    (folder / "play.json").write_text(json.dumps(plays), encoding="utf-8")
    command = [Path(sys.executable).with_name("ansible-playbook"), "-i", "gpu01,", "-c", "local", folder / "play.json"]
    extra = {"bringup_root": str(root), "rocm_release": "5.4.2", "ansible_python_interpreter": sys.executable}
    return subprocess.run(
        [*map(str, command), "-e", json.dumps(extra)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={
            "LC_ALL": "C.UTF-8",
            "HOME": str(folder),
            "PATH": "/usr/bin:/bin",
            "ANSIBLE_CONFIG": str(REPOSITORY / "ansible.cfg"),
            "ANSIBLE_LOCAL_TEMP": str(folder / "tmp"),
            "ANSIBLE_REMOTE_TEMP": str(folder / "remote"),
        },
    )


def test_machine_is_shown_and_files_are_judged(made_pair: Path, tmp_path: Path) -> None:
    done = play(
        tmp_path,
        made_pair,
        [
            {"instinct.bringup.topology": {}},
            {"instinct.bringup.rccl_topology_lint": {"path": str(CASES / "right.xml"), "root": str(made_pair)}},
            {"instinct.bringup.rccl_topology_lint": {"text": "<system>", "fail_above": "note"}},
        ],
        [
            "made_0.explained.paths | map(attribute='type') | unique == ['XGMI']",
            "made_0.svg.startswith('<svg')",
            "made_0.binding | map(attribute='cpus') == ['0-3', '4-7']",
            "made_1.verdict == 'silently_wrong'",
            "made_1.findings | selectattr('message', 'search', 'KFD of this host has 1') | length == 2",
            "made_2 is failed",
            "made_2.msg is search('line 1: rejected')",
        ],
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "gpu01: 2 GPUs, 2 directed XGMI links, 1 NUMA node" in done.stdout
    assert "x8 of 16 GT/s x16" in done.stdout
    assert "\x1b" not in done.stdout
