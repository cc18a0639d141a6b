# SPDX-License-Identifier: Apache-2.0
"""The rendered scripts are run: beside them stand programs that tell how they were called and start the ranks."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import subprocess
import sys

import pytest

from ansible_collections.instinct.bringup.plugins.plugin_utils.launch import scripts
from ansible_collections.instinct.bringup.plugins.plugin_utils.launch.model import LaunchModel

# The training script of these tests: it tells its arguments and its environment.
TELL = """
import json, os, sys
print("RANK", json.dumps({"args": sys.argv[1:], "env": dict(os.environ)}))
"""
# A launcher tells its own words up to the wrapper, then starts the wrapper once, as the real one does on each node.
LAUNCHER = """\
#!/bin/sh
printf 'OPTIONS'
while [ "${{1##*/}}" != rank.sh ]; do printf ' [%s]' "$1"; shift; done
echo
wrapper=$1
shift
printf '%s\\n' "$@" >"${{wrapper%/*}}/words"
exec {environment} "$wrapper" {first} "$@"
"""
# pdsh puts the node's number in and gives the text to the shell of each node.
PDSH = """\
#!/bin/sh
printf 'PDSH'
while [ $# -gt 1 ]; do printf ' [%s]' "$1"; shift; done
echo
for number in 0 1; do
  env -i PATH="$PATH" sh -c "$(printf %s "$1" | sed "s/%%/\\x01/g; s/%n/$number/g; s/\\x01/%/g")"
done
"""


@pytest.fixture
def model(tmp_path: pathlib.Path) -> LaunchModel:
    hostfile, profile = tmp_path / "hostfile", tmp_path / "deepspeed_env"
    hostfile.write_text("gpu01 slots=8\ngpu02 slots=4\n")
    profile.write_text("NCCL_SOCKET_IFNAME==eth0\nHSA_FORCE_FINE_GRAIN_PCIE=1\nNCCL_DEBUG=WARN")
    python = tmp_path / "venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    (tmp_path / "tell it.py").write_text(TELL)
    return LaunchModel(
        hosts=(("gpu01", 8), ("gpu02", 4)),
        port=29500,
        directory=str(tmp_path / "launch"),
        hostfile=str(hostfile),
        venv=str(tmp_path / "venv"),
        env_file=str(profile),
        interface="eth0",
    )


def call(
    model: LaunchModel, name: str, *words: str, environment: str = "", first: str = "", **variables: str
) -> tuple[int, list[str], list[dict[str, object]]]:
    """Return how a script ended, what it and the launcher printed, and what each rank told."""
    folder = pathlib.Path(model.directory)
    folder.mkdir()
    made = {
        "rank.sh": scripts.rank_script,
        "deepspeed.sh": scripts.deepspeed_script,
        "torchrun.sh": scripts.torchrun_script,
        "openmpi.sh": scripts.openmpi_script,
    }
    for file, render in made.items():
        (folder / file).write_text(render(model))
        (folder / file).chmod(0o755)
    programs = folder.parent / "programs"
    programs.mkdir()
    launcher = LAUNCHER.format(environment=f"env {environment}", first=first)
    for program, text in {"deepspeed": launcher, "torchrun": launcher, "mpirun": launcher, "pdsh": PDSH}.items():
        (programs / program).write_text(text)
        (programs / program).chmod(0o755)
    done = subprocess.run(
        [folder / name, *words],
        cwd=folder.parent,
        env={"PATH": f"{programs}:{os.environ['PATH']}", **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    lines = done.stdout.splitlines()
    told = [json.loads(line.partition(" ")[2]) for line in lines if line.startswith("RANK ")]
    return done.returncode, [line for line in lines if not line.startswith("RANK ")], told


def test_deepspeed_gets_its_own_options_and_the_script_its_arguments(model: LaunchModel) -> None:
    code, lines, ranks = call(
        model, "deepspeed.sh", "tell it.py", "--name", "a b", "it's %n",
        environment="RANK=3 LOCAL_RANK=3", first="--local_rank=3", LAUNCHER_ARGS="--include gpu01:0,1",
    )  # fmt: skip
    assert code == 0
    assert lines == [
        f"OPTIONS [--hostfile] [{model.hostfile}] [--master_addr] [gpu01] [--master_port] [29500] [--no_python] "
        "[--include] [gpu01:0,1]"
    ]
    assert [rank["args"] for rank in ranks] == [["--local_rank=3", "--name", "a b", "it's %n"]]


def test_a_rank_has_its_nodes_profile_and_the_place_to_meet(model: LaunchModel) -> None:
    _code, _lines, ranks = call(model, "deepspeed.sh", "tell it.py")
    environment = ranks[0]["env"]
    assert isinstance(environment, dict)
    wanted = {
        "NCCL_SOCKET_IFNAME": "=eth0", "HSA_FORCE_FINE_GRAIN_PCIE": "1", "NCCL_DEBUG": "WARN",
        "MASTER_ADDR": "gpu01", "MASTER_PORT": "29500", "GLOO_SOCKET_IFNAME": "eth0",
    }  # fmt: skip
    assert {name: environment.get(name) for name in wanted} == wanted
    assert environment["PATH"].split(":")[0] == f"{model.venv}/bin"


@pytest.mark.parametrize("launcher", ["deepspeed.sh", "torchrun.sh", "openmpi.sh"])
def test_what_the_calling_shell_has_set_reaches_every_rank(model: LaunchModel, launcher: str) -> None:
    # pdsh and mpirun start ranks without this shell's environment: env -i is what they do on another node.
    _code, _lines, ranks = call(
        model, launcher, "tell it.py", environment="-i PATH=/usr/bin:/bin",
        NCCL_DEBUG="INFO", HSA_ENABLE_SDMA="0", SECRET="no", NCCL_NAME="it's 5 %n; $HOME",
    )  # fmt: skip
    assert ranks
    for rank in ranks:
        environment = rank["env"]
        assert isinstance(environment, dict)
        assert environment["NCCL_DEBUG"] == "INFO"
        assert environment["HSA_ENABLE_SDMA"] == "0"
        assert environment["NCCL_NAME"] == "it's 5 %n; $HOME"
        assert "SECRET" not in environment


def test_the_first_nodes_profile_is_not_handed_to_the_others(model: LaunchModel) -> None:
    values = {"NCCL_SOCKET_IFNAME": "=eth0", "NCCL_DEBUG": "INFO"}
    _code, _lines, ranks = call(model, "openmpi.sh", "tell it.py", **values)
    assert len(ranks) == 1
    # The launcher's words stand in the wrapper's own list of arguments.
    words = str(pathlib.Path(model.directory, "words").read_text()).splitlines()
    assert words[:2] == ["-x", "NCCL_DEBUG=INFO"]
    assert not [word for word in words if "NCCL_SOCKET_IFNAME" in word]


def test_torchrun_is_started_on_each_node_with_its_own_slots(model: LaunchModel) -> None:
    code, lines, ranks = call(model, "torchrun.sh", "tell it.py", "50%", LAUNCHER_ARGS="--nproc-per-node 1")
    assert code == 0
    common = "[--master-addr] [gpu01] [--master-port] [29500] [--no-python] [--nproc-per-node] [1]"
    assert lines == [
        "PDSH [-S] [-R] [ssh] [-f] [2] [-w] [gpu01,gpu02]",
        f"OPTIONS [--nnodes] [2] [--node-rank] [0] [--nproc-per-node] [8] {common}",
        f"OPTIONS [--nnodes] [2] [--node-rank] [1] [--nproc-per-node] [4] {common}",
    ]
    assert [rank["args"] for rank in ranks] == [["50%"], ["50%"]]


def test_mpis_names_become_those_that_torch_reads(model: LaunchModel) -> None:
    _code, _lines, ranks = call(
        model, "openmpi.sh", "tell it.py",
        environment="OMPI_COMM_WORLD_RANK=9 OMPI_COMM_WORLD_LOCAL_RANK=1 OMPI_COMM_WORLD_SIZE=12",
    )  # fmt: skip
    environment = ranks[0]["env"]
    assert isinstance(environment, dict)
    assert [environment[name] for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE")] == ["9", "1", "12"]


def test_mpi_binds_by_the_rankfile_where_there_is_one(model: LaunchModel) -> None:
    assert "--bind-to none" in scripts.openmpi_script(model)
    bound = scripts.openmpi_script(dataclasses.replace(model, rankfile=True, bind="/etc/rccl/bind-rank"))
    assert f"-rf {model.directory}/rankfile" in bound
    assert "--bind-to none" not in bound


def test_an_mpi_of_its_own_folder_leaves_the_binding_to_the_wrapper(model: LaunchModel) -> None:
    text = scripts.openmpi_script(dataclasses.replace(model, bind="/etc/rccl/bind-rank", mpi_prefix="/opt/ompi"))
    assert "--prefix /opt/ompi --mca plm_ssh_no_tree_spawn 1" in text
    assert "--map-by slot --bind-to none" in text
    assert "bound by /etc/rccl/bind-rank" in text


@pytest.mark.parametrize("launcher", ["deepspeed.sh", "torchrun.sh", "openmpi.sh"])
@pytest.mark.parametrize("content", [None, "", "gpu01\n"], ids=["absent", "empty", "no slots"])
def test_no_job_starts_without_its_hostfile(model: LaunchModel, launcher: str, content: str | None) -> None:
    path = pathlib.Path(model.hostfile)
    path.unlink()
    if content is not None:
        path.write_text(content)
    code, lines, ranks = call(model, launcher, "tell it.py")
    assert (code, ranks) == (66, [])
    assert str(path) in lines[0]


def test_a_profile_that_cannot_be_read_is_told(model: LaunchModel) -> None:
    pathlib.Path(model.env_file).unlink()
    _code, lines, ranks = call(model, "deepspeed.sh", "tell it.py")
    assert ranks
    assert any("is not readable" in line for line in lines)


def test_a_rank_runs_by_the_wrapper_that_binds_it_but_mpi_has_bound_its_own(model: LaunchModel) -> None:
    text = scripts.rank_script(dataclasses.replace(model, bind="/etc/rccl/bind-rank", rankfile=True))
    assert '[ -n "${OMPI_COMM_WORLD_RANK:-}" ] || set -- /etc/rccl/bind-rank "$@"' in text
    assert "bind-rank" not in scripts.rank_script(model)


@pytest.mark.parametrize(
    ("hosts", "gpus", "wanted"),
    [
        ((("a", 8), ("b", 8)), True, ["--nodes=2", "--ntasks-per-node=8", "--gpus-per-node=8"]),
        ((("a", 8), ("b", 4)), False, ["--nodes=2", "--ntasks-per-node=4", "--exclusive"]),
    ],
    ids=["alike", "different, no GRES"],
)
def test_slurm_is_asked_for_what_every_node_has(
    model: LaunchModel, hosts: tuple[tuple[str, int], ...], gpus: bool, wanted: list[str]
) -> None:
    text = scripts.slurm_script(dataclasses.replace(model, hosts=hosts, slurm_gpus=gpus))
    asked = [line.partition(" ")[2] for line in text.splitlines() if line.startswith("#SBATCH")]
    assert asked == ["--job-name=instinct", *wanted]
