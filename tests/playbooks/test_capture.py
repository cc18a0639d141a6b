# SPDX-License-Identifier: Apache-2.0
"""capture.yml over made machines, and verify.yml over what it wrote."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from instinct_lab.hardware import build, machine, overrides

REPOSITORY = Path(__file__).resolve().parents[2]
LOCAL = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
NODES = {"one": [], "two": [], "three": ["gpus.0000:23:00.0.vbios=113-D67301V-074"]}


def run(folder: Path, playbook: str, hosts: dict[str, Any], **options: Any) -> subprocess.CompletedProcess[str]:
    profile = {"rocm_release": "5.4.2", "gpu_model": "mi210", "gpu_count": 4, "gpu_hive_size": 4, **options}
    (folder / "hosts.json").write_text(json.dumps({"all": {"hosts": hosts, "vars": profile}}))
    command = [
        Path(sys.executable).with_name("ansible-playbook"),
        "-i",
        "hosts.json",
        REPOSITORY / "playbooks" / playbook,
    ]
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


def results(folder: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((folder / "reports/latest/results.json").read_text())
    return loaded


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("capture")
    for name, changes in NODES.items():
        build.write_offline(
            overrides.apply(machine.load("mi210-4gpu-quad"), ["cmdline=ro iommu=pt", *changes]), folder / name
        )
    hosts = {name: {**LOCAL, "bringup_root": str(folder / name)} for name in NODES}
    done = run(folder, "capture.yml", hosts, capture_dir="cap", capture_bundle=True, capture_baseline="baseline.yml")
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_a_manifest_and_a_bundle_a_node(captured: Path) -> None:
    assert sorted(path.name for path in (captured / "cap").iterdir()) == sorted(
        [f"{name}.{kind}" for name in NODES for kind in ("manifest", "bundle.tar.gz")]
    )
    with tarfile.open(captured / "cap/three.bundle.tar.gz") as archive:
        members = {member.name.rpartition("/")[2] for member in archive.getmembers()}
        report = json.load(archive.extractfile("capture/report.json"))  # type: ignore[arg-type]
    assert members == {
        "machine.manifest", "packages.txt", "kernel.log", "problems.json", "plan.json", "report.json",
    }  # fmt: skip
    assert report["host"] == "node"
    assert report["checks"]


def test_the_baseline_is_what_most_of_them_have(captured: Path) -> None:
    baseline = yaml.safe_load((captured / "baseline.yml").read_text())
    assert baseline["models"]["1002:740f"]["gpus"] == "4 x 1002:740f"
    assert results(captured)["fleet"][0]["host"] == "three"


def test_a_manifest_is_judged_as_its_tree_was(captured: Path) -> None:
    before = results(captured)["nodes"]
    own = {**LOCAL, "bringup_root": str(captured / "one")}
    waiver = {"check": "fw.minimum", "until": "2999-01-01", "reason": "ordered", "owner": "ops"}
    hosts = {
        "three": {**LOCAL, "bringup_root": str(captured / "cap/three.manifest")},
        "refused": {**own, "fw_minimum": {"amdgpu-firmware": "1.0.0.14"}},
        "waived": {**own, "fw_minimum": {"smc": "99.0.0"}, "bringup_waivers": [waiver]},
    }
    done = run(captured, "verify.yml", hosts, bringup_baseline=str(captured / "baseline.yml"))
    after = results(captured)["nodes"]
    assert after["refused"]["verdict"] == "refused", done.stdout
    assert "the fields are vbios" in after["refused"]["reason"]

    def outcomes(node: dict[str, Any]) -> set[tuple[str, str, str]]:
        checks = node["checks"]
        return {(c["id"], c["subject"], c["outcome"]) for c in checks if not c["id"].startswith("fleet.")}

    assert outcomes(after["three"]) == outcomes(before["three"])
    unlike = [
        c["subject"] for c in after["three"]["checks"] if c["id"] == "fleet.as_baseline" and c["outcome"] == "fail"
    ]
    assert unlike == ["VBIOS"]
    assert {c["outcome"] for c in after["waived"]["checks"] if c["id"] == "fw.minimum"} == {"waived"}
    assert "waived fw.minimum" in done.stdout
