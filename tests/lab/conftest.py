# SPDX-License-Identifier: Apache-2.0
"""Drive the simulated nodes and the playbooks as a person would: by their commands."""

from __future__ import annotations

import collections.abc as c
import functools
import json
import os
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest

from instinct_lab import settings

REPOSITORY = Path(__file__).resolve().parents[2]
INVENTORY = REPOSITORY / "inventory" / "lab"
# Everything below these that a run could change, as one digest: names, modes, owners, targets, contents.
TREE_HASH = (
    "set -e; find /etc /opt /var/lib/dpkg -printf '%p %m %U %G %l\\n' | sort | sha256sum; "
    "find /etc /opt /var/lib/dpkg -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum"
)


# The Ubuntu release that a node is presented as. node1 comes from 5.2.0, which AMD has for focal only.
CODENAMES = {"node1": "focal", "node2": "jammy"}


def release_variables(node: str, release: str) -> dict[str, t.Any]:
    """Return what a site would set for another release: its name, the installer's digest and the wheels' lock."""
    info = json.loads(settings.MIRROR_INFO.read_text(encoding="utf-8"))
    return {
        "rocm_release": release,
        "rocm_installer_sha256": info["installer_sha256"][release][CODENAMES[node]],
        "pytorch_lock_file": str(REPOSITORY / info["pytorch_lock"][release]),
    }


class Lab:
    """Give access to the lab's commands. Nodes: node1 is the old one, node2 the bare one."""

    def command(self, *words: str) -> str:
        """Run a command of the lab and return what it prints."""
        done = subprocess.run(
            [sys.executable, "-m", "instinct_lab", *words],
            cwd=REPOSITORY,
            env={**os.environ, "PYTHONPATH": str(REPOSITORY / "molecule" / "lab")},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    def on(self, node: str, script: str) -> str:
        """Run a script as root on a node, past ssh and Ansible, and return what it prints."""
        return self.command("exec", node, "--", "bash", "-c", script)

    def tree_hash(self, node: str) -> str:
        """Return one digest of everything on a node that a run could change."""
        return self.on(node, TREE_HASH)


class Run(t.NamedTuple):
    """Hold what a playbook printed and how it ended, and results.json of its run."""

    code: int
    output: str
    results: dict[str, t.Any]


Playbook = c.Callable[..., Run]


@pytest.fixture(scope="session")
def lab() -> Lab:
    """Return the lab; skip where it does not run."""
    if not (INVENTORY / "hosts.yml").is_file():
        pytest.skip("the lab is not up: make lab")
    return Lab()


def run_playbook(folder: Path, name: str, *words: str, **variables: object) -> Run:
    """Run a playbook on the lab, with its reports in a folder."""
    reports = folder / "reports"
    extra = json.dumps({"bringup_report_dir": str(reports), **variables})
    done = subprocess.run(
        [Path(sys.executable).with_name("ansible-playbook"), "-i", INVENTORY, name, "-e", extra, *words],
        cwd=REPOSITORY,
        env={**os.environ, "ANSIBLE_CONFIG": str(REPOSITORY / "ansible.cfg"), "LC_ALL": "C.UTF-8"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    path = reports / "latest" / "results.json"
    return Run(done.returncode, done.stdout, json.loads(path.read_text()) if path.is_file() else {})


@pytest.fixture
def playbook(tmp_path: Path) -> Playbook:
    """Return a function that runs a playbook on the lab, with a report folder of the test's own."""
    return functools.partial(run_playbook, tmp_path)
