# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import dataclasses
import typing as t

import pytest

from ansible_collections.instinct.bringup.plugins.plugin_utils.launch.peers import Peer
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.launch import plan_launch
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.model import Step
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.rccl import plan_rccl

from . import made

FLEET = (("node1", 1), ("node2", 2))
FOLDER = "/opt/instinct-bringup/launch"


def planned(
    snapshot: dict[str, t.Any] | None = None,
    fleet: tuple[tuple[str, int | None], ...] = FLEET,
    peers: dict[str, Peer] | None = None,
    **given: t.Any,
) -> Step | None:
    ctx = dataclasses.replace(made.context(snapshot or made.bare(), **given), fleet=fleet, peers=peers or {})
    return plan_launch(ctx, plan_rccl(ctx))


def files(step: Step | None) -> dict[str, str]:
    assert step is not None
    return {file.path.removeprefix(FOLDER + "/"): file.content for file in step.files}


def test_every_launcher_has_a_script_of_the_same_hosts() -> None:
    step = planned()
    assert sorted(files(step)) == [
        "deepspeed.sh",
        "openmpi.sh",
        "rank.sh",
        "report_rank.py",
        "slurm.sbatch",
        "torchrun.sh",
    ]
    assert step is not None
    assert step.inputs["model"]["hosts"] == [["node1", 1], ["node2", 2]]
    assert step.inputs["model"]["world_size"] == 3
    assert step.inputs["missing"] == ["pdsh"]
    assert "3 ranks on 2 nodes" in step.notes[0]


def test_a_host_without_gpus_starts_no_rank() -> None:
    assert planned(fleet=(("node1", 0), ("node2", 2))) is None


@pytest.mark.parametrize("port", [0, 80, 65536])
def test_a_port_that_no_job_can_open_is_refused(port: int) -> None:
    plan = made.plan(made.bare(), launch_port=port)
    assert [refusal["subject"] for refusal in plan["refusals"]] == ["a rendered file"]
    assert f"launch_port is {port}" in plan["refusals"][0]["seen"]


@pytest.mark.parametrize("name", ["eth0; rm", "eth 0", "$(id)", "^eth0", "=", "eth0,", "eth0\nx", "a" * 16])
def test_what_names_no_card_is_refused(name: str) -> None:
    (refusal,) = made.plan(made.bare(), launch_interface=name)["refusals"]
    assert f"launch_interface is {name!r}" in refusal["seen"]


def test_a_name_that_a_shell_would_run_is_written_into_no_file() -> None:
    snapshot = made.bare()
    snapshot["net"]["interfaces"] = [
        {"name": name, "operstate": "up", "mtu": 1500, "speed_mbps": None, "bdf": None, "virtual": False}
        for name in ("eth$(id)", "eth';id;'")
    ]
    assert "give GLOO_SOCKET_IFNAME 'eth$(id)'" in files(planned(snapshot, launch_interface="eth"))["rank.sh"]
    contents = [file["content"] for file in made.plan(snapshot)["files"]]
    assert not [text for text in contents if "eth$" in text or "eth'" in text]


def test_the_interface_is_the_sites_own_choice_where_it_has_one() -> None:
    snapshot = made.bare()
    snapshot["net"]["interfaces"] = [
        {"name": name, "operstate": "up", "mtu": 1500, "speed_mbps": None, "bdf": None, "virtual": False}
        for name in ("eth0", "eth1")
    ]
    assert "give GLOO_SOCKET_IFNAME eth0" in files(planned(snapshot))["rank.sh"]
    assert "give GLOO_SOCKET_IFNAME eth1" in files(planned(snapshot, launch_interface="=eth1"))["rank.sh"]


def test_the_rankfile_has_the_processors_of_every_host() -> None:
    peers = {"node2": Peer("10.0.0.2", (), ("0-15", "16-31"))}
    rendered = files(planned(peers=peers, rccl_numa_binding=True))
    assert rendered["rankfile"].splitlines()[2:] == [
        "rank 0=node1 slot=0-63",
        "rank 1=node2 slot=0-15",
        "rank 2=node2 slot=16-31",
    ]
    assert f"-rf {FOLDER}/rankfile" in rendered["openmpi.sh"]


@pytest.mark.parametrize("provider", ["source", "existing"])
def test_an_mpi_that_numbers_processors_otherwise_gets_no_rankfile(provider: str) -> None:
    peers = {"node2": Peer("10.0.0.2", (), ("0-15", "16-31"))}
    rendered = files(planned(peers=peers, rccl_numa_binding=True, mpi_provider=provider))
    assert "rankfile" not in rendered
    assert "-rf" not in rendered["openmpi.sh"]
    # Under mpirun too.
    assert "\nset -- /etc/rccl/bind-rank" in rendered["rank.sh"]


def test_a_host_that_this_run_did_not_look_at_keeps_its_processors() -> None:
    snapshot = made.bare()
    snapshot["watch"][f"{FOLDER}/rankfile"] = {
        "type": "file", "sha256": "", "mode": "", "owner": "", "group": "",
        "text": "rank 0=node1 slot=1\nrank 1=node2 slot=0-15\nrank 2=node2 slot=16-31\n",
    }  # fmt: skip
    assert "rank 2=node2 slot=16-31" in files(planned(snapshot, rccl_numa_binding=True))["rankfile"]


def test_a_rankfile_that_nobody_wants_any_more_goes() -> None:
    snapshot = made.bare()
    snapshot["watch"][f"{FOLDER}/rankfile"] = {"type": "file", "text": "rank 0=node1 slot=1\n"}
    step = planned(snapshot)
    assert step is not None
    assert step.inputs["absent"] == [f"{FOLDER}/rankfile"]
    assert [change.after for change in step.changes if change.subject.endswith("rankfile")] == ["absent"]


def test_slurm_is_asked_for_gpus_where_it_counts_them() -> None:
    snapshot = made.bare()
    snapshot["slurm"] = {"lines": [{"path": "/etc/slurm/slurm.conf", "line": 1, "values": {"gres": "gpu:mi210:8"}}]}
    assert "--gpus-per-node=1" in files(planned(snapshot))["slurm.sbatch"]
    assert "--exclusive" in files(planned())["slurm.sbatch"]


KEY = "ssh-ed25519 " + "C" * 68
LINE = f"restrict {KEY} instinct-bringup-launch"


def peers(key: str = KEY) -> dict[str, Peer]:
    return {
        "node1": Peer("10.0.0.1", ("ssh-ed25519 " + "A" * 68,), (), key),
        "node2": Peer("10.0.0.2", ("ssh-ed25519 " + "B" * 68,), ()),
    }


def authorized(*lines: str) -> dict[str, t.Any]:
    snapshot = made.bare()
    snapshot["launch"] = {"user": "deploy", "home": "/home/deploy", "authorized": list(lines), "unsafe": []}
    return snapshot


def keys(step: Step | None) -> list[str]:
    assert step is not None
    return [change.subject for change in step.changes if change.kind == "key"]


def test_without_being_asked_nobodys_keys_are_touched() -> None:
    step = planned(authorized(), peers=peers())
    assert step is not None
    assert (step.inputs["ssh"], keys(step)) == (None, [])


def test_the_first_node_makes_the_key_and_every_node_takes_it() -> None:
    step = planned(authorized(), peers=peers(key=""), launch_ssh=True)
    assert keys(step) == [f"{FOLDER}/keys/deploy/id_ed25519", "/home/deploy/.ssh/authorized_keys"]
    assert step is not None
    assert step.inputs["ssh"]["public_key"] == ""
    assert f"{FOLDER}/known_hosts" in [file.path for file in step.files]


def test_another_node_only_takes_the_first_ones_key() -> None:
    fleet = (("node0", 1), ("node1", 1))
    step = planned(authorized(), fleet=fleet, peers={"node0": peers()["node1"]}, launch_ssh=True)
    assert keys(step) == ["/home/deploy/.ssh/authorized_keys"]
    assert step is not None
    assert step.inputs["ssh"]["public_key"] == KEY
    assert not [file for file in step.files if "ssh" in file.path or "known_hosts" in file.path]


def test_a_node_that_has_the_key_is_left_alone() -> None:
    assert keys(planned(authorized(LINE), peers=peers(), launch_ssh=True)) == []


def test_an_older_key_of_ours_is_replaced() -> None:
    old = LINE.replace("C", "D")
    assert keys(planned(authorized(LINE, old), peers=peers(), launch_ssh=True)) == ["/home/deploy/.ssh/authorized_keys"]


def test_a_host_whose_key_nobody_knows_is_named() -> None:
    step = planned(authorized(LINE), peers={"node1": peers()["node1"]}, launch_ssh=True)
    assert step is not None
    assert "node2: no host key is known" in step.notes[1]


def test_a_site_without_a_user_is_told_so() -> None:
    plan = made.plan(made.bare(), launch_ssh=True, bringup_users=[])
    assert "launch_user" in plan["refusals"][0]["seen"]
