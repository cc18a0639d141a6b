# SPDX-License-Identifier: Apache-2.0
"""What launch_check says of a job before it is started, in one real ansible-playbook over made trees."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .test_plan import REPOSITORY, UBUNTU, make_tree

PLAY = [
    {
        "hosts": "all",
        "gather_facts": False,
        "tasks": [
            {
                "instinct.bringup.run": {
                    "report_dir": "{{ report_dir }}",
                    "verb": "launch-check",
                    "hosts": "{{ ansible_play_hosts_all }}",
                },
                "run_once": True,
                "register": "bringup_run",
            },
            {"instinct.bringup.node_facts": {"run_dir": "{{ bringup_run.run.dir }}"}, "register": "bringup_facts"},
            {"instinct.bringup.launch_check": {"run_dir": "{{ bringup_run.run.dir }}"}, "register": "asked"},
            {"ansible.builtin.copy": {"content": "{{ asked | to_json }}", "dest": "{{ answer }}", "mode": "0600"}},
        ],
    }
]


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return what a host with a job's user was told, and what stands in the results of both."""
    folder = tmp_path_factory.mktemp("launch")
    local = {
        "ansible_connection": "local",
        "ansible_python_interpreter": sys.executable,
        "rocm_method": "repository",
        "gpu_count": 1,
        "report_dir": str(folder / "reports"),
    }
    users = {"somebody": ["deploy"], "nobody": []}
    hosts = {
        name: {
            **local,
            "bringup_root": str(make_tree(folder / name, UBUNTU)),
            "bringup_users": given,
            "answer": str(folder / f"{name}.json"),
        }
        for name, given in users.items()
    }
    (folder / "hosts.json").write_text(json.dumps({"all": {"hosts": hosts}}))
    (folder / "play.yml").write_text(json.dumps(PLAY))
    done = subprocess.run(
        [Path(sys.executable).with_name("ansible-playbook"), "-i", folder / "hosts.json", folder / "play.yml"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={
            "LC_ALL": "C.UTF-8",
            "HOME": str(folder),
            "PATH": "/usr/bin:/bin",
            "ANSIBLE_CONFIG": str(REPOSITORY / "ansible.cfg"),
            "ANSIBLE_LOCAL_TEMP": str(folder / "tmp"),
        },
    )
    assert done.returncode == 2, done.stdout + done.stderr
    answer = json.loads((folder / "somebody.json").read_text())
    return {"answer": answer, "nobody": not (folder / "nobody.json").exists(), "output": done.stdout + done.stderr}


def test_a_job_is_told_with_its_user_and_its_ranks(asked: dict[str, Any]) -> None:
    expected = asked["answer"]["expected"]
    assert (expected["user"], expected["world_size"], expected["master"]) == ("deploy", 2, "nobody")


def test_a_job_of_nobody_is_not_started_as_root(asked: dict[str, Any]) -> None:
    assert asked["nobody"]
    assert "nobody says whose jobs these are" in asked["output"].replace("\n        ", " ")
