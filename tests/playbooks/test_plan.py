# SPDX-License-Identifier: Apache-2.0
"""run, node_facts and plan together, in one real ansible-playbook over trees that a test makes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
UBUNTU = 'ID=ubuntu\nVERSION_ID="22.04"\nVERSION_CODENAME=jammy\nPRETTY_NAME="Ubuntu 22.04.3 LTS"\n'


def make_tree(root: Path, release: str) -> Path:
    """Write the least that a plan of rccl and deepspeed reads: the system, the kernel and one card."""
    card = root / "sys/bus/pci/devices/0000:63:00.0"
    for path, text in {
        root / "etc/os-release": release,
        root / "proc/sys/kernel/osrelease": "5.15.0-91-generic\n",
        card / "vendor": "0x1002\n",
        card / "device": "0x740f\n",
        card / "class": "0x038000\n",
    }.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return what plan.yml --check --diff says of a node that can be planned, one of another system and a bad release."""
    folder = tmp_path_factory.mktemp("plan")
    local = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable, "rocm_method": "repository"}
    good = {"bringup_root": str(make_tree(folder / "good", UBUNTU)), "bringup_only": ["rccl", "deepspeed"]}
    other = {"bringup_root": str(make_tree(folder / "other", 'ID=fedora\nPRETTY_NAME="Fedora 39"\n'))}
    hosts = {"good": good, "other": other, "number": {**good, "rocm_release": 5.4}}
    inventory = {"all": {"hosts": {name: {**local, **values, "gpu_count": 1} for name, values in hosts.items()}}}
    (folder / "hosts.json").write_text(json.dumps(inventory))
    playbook = REPOSITORY / "playbooks" / "plan.yml"
    done = subprocess.run(
        [
            Path(sys.executable).with_name("ansible-playbook"),
            "-i",
            folder / "hosts.json",
            playbook,
            "--check",
            "--diff",
        ],
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
    results = json.loads((folder / "reports/latest/results.json").read_text())
    return {"code": done.returncode, "output": done.stdout, "nodes": results["nodes"]}


def test_a_plan_shows_each_file_as_it_will_be(planned: dict[str, Any]) -> None:
    assert "/etc/deepspeed/hostfile (planned)" in planned["output"]
    assert "+good slots=1" in planned["output"]


def test_a_plan_alone_judges_nothing(planned: dict[str, Any]) -> None:
    node = planned["nodes"]["good"]
    assert (node["verdict"], node["checks"]) == ("untouched", [])
    assert [step["role"] for step in node["plan"]] == ["preflight", "rccl", "deepspeed"]


def test_refusals_stop_their_hosts_only_and_end_non_zero(planned: dict[str, Any]) -> None:
    assert planned["code"] == 2
    assert "Fedora 39" in planned["nodes"]["other"]["reason"]
    assert "5.4, a number" in planned["nodes"]["number"]["reason"]
