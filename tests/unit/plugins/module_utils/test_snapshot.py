# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import tarfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.instinct.bringup.plugins.module_utils import snapshot as under_test
from ansible_collections.instinct.bringup.plugins.module_utils.command_runner import Result
from ansible_collections.instinct.bringup.plugins.module_utils.snapshot import Request, build_snapshot
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree
from instinct_lab.hardware import build, machine

Plant = Callable[[dict[str, Any]], Tree]
AREAS = (
    *("os", "kernel", "python", "cpu", "memory", "numa", "pci", "kfd", "modules", "dkms", "devices"),
    *("gpu_processes", "users", "groups", "dpkg", "apt", "opt", "alternatives", "leftovers", "space", "python_envs"),
    *("net", "watch", "environment", "journal", "system"),
    *("iommu", "cpu_power", "secure_boot", "sysctl", "thp", "shm", "services", "firmware_files"),
    *("rccl_libraries", "kernel_log", "slurm", "launch", "mpi", "tools", "deepspeed_ops"),
)
NOTHING = Request()


def probe(argv: Sequence[str]) -> Result:
    if argv[0] == "dpkg-query":
        return Result(0, "dpkg\tamd64\t1.21\tii \n", "")
    return Result(0, "hipcc:\n  Installed: (none)\n  Candidate: 1\n  Version table:\n     1 500\n", "")


def test_a_live_node_has_every_area(plant: Plant, made_node: dict[str, Any]) -> None:
    tree = plant(made_node)
    seen = build_snapshot(tree.root, Request(packages=["hipcc"], spaces=["/opt"], watch=["/etc/passwd"]), probe)
    assert tuple(seen)[:6] == ("schema", "collected", "root", "cpu_seconds", "problems", "skipped")
    assert tuple(seen)[6:] == AREAS
    # The made /dev has no shared memory, and nobody asked for an MPI, the tools or the ops.
    assert [area for area in AREAS if seen[area] is None] == ["shm", "kernel_log", "mpi", "tools", "deepspeed_ops"]
    assert seen["skipped"] == {}
    assert seen["apt"]["policy"]["hipcc"]["candidate"] == "1"
    assert seen["dpkg"]["packages"]["dpkg"]["status"] == "ii "
    assert seen["devices"]["open_as"] == {}
    # The made /proc has no mount table, the made /dev no log of the kernel.
    assert [problem["area"] for problem in seen["problems"]] == ["mounts", "shm", "kernel_log"]


def test_another_root_asks_nothing_of_this_machine(plant: Plant, made_node: dict[str, Any]) -> None:
    seen = build_snapshot(plant(made_node).root, Request(users=["deploy"], spaces=["/opt"]), None)
    assert set(seen["skipped"]) == {
        "python",
        "devices.open_as",
        "gpu_processes",
        "space",
        "apt.policy",
        "apt.locks",
        "shm",
        "services",
        "mpi",
        "tools",
        "deepspeed_ops",
    }
    assert seen["python"] is seen["gpu_processes"] is seen["space"] is None
    assert seen["devices"]["open_as"] is seen["apt"]["policy"] is seen["apt"]["locks"] is None
    assert seen["dpkg"]["packages"]["rocm-core"]["hold"] is True
    assert seen["users"]["deploy"]["groups"] == ["deploy", "render"]
    assert seen["problems"] == []


def test_a_capture_of_the_kfd_alone_skips_the_rest(captures: Path, tmp_path: Path) -> None:
    with tarfile.open(captures / "kfd-mi210-8gpu-2hives.tar.gz") as archive:
        archive.extractall(tmp_path)
    seen = build_snapshot(str(tmp_path), NOTHING, None)
    assert len(seen["kfd"]["nodes"]) == 10
    assert [area for area in AREAS if seen[area] is not None] == ["kfd"]
    assert set(AREAS) - set(seen["skipped"]) == {"kfd", "groups"}
    assert seen["skipped"]["pci"] == "this tree does not hold /sys/bus/pci/devices"


def test_a_tree_with_pci_and_without_kfd_has_no_driver_which_is_not_skipped(plant: Plant, gpu: Any) -> None:
    seen = build_snapshot(plant(gpu()).root, NOTHING, None)
    assert seen["kfd"] is None
    assert "kfd" not in seen["skipped"]
    assert [problem["area"] for problem in seen["problems"]] == ["kfd"]


@pytest.mark.parametrize("name", machine.names())
def test_a_simulated_machine_is_read_as_it_is_described(name: str, tmp_path: Path) -> None:
    wanted = machine.load(name)
    build.write_offline(wanted, tmp_path)
    seen = build_snapshot(str(tmp_path), NOTHING, None)
    gpus = {gpu["bdf"]: gpu for gpu in seen["pci"]["gpus"]}
    assert sorted(gpus) == sorted(gpu.bdf for gpu in wanted.gpus)
    for gpu in wanted.gpus:
        found = gpus[gpu.bdf]
        assert [port["bdf"] for port in found["path"]] == [gpu.downstream, gpu.upstream, gpu.root_port]
        assert [port["port_type"] for port in found["path"]] == ["switch_downstream", "switch_upstream", "root_port"]
        assert found["path"][1]["link"]["current_width"] == gpu.slot.width
        assert (found["vbios"], found["vram_bytes"], found["numa_node"]) == (gpu.vbios, gpu.vram_bytes, gpu.numa_node)
        assert found["hive_id"] == (f"0x{wanted.hive_id(gpu):016x}" if gpu.hive else None)
        assert (found["card"], found["render_minor"]) == (f"card{gpu.card}", gpu.render)
    assert {node["bdf"] for node in seen["kfd"]["nodes"]} == {None, *gpus}
    assert [nic["hcas"] for nic in seen["pci"]["nics"]] == [[nic.rdma] if nic.rdma else [] for nic in wanted.nics]
    assert [node["cpulist"] for node in seen["numa"]["nodes"]] == [node.cpus for node in wanted.numa]
    assert {problem["area"] for problem in seen["problems"]} <= {"kernel"}
    assert seen["cpu_seconds"] < 0.5


def test_a_reader_that_breaks_costs_its_own_area_only(
    plant: Plant, made_node: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_tree: Tree) -> None:
        raise KeyError("surprise")

    monkeypatch.setattr(under_test.kfd, "read_kfd", broken)
    seen = build_snapshot(plant(made_node).root, NOTHING, None)
    assert seen["kfd"] is None
    assert seen["pci"]["gpus"]
    assert seen["problems"] == [
        {"area": "kfd", "path": "", "message": "the reader broke: KeyError: 'surprise'"},
    ]


def test_names_that_are_not_utf8_are_made_printable(plant: Plant) -> None:
    tree = plant({"/etc/apt/sources.list": "", "/sys/class/net": None})
    Path(tree.root.encode().decode() + "/sys/class/net/odd\udcff").mkdir()
    seen = build_snapshot(tree.root, NOTHING, None)
    assert seen["net"]["interfaces"][0]["name"] == "odd\\udcff"
    json.dumps(seen, ensure_ascii=False).encode("utf-8")
