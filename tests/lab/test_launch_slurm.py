# SPDX-License-Identifier: Apache-2.0
"""Slurm runs the rendered batch script on both nodes. Real: slurmctld, slurmd, munge, sbatch and srun of Debian.

A stand-in: the nodes' processors. Slurm is told of eight on each, as many as the script wants ranks at most.
"""

from __future__ import annotations

import json
import re

import pytest

from .conftest import Lab, Playbook

pytestmark = [pytest.mark.lab, pytest.mark.slow]
FOLDER = "/opt/instinct-bringup/launch"
SITE = {"bringup_only": ["rccl", "deepspeed", "launch"]}
CONF = """\
ClusterName=lab
SlurmctldHost=node1
SlurmUser=slurm
AuthType=auth/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/linear
SlurmdParameters=config_overrides
StateSaveLocation=/var/lib/slurm/slurmctld
SlurmdSpoolDir=/var/lib/slurm/slurmd
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
ReturnToService=2
NodeName=node1,node2 CPUs=8 State=UNKNOWN
PartitionName=lab Nodes=node1,node2 Default=YES MaxTime=10 State=UP
"""
INSTALL = (
    "command -v slurmd >/dev/null || {{ apt-get update -qq; DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "
    "--no-install-recommends munge slurmd slurm-client {more} >/dev/null 2>&1; }}"
)


@pytest.fixture(scope="module")
def slurm(lab: Lab) -> None:
    """Run Slurm on both nodes: the controller on the first, one key of munge for both."""
    lab.on("node1", INSTALL.format(more="slurmctld"))
    lab.on("node2", INSTALL.format(more=""))
    key = lab.on("node1", "base64 -w0 /etc/munge/munge.key").strip().splitlines()[-1]
    lab.on("node2", f"echo {key} | base64 -d > /etc/munge/munge.key; chown munge: /etc/munge/munge.key")
    for node, units in (("node1", "slurmctld slurmd"), ("node2", "slurmd")):
        lab.on(
            node,
            f"cat > /etc/slurm/slurm.conf <<'EOF'\n{CONF}EOF\n"
            "mkdir -p /var/lib/slurm/slurmctld /var/lib/slurm/slurmd; chown -R slurm: /var/lib/slurm; "
            f"systemctl restart munge {units}",
        )
    lab.on("node1", "for try in $(seq 60); do [ \"$(sinfo -h -o %A)\" = 2/0 ] || [ \"$(sinfo -h -t idle -o %D)\" = 2 ] "
           "&& exit 0; scontrol update nodename=node1,node2 state=resume 2>/dev/null; sleep 1; done; sinfo; exit 1")  # fmt: skip


def test_sbatch_starts_the_same_number_of_ranks_on_every_node(lab: Lab, slurm: None, playbook: Playbook) -> None:
    run = playbook("site.yml", **SITE)
    assert "unreachable=0" in run.output, run.output
    lab.on(
        "node1",
        "rm -f /tmp/job.log; su deploy -c 'cd /tmp && LAUNCH_PYTHON=/usr/bin/python3 timeout 240 sbatch --wait "
        f"--output=/tmp/job.log {FOLDER}/slurm.sbatch {FOLDER}/report_rank.py' || true",
    )
    output = lab.on("node1", "cat /tmp/job.log")
    found = [json.loads(text) for text in re.findall(r"INSTINCT-RANK (\{.*\})", output)]
    assert sorted((report["rank"], report["host"]) for report in found) == [
        *((rank, "node1") for rank in range(4)),
        *((rank, "node2") for rank in range(4, 8)),
    ], output
    assert {report["world_size"] for report in found} == {8}
    assert [report["trouble"] for report in found] == [""] * 8
    for report in found:
        shown = lab.on(report["host"], "sed -n 's/^NCCL_SOCKET_IFNAME=//p' /etc/rccl/deepspeed_env").strip()
        assert report["environment"]["NCCL_SOCKET_IFNAME"] == shown


def test_the_launch_check_goes_through_slurm_too(slurm: None, playbook: Playbook) -> None:
    run = playbook(
        "playbooks/launch-check.yml", **SITE, launch_check_launcher="slurm", launch_check_python="/usr/bin/python3"
    )
    assert run.code == 0, run.output
