# SPDX-License-Identifier: Apache-2.0
"""A snapshot leaves a node as it was, also where apt would renew its caches."""

from __future__ import annotations

from .conftest import Lab, Playbook

# Not below these: what systemd and sudo note of a person who comes in.
EVERYTHING = (
    "find /boot /etc /home /opt /root /usr /var -xdev "
    "\\( -path /var/log -o -path /var/lib/systemd -o -path /var/lib/sudo \\) -prune "
    "-o -printf '%p %i %m %U %G %s %T@ %l\\n' | sort"
)
CACHE = "/var/cache/apt/pkgcache.bin"


def test_a_snapshot_writes_nothing_on_the_node(lab: Lab, playbook: Playbook) -> None:
    # A cache that is older than dpkg's status is one that apt writes anew when root asks it anything.
    lab.on("node2", "apt-cache policy bash >/dev/null; touch /var/lib/dpkg/status")
    before = lab.on("node2", EVERYTHING)
    assert CACHE in before
    run = playbook("playbooks/verify.yml", "--limit", "node2")
    assert run.results["nodes"]["node2"]["checks"]
    assert lab.on("node2", EVERYTHING) == before
    # The instrument sees it when apt does write.
    lab.on("node2", "apt-cache policy bash >/dev/null")
    assert lab.on("node2", EVERYTHING) != before
