# SPDX-License-Identifier: Apache-2.0
"""Each managed thing tampered with in turn: the plan says so, the next run repairs that and nothing else.

What is managed is read from the plan of a converged node itself, entered whole with bringup_force. A
kind of thing that no damage is written for fails test_every_kind_of_managed_thing_has_a_damage.
"""

from __future__ import annotations

import dataclasses
import json
import typing as t
from pathlib import Path

import pytest

from .conftest import Lab, Playbook

pytestmark = [pytest.mark.lab, pytest.mark.slow]
NODE = "node2"
TUNING: dict[str, t.Any] = {
    "kernel_tuning_boot_parameters": ["iommu=pt"],
    "kernel_tuning_sysctl": {"kernel.numa_balancing": "0"},
    "kernel_tuning_transparent_hugepage": "always",
    "kernel_tuning_memlock_services": ["slurmd"],
    "kernel_tuning_memlock": "8M",
}
# A damage of a file by the attribute that it hurts.
FILE_DAMAGE = {
    "content": "echo '# by hand' >>{path}",
    "mode": "chmod 0666 {path}",
    "owner": "chown deploy {path}",
    "absent": "rm {path}",
    "link": "mv {path} /root/moved && ln -s /root/moved {path}",
}


@dataclasses.dataclass(frozen=True)
class Damage:
    """Hold a script that damages one managed thing, and the change that the plan must then name."""

    kind: str
    subject: str
    script: str


def told(results: dict[str, t.Any]) -> list[tuple[str, str]]:
    """Return kind and subject of each change that a plan tells, but for what it only asks."""
    return [
        (change["kind"], change["subject"])
        for step in results["nodes"][NODE]["plan"]
        for change in step["changes"]
        if change["kind"] != "probe"
    ]


def damages(inputs: dict[str, dict[str, t.Any]]) -> list[Damage]:
    """Return a damage for each managed thing. Files take the kinds of damage in turn."""
    found = []
    kinds = list(FILE_DAMAGE)
    number = 0
    for role in sorted(inputs):
        for file in inputs[role].get("files", []):
            found.append(
                Damage("file", file["path"], FILE_DAMAGE[kinds[number % len(kinds)]].format(path=file["path"]))
            )
            number += 1
    rocm, pytorch = inputs["rocm"], inputs["pytorch"]
    found += [
        Damage("hold", name, f"apt-mark unhold {name}")
        for name in (rocm["hold"]["names"][0], rocm["hold"]["names"][-1])
    ]
    found += [
        Damage("package", name, f"dpkg --force-depends --purge {name}")
        for name in sorted({word.partition("=")[0] for word in rocm["packages"]} | set(inputs["mpi"]["packages"]))
    ]
    found.append(Damage("key", rocm["key"]["path"], f"echo '<html>' >{rocm['key']['path']}"))
    found.append(Damage("member", "deploy", "gpasswd -d deploy render"))
    found.append(Damage("link", "/opt/rocm", "ln -sfn /opt/rocm-0 /etc/alternatives/rocm"))
    site = f"{pytorch['venv']}/lib/python3*/site-packages"
    found += [
        Damage("wheel", "torch", f"sed -i 's/^Version: .*/Version: 2.9.1/' {site}/torch-*.dist-info/METADATA"),
        Damage("wheel", "torchvision", f"rm {site}/torchvision-*.dist-info/RECORD"),
        Damage("wheel", "torchaudio", f"chown -R deploy {site}/torchaudio-*.dist-info"),
    ]
    found += [Damage("sysctl", "kernel.numa_balancing", "echo 1 >/proc/sys/kernel/numa_balancing")]
    pages = "/sys/kernel/mm/transparent_hugepage/enabled"
    found.append(Damage("live", pages, f"echo 'always [madvise] never' >{pages}"))
    found.append(Damage("unit", "instinct-bringup-tuning.service", "systemctl disable instinct-bringup-tuning.service"))
    return found


# Inputs of roles that are no managed things: addresses, words of commands, and what a change derives from.
NOT_MANAGED = {
    "absent", "installer", "method", "usecases", "headers", "missing", "index_url", "trusted_host", "lock", "reinstall",
    "damaged", "source", "owner", "wheelhouse", "venv", "reload", "grub", "run_id", "unhold", "alternatives", "dkms_trees", "trees", "wheels",
}  # fmt: skip
DAMAGED_BY = {
    "files": "file", "pin": "file", "hold": "hold", "packages": "package", "key": "key", "members": "member",
    "link": "link", "sysctl": "sysctl", "unit": "unit",
}  # fmt: skip


@pytest.fixture
def model(playbook: Playbook, tmp_path: Path) -> dict[str, dict[str, t.Any]]:
    """Converge the node, and return the inputs of its plan by role."""
    run = playbook("site.yml", "--limit", NODE, **TUNING)
    assert run.code == 0, run.output
    forced = playbook("tests/lab/playbooks/model.yml", "--limit", NODE, bringup_force=True, **TUNING)
    assert forced.code == 0, forced.output
    steps = json.loads((tmp_path / "reports" / "model.json").read_text(encoding="utf-8"))
    return {role: step["inputs"] for role, step in steps.items()}


def test_every_kind_of_managed_thing_has_a_damage(model: dict[str, dict[str, t.Any]]) -> None:
    kinds = {damage.kind for damage in damages(model)}
    for role, inputs in model.items():
        if role in ("preflight", "rocm_purge", "reboot"):
            continue
        for name in set(inputs) - NOT_MANAGED:
            assert DAMAGED_BY.get(name) in kinds, f"{role}: nothing damages {name}"


def test_each_managed_thing_is_repaired_and_nothing_else(
    lab: Lab, playbook: Playbook, model: dict[str, dict[str, t.Any]]
) -> None:
    failures = []
    for damage in damages(model):
        lab.on(NODE, damage.script)
        planned = playbook("playbooks/plan.yml", "--limit", NODE, **TUNING)
        changes = told(planned.results)
        # A package takes along what needs it, and a hold with it; of all else nothing but the damage is planned.
        alone = damage.kind == "package" or len(changes) == 1
        if (damage.kind, damage.subject) not in changes or not alone:
            failures.append(f"{damage}: planned {changes}")
        run = playbook("site.yml", "--limit", NODE, **TUNING)
        if run.code != 0:
            failures.append(f"{damage}: {run.results['nodes'][NODE]}")
        again = playbook("playbooks/plan.yml", "--limit", NODE, **TUNING)
        if again.results["nodes"][NODE]["plan"]:
            failures.append(f"{damage}: not repaired: {again.results['nodes'][NODE]['plan']}")
    assert failures == []
