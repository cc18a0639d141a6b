# SPDX-License-Identifier: Apache-2.0
"""A real job over two nodes, started with nothing but what the roles have rendered.

Real: torch (its build for the CPU), DeepSpeed, pdsh, ssh, gloo over the nodes' network, and the training.
A stand-in: the GPUs. So torch is the site's own, and the failure that verify gives for it is waived.
"""

from __future__ import annotations

import collections.abc as c
import datetime
import re
import typing as t

import pytest

from instinct_lab.mirror import training

from .conftest import Lab, Playbook

pytestmark = pytest.mark.lab
NODES = ("node1", "node2")
LAUNCH = "/opt/instinct-bringup/launch"
DIRECTORY = "/etc/deepspeed"
STEPS = 20


def variables() -> dict[str, t.Any]:
    """Return what the site of this test sets: its torch, a waiver for it, and the launch of jobs over ssh."""
    until = (datetime.date.today() + datetime.timedelta(days=2)).isoformat()
    waiver = {
        "until": until,
        "reason": "LAB: the nodes have no GPU, torch is the build for the CPU",
        "owner": "the lab",
    }
    return {
        **training.variables(),
        "deepspeed_micro_batch": 8,
        "launch_ssh": True,
        "launch_interface": "=eth0",
        "bringup_waivers": [{"check": "py.torch_is_rocm", **waiver}],
    }


@pytest.fixture(scope="module")
def cluster(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> c.Iterator[Lab]:
    """Give the lab with a served torch and DeepSpeed, and put the nodes back afterwards."""
    lab.command("mirror", "training")
    yield lab
    lab.command("reset", *NODES)


def as_user(lab: Lab, script: str, *words: str, launcher: str = "") -> str:
    """Run one of the rendered scripts on the first node as the job's user, and return what all ranks print."""
    command = " ".join([f"{LAUNCH}/{script}", *words])
    # One thread a rank: the nodes share the processors of this machine.
    environment = f"OMP_NUM_THREADS=1 LAUNCHER_ARGS='{launcher}'"
    return lab.on("node1", f"cd /tmp && runuser -u deploy -- env HOME=/home/deploy {environment} {command} 2>&1")


def losses(output: str) -> list[float]:
    return [float(loss) for loss in re.findall(r"step \d+ loss ([0-9.]+)", output)]


def ranks(output: str) -> list[tuple[int, int, str]]:
    found = re.findall(r"rank (\d+) of (\d+) on (\S+),", output)
    return sorted((int(rank), int(size), host) for rank, size, host in found)


def test_the_roles_install_a_real_deepspeed_and_a_second_run_changes_nothing(cluster: Lab, playbook: Playbook) -> None:
    run = playbook("site.yml", **variables())
    assert run.code == 0, run.output
    for node in NODES:
        checks = {check["id"]: check["outcome"] for check in run.results["nodes"][node]["checks"]}
        assert checks["py.torch_is_rocm"] == "waived"
        asked = "import deepspeed, torch; print(deepspeed.__version__, torch.__version__)"
        answer = cluster.on(node, f"/opt/instinct-bringup/venv/bin/python -c '{asked}'")
        assert answer.split()[-2:] == [variables()["deepspeed_version"], variables()["pytorch_packages"]["torch"]]
    again = playbook("site.yml", **variables())
    assert again.code == 0, again.output
    assert re.findall(r"changed=(\d+)", again.output) == ["0", "0"]


@pytest.mark.parametrize("config", ["zero2", "zero3"])
def test_deepspeed_trains_over_two_nodes(cluster: Lab, config: str) -> None:
    output = as_user(
        cluster,
        "deepspeed.sh",
        f"{DIRECTORY}/example/train.py --deepspeed_config {DIRECTORY}/{config}.json --steps {STEPS} --expect-ranks 2",
        # Each node has more GPUs in its made tree than this machine has processors.
        launcher="--include node1:0@node2:0",
    )
    assert ranks(output) == [(0, 2, "node1"), (1, 2, "node2")], output
    assert f"ZeRO stage {config[-1]}" in output
    fallen = losses(output)
    assert len(fallen) == STEPS
    assert sum(fallen[-5:]) < 0.9 * sum(fallen[:5]), output


def test_fsdp_trains_over_two_nodes(cluster: Lab) -> None:
    # Two ranks a node: with one there is nothing to split within it, which is what HYBRID_SHARD does.
    output = as_user(
        cluster,
        "torchrun.sh",
        f"{DIRECTORY}/example/train_fsdp.py --config {DIRECTORY}/fsdp.json --steps {STEPS} --expect-ranks 4",
        launcher="--nproc-per-node 2",
    )
    assert ranks(output) == [(0, 4, "node1"), (1, 4, "node1"), (2, 4, "node2"), (3, 4, "node2")], output
    fallen = losses(output)
    assert len(fallen) == STEPS
    assert sum(fallen[-5:]) < 0.9 * sum(fallen[:5]), output


def test_a_job_without_the_ranks_it_should_have_fails(cluster: Lab) -> None:
    with pytest.raises(AssertionError, match="this job has 1 ranks, 2 were expected"):
        as_user(
            cluster,
            "deepspeed.sh",
            f"{DIRECTORY}/example/train.py --deepspeed_config {DIRECTORY}/zero2.json --expect-ranks 2",
            launcher="--include node1:0",
        )
