# SPDX-License-Identifier: Apache-2.0
"""The module reads a tree, renders, and writes only where it must."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.instinct.bringup.plugins.module_utils.rccl_machine import read_machine

BUSES = (0x23, 0x43)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n", encoding="ascii")


def function(root: Path, place: str, vendor: str, device: str, code: str, width: int = 16) -> None:
    """Make one PCI function at a place below /sys/devices."""
    folder = root / "sys/devices" / place
    values = {
        "vendor": "0x" + vendor,
        "device": "0x" + device,
        "subsystem_vendor": "0x1002",
        "subsystem_device": "0x0c34",
        "class": "0x" + code,
        "revision": "0x02",
        "numa_node": "0",
        "local_cpulist": "0-7",
        "current_link_speed": "16.0 GT/s PCIe",
        "max_link_speed": "16.0 GT/s PCIe",
        "current_link_width": str(width),
        "max_link_width": "16",
        "resource": "0x0 0x0 0x0",
    }
    for name, value in values.items():
        write(folder / name, value)
    listing = root / "sys/bus/pci/devices" / folder.name
    listing.parent.mkdir(parents=True, exist_ok=True)
    listing.symlink_to(os.path.relpath(folder, listing.parent))


@pytest.fixture
def made_two_bridged(tmp_path: Path) -> Path:
    """Return the tree of a made machine: one socket, two MI210 on a bridge, the second slot at x8."""
    root = tmp_path / "root"
    write(root / "proc/cpuinfo", "processor : 0\nvendor_id : AuthenticAMD\ncpu family : 25\nmodel : 1\n")
    write(root / "sys/devices/system/cpu/online", "0-7")
    write(root / "sys/devices/system/node/node0/cpulist", "0-7")
    write(root / "sys/devices/system/node/node0/distance", "10")
    kfd = root / "sys/class/kfd/kfd/topology/nodes"
    write(kfd / "0/properties", "cpu_cores_count 8\nsimd_count 0")
    for number, bus in enumerate(BUSES):
        place = f"pci0000:{bus - 3:02x}/0000:{bus - 3:02x}:01.1"
        width = 8 if number else 16
        function(root, place, "1022", "1483", "060400", width)
        for step, vendor, device, code in ((2, "1022", "14c7", "060400"), (1, "1002", "14c8", "060400")):
            place += f"/0000:{bus - step:02x}:00.0"
            function(root, place, vendor, device, code, width if step == 2 else 16)
        function(root, f"{place}/0000:{bus:02x}:00.0", "1002", "740f", "038000")
        properties = {
            "simd_count": 416,
            "gfx_target_version": 90010,
            "location_id": bus << 8,
            "domain": 0,
            "hive_id": 5,
        }
        write(kfd / f"{number + 1}/properties", "\n".join(f"{key} {value}" for key, value in properties.items()))
        peer = "type 11\nweight 15\nmin_bandwidth 50000\nmax_bandwidth 100000\nnode_to "
        write(kfd / f"{number + 1}/io_links/0/properties", peer + str(2 - number))
    return root


def run(arguments: dict[str, Any], check: bool = False, diff: bool = False) -> dict[str, Any]:
    """Run the module as Ansible does: a program that gets JSON and prints JSON."""
    options = {"_ansible_check_mode": check, "_ansible_diff": diff, "_ansible_remote_tmp": "/tmp"}
    code = (
        "import sys; from ansible.module_utils.testing import patch_module_args\n"
        "import json\n"
        "from ansible_collections.instinct.bringup.plugins.modules import rccl_topology\n"
        "with patch_module_args(json.loads(sys.stdin.read())): rccl_topology.main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(arguments | options),
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": os.pathsep.join(sys.path), "LC_ALL": "C.UTF-8"},
    )
    assert done.stdout, done.stderr
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def test_reader_gives_what_the_topology_needs(made_two_bridged: Path) -> None:
    machine = read_machine(str(made_two_bridged))
    assert [gpu["bdf"] for gpu in machine["pci"]["gpus"]] == ["0000:23:00.0", "0000:43:00.0"]
    assert len(machine["kfd"]["nodes"]) == 3


def test_module_returns_the_file_and_writes_nothing_without_dest(made_two_bridged: Path) -> None:
    result = run({"root": str(made_two_bridged), "rccl_version": "2.13.4"})
    assert result["changed"] is False
    assert result["gpus"] == [
        {"busid": "0000:23:00.0", "dev": 0, "hip": 0, "numa_node": 0},
        {"busid": "0000:43:00.0", "dev": 1, "hip": 1, "numa_node": 0},
    ]
    assert [link["count"] for link in result["links"]] == [2, 2]
    assert result["differences"] == ["0000:41:00.0: the link gives 16.0 GT/s PCIe x8 and could give 16.0 GT/s PCIe x16"]
    assert any("0000:41:00.0" in str(warning) for warning in result["warnings"])
    assert result["xml"].endswith("</system>\n")


def test_file_is_written_once_and_predicted_in_check_mode(made_two_bridged: Path, tmp_path: Path) -> None:
    user = tmp_path.owner()
    if user != "root":
        pytest.skip("the file belongs to root")
    dest = tmp_path / "etc/rccl/topology.xml"
    arguments = {"root": str(made_two_bridged), "rccl_version": "2.13.4", "dest": str(dest)}
    predicted = run(arguments, check=True, diff=True)
    assert predicted["changed"] is True
    assert predicted["diff"][0]["after"] == predicted["xml"]
    assert not dest.exists()
    assert run(arguments)["changed"] is True
    assert dest.read_text(encoding="ascii") == predicted["xml"]
    assert run(arguments)["changed"] is False


def test_node_without_driver_is_refused_with_the_path(made_two_bridged: Path) -> None:
    shutil.rmtree(made_two_bridged / "sys/class/kfd")
    result = run({"root": str(made_two_bridged), "rccl_version": "2.13.4"})
    assert result["failed"] is True
    assert "/sys/class/kfd/kfd/topology" in result["msg"]
