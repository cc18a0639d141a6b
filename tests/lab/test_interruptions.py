# SPDX-License-Identifier: Apache-2.0
"""The controller killed and the mirror cut at random moments of an upgrade: the next run ends in pass.

BRINGUP_FAULT_KILLS and BRINGUP_FAULT_CUTS say how often (20 and 10), BRINGUP_FAULT_SEED which moments.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from .conftest import INVENTORY, REPOSITORY, Lab, Playbook

pytestmark = [pytest.mark.lab, pytest.mark.slow]
NODE = "node1"
KILLS = int(os.environ.get("BRINGUP_FAULT_KILLS", "20"))
CUTS = int(os.environ.get("BRINGUP_FAULT_CUTS", "10"))
SEED = os.environ.get("BRINGUP_FAULT_SEED", "1")
# A run of the upgrade takes at least so long in seconds, so that a moment of it lies in the run.
SHORTEST = 10.0


def start(reports: Path) -> subprocess.Popen[bytes]:
    """Start the upgrade as a process group of its own."""
    return subprocess.Popen(
        [Path(sys.executable).with_name("ansible-playbook"), "-i", INVENTORY, "site.yml", "--limit", NODE,
         "-e", json.dumps({"bringup_report_dir": str(reports)})],
        cwd=REPOSITORY,
        env={**os.environ, "ANSIBLE_CONFIG": str(REPOSITORY / "ansible.cfg"), "LC_ALL": "C.UTF-8"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip


@pytest.fixture(scope="module")
def seconds(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> float:
    """Return how long the upgrade takes here when nothing disturbs it."""
    lab.command("reset", NODE)
    began = time.monotonic()
    assert start(tmp_path_factory.mktemp("first")).wait() == 0
    return max(time.monotonic() - began, SHORTEST)


def moments(count: int, kind: str) -> list[float]:
    """Return parts of the run, spread over all of it, each at random in its share."""
    chance = random.Random(f"{SEED}-{kind}")
    return [(number + chance.random()) / count for number in range(count)]


@pytest.mark.parametrize("part", moments(KILLS, "kill"), ids=lambda part: f"{part:.3f}")
def test_the_controller_killed(lab: Lab, playbook: Playbook, tmp_path: Path, seconds: float, part: float) -> None:
    lab.command("reset", NODE)
    run = start(tmp_path / "cut")
    time.sleep(part * seconds)
    os.killpg(run.pid, signal.SIGKILL)
    run.wait()
    assert_the_next_run_passes(playbook)


@pytest.mark.parametrize("part", moments(CUTS, "cut"), ids=lambda part: f"{part:.3f}")
def test_the_mirror_cut(lab: Lab, playbook: Playbook, tmp_path: Path, seconds: float, part: float) -> None:
    lab.command("reset", NODE)
    run = start(tmp_path / "cut")
    time.sleep(part * seconds)
    lab.command("mirror", "stop")
    try:
        run.wait()
    finally:
        lab.command("mirror", "start")
    assert_the_next_run_passes(playbook)


def assert_the_next_run_passes(playbook: Playbook) -> None:
    after = playbook("site.yml", "--limit", NODE)
    assert after.code == 0, after.output
    assert after.results["nodes"][NODE]["verdict"] == "pass"
    again = playbook("site.yml", "--limit", NODE)
    assert "changed=0" in again.output
    assert again.results["nodes"][NODE]["plan"] == []
