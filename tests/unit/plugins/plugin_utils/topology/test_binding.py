# SPDX-License-Identifier: Apache-2.0
"""Each rank is bound to what is nearest to its GPU, and the rendered files say so."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.instinct.bringup.plugins.module_utils.rccl_topology import build_topology
from ansible_collections.instinct.bringup.plugins.plugin_utils.topology.binding import (
    Binding,
    as_cpulist,
    bindings_of,
    read_wrapper,
    render_rankfile,
    render_wrapper,
)

Maker = Callable[..., dict[str, Any]]
# In KFD's order, as on a captured machine.
EIGHT = (0x63, 0x43, 0x03, 0x26, 0xE3, 0xC3, 0x83, 0xA3)
TWO = [
    Binding(0, "0000:63:00.0", 0, "0-15", ("mlx5_0",)),
    Binding(1, "0000:83:00.0", 1, "16-31", ()),
]


def of(snapshot: dict[str, Any]) -> list[Binding]:
    return bindings_of(build_topology(snapshot, "2.13.4"), snapshot)


def test_ranks_count_the_gpus_as_hip_does(machine: Maker) -> None:
    bindings = of(machine(buses=EIGHT, hives=(EIGHT[:4], EIGHT[4:])))
    assert [int(binding.busid[5:7], 16) for binding in bindings] == list(EIGHT)
    assert [binding.hip for binding in bindings] == list(range(8))
    assert [binding.numa_node for binding in bindings] == [0] * 4 + [1] * 4


def test_gpus_of_a_node_share_its_processors(machine: Maker) -> None:
    bindings = of(machine(buses=EIGHT, hives=()))
    assert [binding.cpus for binding in bindings[:4]] == ["0-15", "16-31", "32-47", "48-63"]


def test_threads_of_a_core_stay_together(machine: Maker) -> None:
    snapshot = machine(buses=(0x23, 0x43), hives=(), sockets=1)
    snapshot["numa"]["nodes"][0]["cpulist"] = "0-7,64-71"
    assert [binding.cpus for binding in of(snapshot)] == ["0-3,64-67", "4-7,68-71"]


def test_more_gpus_than_processors_share_them_all(machine: Maker) -> None:
    snapshot = machine(buses=(0x23, 0x43), hives=(), sockets=1)
    snapshot["numa"]["nodes"][0]["cpulist"] = "3"
    assert {binding.cpus for binding in of(snapshot)} == {"3"}


def test_node_that_only_the_driver_knows_is_used(machine: Maker) -> None:
    snapshot = machine(buses=(0x23, 0x83), hives=(), numa_of={0x83: -1})
    assert [binding.numa_node for binding in of(snapshot)] == [0, 1]


def test_gpu_whose_node_nobody_knows_is_not_bound(machine: Maker) -> None:
    snapshot = machine(buses=(0x23, 0x83), hives=(), numa_of={0x83: -1})
    snapshot["kfd"]["nodes"][-1]["io_links"] = []
    assert [binding.busid for binding in of(snapshot)] == ["0000:23:00.0"]


def test_adapter_of_the_same_switch_is_nearer_than_that_of_the_node(machine: Maker, nic: Maker) -> None:
    near, far = nic("0000:24:00.0", "mlx5_1"), nic("0000:05:00.0", "mlx5_0")
    snapshot = machine(buses=(0x23, 0x43), hives=(), nics=[near, far])
    near["pci"]["path"].insert(0, snapshot["pci"]["gpus"][0]["path"][2])
    snapshot["pci"]["gpus"][1]["path"][2]["bdf"] = "0000:40:01.1"
    far["pci"]["path"][0]["bdf"] = "0000:00:03.3"
    assert [binding.hcas for binding in of(snapshot)] == [("mlx5_1",), ("mlx5_0", "mlx5_1")]


@pytest.mark.parametrize(("cpus", "text"), [([], ""), ([3], "3"), ([0, 1, 2, 8], "0-2,8")], ids=["none", "one", "runs"])
def test_list_is_as_the_kernel_writes_it(cpus: list[int], text: str) -> None:
    assert as_cpulist(cpus) == text


def test_rankfile_names_the_processors_of_each_rank() -> None:
    lines = render_rankfile(TWO, "/etc/rccl/rankfile").splitlines()
    assert lines[-2:] == ["rank 0=+n0 slot=0-15", "rank 1=+n0 slot=16-31"]
    assert "rmaps_rank_file_physical 1" in lines[1]


def test_wrapper_can_be_read_back() -> None:
    assert read_wrapper(render_wrapper(TWO, "/etc/rccl/bind-rank")) == TWO


@pytest.fixture
def wrapper(tmp_path: Path) -> Callable[..., tuple[str, str]]:
    """Return a function that runs the wrapper with made numactl, and returns what was started and stderr."""
    script = tmp_path / "bind-rank"
    script.write_text(render_wrapper(TWO, str(script)), encoding="utf-8")
    numactl = tmp_path / "numactl"
    numactl.write_text('#!/bin/sh\necho "numactl $* hca=$UCX_NET_DEVICES"\n', encoding="utf-8")
    numactl.chmod(0o755)

    def run(**environment: str) -> tuple[str, str]:
        path = f"{tmp_path}:{os.environ['PATH']}"
        command = ["sh", str(script), "echo", "unbound"]
        done = subprocess.run(command, env={"PATH": path, **environment}, capture_output=True, text=True, check=True)
        return done.stdout.strip(), done.stderr

    return run


@pytest.mark.parametrize(
    ("environment", "started"),
    [
        ({"LOCAL_RANK": "0"}, "numactl --physcpubind=0-15 --preferred=0 echo unbound hca=mlx5_0:1"),
        ({"OMPI_COMM_WORLD_LOCAL_RANK": "1"}, "numactl --physcpubind=16-31 --preferred=1 echo unbound hca="),
        ({"SLURM_LOCALID": "0", "ROCR_VISIBLE_DEVICES": "1"}, "numactl --physcpubind=16-31"),
        ({"LOCAL_RANK": "0", "HIP_VISIBLE_DEVICES": "1,0"}, "numactl --physcpubind=16-31"),
        (
            {"LOCAL_RANK": "1", "HIP_VISIBLE_DEVICES": "0,1", "ROCR_VISIBLE_DEVICES": "1,0"},
            "numactl --physcpubind=0-15",
        ),
        (
            {"LOCAL_RANK": "0", "UCX_NET_DEVICES": "mlx5_9:1"},
            "numactl --physcpubind=0-15 --preferred=0 echo unbound hca=mlx5_9:1",
        ),
    ],
    ids=["local-rank", "open-mpi", "one-visible", "hip-visible", "both-visible", "own-adapter"],
)
def test_wrapper_runs_a_rank_next_to_its_gpu(
    wrapper: Callable[..., tuple[str, str]], environment: dict[str, str], started: str
) -> None:
    assert wrapper(**environment)[0].startswith(started)


@pytest.mark.parametrize(
    "environment",
    [{}, {"LOCAL_RANK": "7"}, {"LOCAL_RANK": "x"}, {"LOCAL_RANK": "0", "ROCR_VISIBLE_DEVICES": "GPU-12ab"}],
    ids=["no-rank", "too-many", "no-number", "uuid"],
)
def test_wrapper_runs_unbound_and_says_so(wrapper: Callable[..., tuple[str, str]], environment: dict[str, str]) -> None:
    started, said = wrapper(**environment)
    assert started == "unbound"
    assert "runs unbound" in said
