# SPDX-License-Identifier: Apache-2.0
"""A job starts on both nodes by the rendered launchers. Real: Open MPI, pdsh, ssh, the kernel's binding of processes.

A stand-in: the machine's shape. The nodes' /sys is made to show the processors that this machine really has, since a
process can be bound to no other; which memory node they are of is what that /sys says. The kernel's own memory has the
nodes of this machine.
"""

from __future__ import annotations

import collections.abc as c
import json
import re
import typing as t

import pytest

from .conftest import Lab, Playbook, Run

pytestmark = pytest.mark.lab
FOLDER = "/opt/instinct-bringup/launch"
# A key that is none of the lab's, in the form of one.
OTHER_KEY = "AAAAC3NzaC1lZDI1NTE5" + "A" * 48
SITE = {"bringup_only": ["rccl", "deepspeed", "launch"], "rccl_numa_binding": True, "launch_ssh": True}
CHECK = {**SITE, "launch_check_launcher": "openmpi", "launch_check_python": "/usr/bin/python3"}


@pytest.fixture(scope="module")
def processors(lab: Lab) -> c.Iterator[int]:
    """Give the nodes the processors that are there, half of them to each NUMA node; return how many."""
    # From the kernel: nproc counts what the node's made /sys shows.
    allowed = lab.on("node1", "sed -n 's/^Cpus_allowed_list:\\s*//p' /proc/1/status").strip()
    found = re.fullmatch(r"0-(\d+)", allowed)
    if not found:
        pytest.skip(f"ranks are bound to different processors, and this machine gives {allowed}")
    count = int(found[1]) + 1
    half = count // 2
    first, second = ("0", "1") if half == 1 else (f"0-{half - 1}", f"{half}-{count - 1}")
    lab.command("hardware", "node1", "--set", f"numa.0.cpus={first}", "--set", f"numa.1.cpus={second}")
    lab.command("hardware", "node2", "--set", f"numa.0.cpus=0-{count - 1}")
    # The role mpi installs them from the distribution; here without its compilers, which take minutes.
    for node in ("node1", "node2"):
        lab.on(
            node,
            "command -v mpirun >/dev/null || { apt-get update -qq && DEBIAN_FRONTEND=noninteractive "
            "apt-get install -y -qq --no-install-recommends openmpi-bin >/dev/null; }",
        )
    yield count
    for node in ("node1", "node2"):
        lab.command("hardware", node, "--reset")


@pytest.fixture(scope="module")
def once() -> dict[str, Run]:
    """Return what the tests of this file share: each puts back what it has changed."""
    return {}


@pytest.fixture
def applied(processors: int, playbook: Playbook, once: dict[str, Run]) -> Run:
    """Return the run that rendered the launchers on both nodes."""
    run = once["run"] = once.get("run") or playbook("site.yml", **SITE)
    assert "unreachable=0" in run.output, run.output
    assert run.results["nodes"]["node1"]["verdict"] != "apply_failed", run.output
    return run


def by_deploy(lab: Lab, command: str) -> str:
    """Run a command as the job's user on the first node, and return what it prints, errors too."""
    lab.on("node1", f"cat > /tmp/as-deploy.sh <<'EOF'\ncd /tmp\n{command}\nEOF\nchmod 755 /tmp/as-deploy.sh")
    return lab.on("node1", "timeout 120 su deploy -c 'sh /tmp/as-deploy.sh' 2>&1 || true")


def ranks(output: str) -> list[dict[str, t.Any]]:
    found = [json.loads(text) for text in re.findall(r"INSTINCT-RANK (\{.*\})", output)]
    return sorted(found, key=lambda report: report["rank"])


def test_mpirun_binds_every_rank_as_the_rankfile_says(lab: Lab, applied: Run) -> None:
    output = by_deploy(lab, f"LAUNCH_PYTHON=/usr/bin/python3 {FOLDER}/openmpi.sh {FOLDER}/report_rank.py")
    found = ranks(output)
    wanted = re.findall(r"^rank ([0-9]+)=(\S+) slot=(\S+)$", lab.on("node1", f"cat {FOLDER}/rankfile"), re.MULTILINE)
    assert len(wanted) == 12
    assert [(str(report["rank"]), report["hostname"], report["cpus"]) for report in found] == wanted, output
    # The memory node is that of the rank's GPU: four cards of node1 are at each of its two nodes.
    assert [report["memory_nodes"] for report in found] == [[0]] * 4 + [[1]] * 4 + [[0]] * 4
    kernels = lab.on("node1", "sed -n 's/^Mems_allowed_list:\\s*//p' /proc/1/status").strip()
    assert {report["memory_allowed"] for report in found} == {kernels}


def test_the_launch_check_passes_and_changes_nothing(applied: Run, playbook: Playbook) -> None:
    run = playbook("playbooks/launch-check.yml", **CHECK)
    assert run.code == 0, run.output
    assert "changed=0" in run.output
    assert {node["verdict"] for node in run.results["nodes"].values()} == {"pass"}


def test_a_job_without_the_second_node_does_not_pass(lab: Lab, applied: Run, playbook: Playbook) -> None:
    # As a launcher that is given another hostfile does: it runs, ends well, and is a job of one node.
    lab.on(
        "node1",
        f"cp {FOLDER}/openmpi.sh /tmp/whole.sh; sed -i 's/--hostfile .* -rf [^ ]*/-np 8 --oversubscribe/' {FOLDER}/openmpi.sh",
    )
    try:
        run = playbook("playbooks/launch-check.yml", **CHECK)
    finally:
        lab.on("node1", f"cp /tmp/whole.sh {FOLDER}/openmpi.sh")
    assert run.code != 0
    told = json.dumps(run.results["nodes"]["node2"]["checks"])
    assert "ranks 8-11 of node2 did not answer" in told
    assert "8 ranks believe in a job of 8" in told


def test_a_node_with_another_host_key_is_not_called(lab: Lab, applied: Run, playbook: Playbook) -> None:
    lab.on(
        "node1",
        f"cp {FOLDER}/known_hosts /tmp/known_hosts; sed -i 's/^\\(node2,.*\\) .*/\\1 {OTHER_KEY}/' {FOLDER}/known_hosts",
    )
    try:
        run = playbook("playbooks/launch-check.yml", **CHECK, launch_check_seconds=20)
    finally:
        lab.on("node1", f"cp /tmp/known_hosts {FOLDER}/known_hosts")
    assert run.code != 0
    calls = [check for check in run.results["nodes"]["node2"]["checks"] if check["id"] == "ds.launcher_available"]
    assert "the job's user does not reach node2" in calls[0]["reason"]


def test_pdsh_reaches_both_nodes_as_the_jobs_user(lab: Lab, applied: Run) -> None:
    output = by_deploy(lab, "pdsh -S -R ssh -w node1,node2 id -un")
    assert sorted(output.split("\n")[:2]) == ["node1: deploy", "node2: deploy"], output


def test_a_second_run_changes_nothing(applied: Run, playbook: Playbook) -> None:
    assert playbook("site.yml", **SITE).output.count("changed=0") == 2


def test_a_hostfile_that_somebody_edited_is_named_by_its_line(lab: Lab, applied: Run, playbook: Playbook) -> None:
    lab.on(
        "node2",
        "cp /etc/deepspeed/hostfile /tmp/hostfile; printf 'node1 slots=8\\nnode2 lots=4\\r\\n' > /etc/deepspeed/hostfile",
    )
    try:
        run = playbook("playbooks/verify.yml", **SITE)
    finally:
        lab.on("node2", "cp /tmp/hostfile /etc/deepspeed/hostfile")
    told = {check["id"]: check for check in run.results["nodes"]["node2"]["checks"] if check["outcome"] == "fail"}
    assert told["ds.hostfile_syntax"]["evidence"] == "/etc/deepspeed/hostfile:2"
    assert "node2 is missing" in told["ds.world_size_expected"]["reason"]
