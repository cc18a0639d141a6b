# SPDX-License-Identifier: Apache-2.0
"""A move to another release cut at random moments: the next run ends in pass, with no manual step.

The moves follow each other on one node, up and down, as on a real one. Every tenth begins with the node as it came.

BRINGUP_FAULT_KILLS, _CUTS and _OFFS say how often the controller is killed, the mirror cut and the node powered off
(20, 10 and 4), BRINGUP_FAULT_SEED which moments.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from instinct_lab import nodes, podman

from .conftest import INVENTORY, REPOSITORY, Lab, Playbook, release_variables

pytestmark = [pytest.mark.lab, pytest.mark.slow]
NODE = "node1"
KILLS = int(os.environ.get("BRINGUP_FAULT_KILLS", "20"))
CUTS = int(os.environ.get("BRINGUP_FAULT_CUTS", "10"))
OFFS = int(os.environ.get("BRINGUP_FAULT_OFFS", "4"))
SEED = os.environ.get("BRINGUP_FAULT_SEED", "1")
# Of so many moves one begins with the node as it came, with ROCm 5.2.0.
FRESH = 10
# What apt's dpkg is called with in the phases of the upgrade.
PHASES = ("--purge", "--unpack", "--configure")
LOCK = "/var/lib/dpkg/lock-frontend"
# Holds the lock as apt does, under the name of another program, for as long as a run takes to look at the node.
HOLD = (
    'import fcntl, time; open("/proc/self/comm", "w").write("unattended-upgr"); '
    f'stream = open("{LOCK}", "r+"); fcntl.lockf(stream, fcntl.LOCK_EX); open("/run/held", "w"); time.sleep(30)'
)
Tell = Callable[[str], None]


class Upgrade:
    """A run that moves the node, as a process group of its own."""

    def __init__(self, reports: Path, variables: dict[str, Any]) -> None:
        self._log = reports.with_name("cut.log")
        with self._log.open("ab") as stream:
            self.process = subprocess.Popen(
                [Path(sys.executable).with_name("ansible-playbook"), "-i", INVENTORY, "site.yml", "--limit", NODE,
                 "-e", json.dumps({"bringup_report_dir": str(reports), **variables})],
                cwd=REPOSITORY,
                env={**os.environ, "ANSIBLE_CONFIG": str(REPOSITORY / "ansible.cfg"), "LC_ALL": "C.UTF-8"},
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )  # fmt: skip

    @property
    def output(self) -> str:
        """Return what it has printed so far."""
        return self._log.read_text(encoding="utf-8")

    def task(self) -> str:
        """Return the name of the task that it is at."""
        return ([*re.findall(r"^TASK \[(.+)\] \*", self.output, re.MULTILINE)] or ["the first task"])[-1]

    def kill(self) -> None:
        """Kill the controller with everything that it has started here."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


class Moves:
    """The moves of the node, and how long one takes when nothing disturbs it, in seconds."""

    def __init__(self, lab: Lab, scratch: Path) -> None:
        self._lab = lab
        self._scratch = scratch
        self._count = 0
        # Where the node is; None when nobody knows, or when it begins anew.
        self._release: str | None = None
        self._seconds: dict[bool, float] = {}

    def start(self, reports: Path) -> tuple[Upgrade, dict[str, Any]]:
        """Start the next move and return it, and the variables of its release."""
        if self._count % FRESH == 0:
            self._release = None
        self._count += 1
        if self._release is None:
            self._lab.command("reset", NODE)
        variables = release_variables(NODE, "5.7.1" if self._release == "5.4.2" else "5.4.2")
        self._release = None
        return Upgrade(reports, variables), variables

    def arrived(self, variables: dict[str, Any]) -> None:
        """Take note that the node is where it should be."""
        self._release = variables["rocm_release"]

    def cut_off(self, reports: Path, part: float) -> tuple[Upgrade, dict[str, Any]]:
        """Return a move that has run for a part of its time and still runs."""
        while True:
            anew = self._count % FRESH == 0 or self._release is None
            if anew not in self._seconds:
                self._seconds[anew] = self._undisturbed()
                continue
            run, variables = self.start(reports)
            time.sleep(part * self._seconds[anew])
            if run.process.poll() is None:
                return run, variables
            # It was quicker than the first one.
            assert run.process.returncode == 0, run.output
            self.arrived(variables)
            self._seconds[anew] *= 0.8

    def _undisturbed(self) -> float:
        run, variables = self.start(self._scratch / "reports")
        began = time.monotonic()
        assert run.process.wait() == 0, run.output
        self.arrived(variables)
        return time.monotonic() - began


@pytest.fixture(scope="module")
def moves(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Moves:
    """Return the moves of all tests of this file."""
    return Moves(lab, tmp_path_factory.mktemp("first"))


@pytest.fixture
def tell(capsys: pytest.CaptureFixture[str]) -> Tell:
    """Return a function that says at once where a run was cut, so that the log shows what was tried."""

    def say(text: str) -> None:
        with capsys.disabled():
            print(f"  {text}", flush=True)

    return say


def moments(count: int, kind: str) -> list[float]:
    """Return parts of the run, spread over all of it, each at random in its share."""
    chance = random.Random(f"{SEED}-{kind}")
    return [(number + chance.random()) / count for number in range(count)]


@pytest.mark.parametrize("part", moments(KILLS, "kill"), ids=lambda part: f"{part:.3f}")
def test_the_controller_killed(playbook: Playbook, tmp_path: Path, moves: Moves, part: float, tell: Tell) -> None:
    run, variables = moves.cut_off(tmp_path / "reports", part)
    run.kill()
    tell(f"on the way to {variables['rocm_release']}, killed in: {run.task()}")
    assert_the_next_run_passes(playbook, moves, variables)


@pytest.mark.parametrize("part", moments(CUTS, "cut"), ids=lambda part: f"{part:.3f}")
def test_the_mirror_cut(lab: Lab, playbook: Playbook, tmp_path: Path, moves: Moves, part: float, tell: Tell) -> None:
    run, variables = moves.cut_off(tmp_path / "reports", part)
    lab.command("mirror", "stop")
    task = run.task()
    try:
        run.process.wait()
    finally:
        lab.command("mirror", "start")
    ended = f"the run ended with {run.process.returncode} in: {run.task()}"
    tell(f"on the way to {variables['rocm_release']}, cut in: {task}; {ended}")
    assert_the_next_run_passes(playbook, moves, variables)


@pytest.mark.parametrize(
    ("phase", "delay"),
    [(PHASES[number % len(PHASES)], delay) for number, delay in enumerate(moments(OFFS, "off"))],
    ids=lambda value: value.strip("-") if isinstance(value, str) else f"{value:.2f}",
)
def test_the_node_powered_off_in_apt(
    lab: Lab, playbook: Playbook, tmp_path: Path, moves: Moves, phase: str, delay: float, tell: Tell
) -> None:
    node = nodes.find(NODE)
    run, variables = in_dpkg(lab, moves, tmp_path / "reports", phase, delay)
    podman.run("kill", node.container)
    run.process.wait()
    podman.run("start", node.container)
    nodes.wait_ready(node)
    tell(f"powered off {delay:.2f} s into dpkg {phase}, in: {run.task()}; left: {half_done(lab)}")
    assert run.process.returncode != 0
    assert_the_next_run_passes(playbook, moves, variables)


def test_ssh_lost_in_apt(lab: Lab, playbook: Playbook, tmp_path: Path, moves: Moves, tell: Tell) -> None:
    run, variables = in_dpkg(lab, moves, tmp_path / "reports", "--unpack", 0.0)
    reset = ["INPUT", "-p", "tcp", "--dport", "22", "-j", "REJECT", "--reject-with", "tcp-reset"]
    firewall("-I", *reset)
    run.process.wait()
    firewall("-D", *reset)
    tell(f"ssh lost in: {run.task()}")
    assert "UNREACHABLE" in run.output
    assert_the_next_run_passes(playbook, moves, variables)


def test_n02_a_lock_that_another_process_holds(
    lab: Lab, playbook: Playbook, tmp_path: Path, moves: Moves, tell: Tell
) -> None:
    run, variables = moves.start(tmp_path / "reports")
    assert run.process.wait() == 0, run.output
    inode = lab.on(NODE, f"stat -c %i {LOCK}")
    # Something to do, so that the run needs the lock.
    lab.on(
        NODE, f"apt-mark unhold rccl; nohup python3 -c '{HOLD}' >/dev/null 2>&1 & until test -e /run/held; do :; done"
    )
    after = playbook("site.yml", "--limit", NODE, **variables)
    tell(f"waited for a lock; the run ended with {after.code}")
    assert after.code == 0, after.output
    said = re.search(rf"waited for this to end: {LOCK} is held by unattended-upgr \(pid \d+\)", after.output)
    assert said is not None, after.output
    assert lab.on(NODE, f"stat -c %i {LOCK}; apt-mark showhold | grep -x rccl") == f"{inode}rccl\n"
    moves.arrived(variables)


def in_dpkg(lab: Lab, moves: Moves, reports: Path, phase: str, delay: float) -> tuple[Upgrade, dict[str, Any]]:
    """Return a move that is so many seconds into a phase of dpkg."""
    run, variables = moves.start(reports)
    lab.on(NODE, f"until pgrep -f '^/usr/bin/dpkg .*{phase} '; do sleep 0.02; done; sleep {delay}")
    assert run.process.poll() is None, run.output
    return run, variables


def half_done(lab: Lab) -> str:
    """Return the packages in which dpkg stopped, and the notes of a dpkg that was killed."""
    states = lab.on(NODE, "dpkg-query -W -f '${db:Status-Abbrev}${Package}\\n' | grep -v '^.[icn] ' | head -4; true")
    notes = lab.on(NODE, "ls /var/lib/dpkg/updates | wc -l")
    return f"{' '.join(states.split()) or 'no package'}, {notes.strip()} notes of dpkg"


def firewall(*words: str) -> None:
    """Change the packet filter in the node's own network, from outside."""
    info = podman.inspect(nodes.find(NODE).container)
    assert info is not None
    subprocess.run(["nsenter", "-t", str(info["State"]["Pid"]), "-n", "iptables", *words], check=True)


def assert_the_next_run_passes(playbook: Playbook, moves: Moves, variables: dict[str, Any]) -> None:
    after = playbook("site.yml", "--limit", NODE, **variables)
    assert after.code == 0, after.output
    assert after.results["nodes"][NODE]["verdict"] == "pass"
    again = playbook("site.yml", "--limit", NODE, **variables)
    assert "changed=0" in again.output
    assert again.results["nodes"][NODE]["plan"] == []
    moves.arrived(variables)
