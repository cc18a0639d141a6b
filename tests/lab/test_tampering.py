# SPDX-License-Identifier: Apache-2.0
"""Each managed thing tampered with: the plan says so, the next run repairs that and nothing else.

What is managed is read from the plan of a converged node itself, entered whole with bringup_force. A thing that no damage
is written for fails test_every_managed_thing_has_a_damage (support/damages.py makes them, and says which go together). That nothing else was changed is
read with find, sha256sum, dpkg-query and apt-mark: the node after the repair is, line for line, what it was before the damage.
"""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest
from support.damages import TUNING, Damage, Model, damages, rounds, without_damage

from .conftest import Lab, Playbook

pytestmark = [pytest.mark.lab, pytest.mark.slow]
NODE = "node2"
FOLDERS = "/etc /opt /boot /usr/src /usr/local /usr/share/keyrings /var/lib/dkms /var/lib/dpkg/alternatives"
# What programs write by themselves: caches, logs of a build, byte code with the time in it, copies that usermod keeps.
BY_THEMSELVES = ("/etc/ld.so.cache", "make.log", "__pycache__", "/etc/group-", "/etc/gshadow-", "/etc/.pwd.lock")
STATE = (
    f"find {FOLDERS} -printf '%p %y %m %U %G %l\\n'; "
    f"find {FOLDERS} -type f -print0 | xargs -0 sha256sum; "
    "dpkg-query -W -f 'package ${Package} ${Version} ${db:Status-Abbrev}\\n'; "
    "apt-mark showhold | sed 's/^/hold /'; apt-mark showauto | sed 's/^/auto /'; "
    "systemctl is-enabled instinct-bringup-tuning.service; id deploy; cat /proc/cmdline; "
    "sed 's/^/numa_balancing /' /proc/sys/kernel/numa_balancing; cat /sys/kernel/mm/transparent_hugepage/enabled"
)


def state(lab: Lab) -> set[str]:
    """Return what a run could change on the node, as lines."""
    return {line for line in lab.on(NODE, STATE).splitlines() if not any(name in line for name in BY_THEMSELVES)}


def told(results: dict[str, t.Any]) -> list[tuple[str, str]]:
    """Return kind and subject of each change that a plan tells, but for what it only asks."""
    return [
        (change["kind"], change["subject"])
        for step in results["nodes"][NODE]["plan"]
        for change in step["changes"]
        if change["kind"] != "probe"
    ]


@pytest.fixture(scope="module")
def converged(lab: Lab) -> Lab:
    lab.command("reset", NODE)
    return lab


@pytest.fixture
def model(converged: Lab, playbook: Playbook, tmp_path: Path) -> Model:
    """Converge the node, and return the inputs of its plan by role."""
    run = playbook("site.yml", "--limit", NODE, **TUNING)
    assert run.code == 0, run.output
    forced = playbook("tests/lab/playbooks/model.yml", "--limit", NODE, bringup_force=True, **TUNING)
    assert forced.code == 0, forced.output
    steps = json.loads((tmp_path / "reports" / "model.json").read_text(encoding="utf-8"))
    return {role: step["inputs"] for role, step in steps.items()}


def repair(lab: Lab, playbook: Playbook, hurt: list[Damage], before: set[str]) -> list[str]:
    """Damage the node, let a run repair it, and return what was not as it must be.

    The plan that is judged is the run's own, which was made and told before anything was changed.
    """
    failures = []
    for damage in hurt:
        lab.on(NODE, damage.script)
    run = playbook("site.yml", "--limit", NODE, **TUNING)
    if run.code != 0:
        failures.append(f"the run: {run.results['nodes'][NODE]['reason']}")
    planned = told(run.results)
    for damage in hurt:
        seen = sorted(subject for kind, subject in planned if kind == damage.kind)
        if seen != sorted(damage.subjects):
            failures.append(f"{damage}: planned is {seen}")
    expected = {kind for damage in hurt for kind in (damage.kind, *damage.along)}
    if beside := [change for change in planned if change[0] not in expected]:
        failures.append(f"planned beside it: {beside}")
    left = [path for damage in hurt for path in damage.leaves]
    if changed := sorted(line for line in state(lab) ^ before if not any(path in line for path in left)):
        failures.append(f"differs from before: {changed[:20]}")
    return failures


def test_every_managed_thing_has_a_damage(model: Model) -> None:
    assert without_damage(model) == []


def test_each_managed_thing_is_repaired_and_nothing_else(lab: Lab, playbook: Playbook, model: Model) -> None:
    failures: list[list[str]] = []
    before = state(lab)
    for hurt in rounds(damages(model)):
        if found := repair(lab, playbook, hurt, before):
            failures.append(found)
        # So that what a round leaves does not show in all that come after it.
        before = state(lab)
    again = playbook("site.yml", "--limit", NODE, **TUNING)
    assert "changed=0" in again.output
    assert again.results["nodes"][NODE]["plan"] == []
    assert failures == []


def test_what_a_site_no_longer_asks_for_goes(lab: Lab, playbook: Playbook, model: Model) -> None:
    """A service that is taken from the list loses its drop-in, and systemd its limit."""
    drop_in = "/etc/systemd/system/slurmd.service.d/99-instinct-bringup.conf"
    before = state(lab)
    fewer = {**TUNING, "kernel_tuning_memlock_services": ["sshd"]}
    run = playbook("site.yml", "--limit", NODE, **fewer)
    assert run.code == 0, run.output
    assert ("file", drop_in) in told(run.results)
    assert lab.on(NODE, f"test ! -e {drop_in} && systemctl show -p LimitMEMLOCK slurmd.service").strip() != (
        "LimitMEMLOCK=8388608"
    )
    back = playbook("site.yml", "--limit", NODE, **TUNING)
    assert back.code == 0, back.output
    # The folder of sshd's drop-in is systemd's, and stays empty.
    assert {line for line in state(lab) ^ before if "/sshd.service.d " not in line} == set()
