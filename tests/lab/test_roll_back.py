# SPDX-License-Identifier: Apache-2.0
"""From ROCm 5.2.0 to 5.4.2 and back: packages and files are those of the beginning."""

from __future__ import annotations

import pytest

from .conftest import Lab, Playbook

pytestmark = [pytest.mark.lab, pytest.mark.slow]
NODE = "node1"
# Caches, copies and locks that a machine writes by itself; and the groups that packages make and never remove, which
# the roll-back names.
NOT_COMPARED = ("/etc/ld.so.cache", "/etc/group", "/etc/gshadow", "/etc/shadow-", "/etc/.pwd.lock")
FILES = "find /etc /opt /usr/src /var/lib/dkms /var/lib/dpkg/alternatives -printf '%p %y %m %U %G %l\\n' | sort"
SUMS = (
    "find /etc /opt /usr/src /var/lib/dkms /var/lib/dpkg/alternatives -type f -print0 | sort -z | xargs -0 -r sha256sum"
)
PACKAGES = "dpkg-query -W -f '${Package} ${Version} ${db:Status-Abbrev}\\n' | sort; apt-mark showauto"


def state(lab: Lab) -> dict[str, list[str]]:
    def lines(script: str) -> list[str]:
        return [line for line in lab.on(NODE, script).splitlines() if not any(path in line for path in NOT_COMPARED)]

    return {"packages": lines(PACKAGES), "files": lines(FILES), "sums": lines(SUMS)}


def test_there_and_back(lab: Lab, playbook: Playbook) -> None:
    lab.command("reset", NODE)
    before = state(lab)
    there = playbook("site.yml", "--limit", NODE)
    assert there.code == 0, there.output
    run_id = lab.on(NODE, "basename -s .before.json /var/lib/instinct-bringup/manifests/*.before.json").strip()
    back = playbook("playbooks/roll-back.yml", "--limit", NODE, bringup_manifest=run_id)
    assert back.code == 0, back.output
    assert "group rdma" in back.output
    after = state(lab)
    assert after["packages"] == before["packages"]
    assert after["files"] == before["files"]
    assert after["sums"] == before["sums"]
    again = playbook("playbooks/roll-back.yml", "--limit", NODE, bringup_manifest=run_id)
    assert "changed=0" in again.output
