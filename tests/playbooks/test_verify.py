# SPDX-License-Identifier: Apache-2.0
"""run, verify and report together, in one real ansible-playbook over captured trees that a test makes."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from support.machines import Json
from support.snapshots import node

REPOSITORY = Path(__file__).resolve().parents[2]
PLAYBOOKS = REPOSITORY / "playbooks"


def write_kfd(root: Path, snapshot: Json) -> None:
    """Write a KFD topology as the driver shows it: the numbers of the snapshot, a file a node and link."""
    for entry in snapshot["kfd"]["nodes"]:
        folder = root / "sys/class/kfd/kfd/topology/nodes" / str(entry["id"])
        folder.mkdir(parents=True)
        (folder / "properties").write_text("".join(f"{key} {value}\n" for key, value in entry["properties"].items()))
        (folder / "io_links").mkdir()
        for number, link in enumerate(entry["io_links"]):
            (folder / "io_links" / str(number)).mkdir()
            text = "".join(f"{key} {value}\n" for key, value in link.items())
            (folder / "io_links" / str(number) / "properties").write_text(text)


def run_playbook(inventory: Json, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run verify.yml and then the action report over its run, named twice, which makes a merged one."""
    report = {"run_dirs": ["reports/latest", "reports/latest"]}
    merge = {
        "name": "Merge",
        "hosts": "localhost",
        "gather_facts": False,
        "tasks": [{"name": "Merge", "instinct.bringup.report": report}],
    }
    plays = [{"import_playbook": str(PLAYBOOKS / "verify.yml")}, merge]
    (folder / "hosts.json").write_text(json.dumps(inventory))
    (folder / "plays.json").write_text(json.dumps(plays))
    command = [Path(sys.executable).with_name("ansible-playbook"), "-i", folder / "hosts.json", folder / "plays.json"]
    return subprocess.run(
        [str(word) for word in command],
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


@pytest.fixture(scope="module")
def verified(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return what verify.yml leaves of a healthy tree, one with a card missing, and a host that does not answer."""
    folder = tmp_path_factory.mktemp("verify")
    healthy, broken = node("mi210-4gpu-quad").snapshot, node("mi210-4gpu-quad").snapshot
    broken["kfd"]["nodes"].pop()
    write_kfd(folder / "healthy", healthy)
    write_kfd(folder / "broken", broken)
    local = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    hosts = {
        "healthy": {**local, "bringup_root": str(folder / "healthy")},
        "../broken": {**local, "bringup_root": str(folder / "broken")},
        # A port that nobody listens on: refused at once.
        "silent": {"ansible_host": "127.0.0.1", "ansible_port": 1, "ansible_timeout": 3},
    }
    options = {"rocm_release": "5.4.2", "gpu_model": "mi210", "gpu_count": 4, "gpu_hive_size": 4}
    done = run_playbook({"all": {"hosts": hosts, "vars": options}}, folder)
    assert (folder / "reports").is_dir(), done.stdout + done.stderr
    merged = (folder / "reports" / "latest").resolve()
    (run_dir,) = [path for path in (folder / "reports").iterdir() if path.name not in ("latest", merged.name)]
    results = json.loads((run_dir / "results.json").read_text())
    return {"done": done, "run": run_dir, "merged": merged, "results": results}


def test_exit_is_not_zero_unless_every_node_passes(verified: dict[str, Any]) -> None:
    assert verified["done"].returncode != 0


def test_every_node_has_its_verdict(verified: dict[str, Any]) -> None:
    results = verified["results"]
    assert results["complete"] is True
    assert results["rocm_release"] == "5.4.2"
    assert {host: entry["verdict"] for host, entry in results["nodes"].items()} == {
        "healthy": "pass", "../broken": "fail", "silent": "unreachable",
    }  # fmt: skip
    assert "Connection refused" in results["nodes"]["silent"]["reason"]
    failed = {check["id"] for check in results["nodes"]["../broken"]["checks"] if check["outcome"] == "fail"}
    assert failed == {"gpu.count", "xgmi.hive"}


def test_a_host_with_an_evil_name_stays_in_the_folder(verified: dict[str, Any]) -> None:
    assert [path.name for path in (verified["run"] / "nodes").iterdir() if "broken" in path.name] == [
        "%2E.%2Fbroken.json"
    ]


def test_summary_and_failure_are_told(verified: dict[str, Any]) -> None:
    output = verified["done"].stdout
    assert "3 nodes: 1 pass, 1 fail, 1 unreachable" in output
    assert "gpu.count AMD Instinct MI210: 3 in KFD, expected 4 in KFD" in output


def test_html_and_junit_are_there(verified: dict[str, Any]) -> None:
    assert "silent" in (verified["run"] / "index.html").read_text()
    suites = ET.parse(verified["run"] / "junit.xml").getroot().findall("testsuite")
    assert {suite.get("name") for suite in suites} == {"healthy", "../broken", "silent"}


def test_merged_runs_have_a_report_of_their_own(verified: dict[str, Any]) -> None:
    merged = json.loads((verified["merged"] / "results.json").read_text())
    # The run had not ended when it was merged, but every node had its verdict.
    assert merged["complete"] is True
    assert merged["nodes"] == verified["results"]["nodes"]
    assert (verified["merged"] / "index.html").is_file()
    assert (verified["merged"] / "junit.xml").is_file()
