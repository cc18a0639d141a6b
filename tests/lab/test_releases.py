# SPDX-License-Identifier: Apache-2.0
"""From any release of the lab's mirror to any other, up and down: each move verifies, and a second run changes nothing."""

from __future__ import annotations

import json
import typing as t

import pytest

from instinct_lab import settings

from .conftest import REPOSITORY, Lab, Playbook

pytestmark = [pytest.mark.lab, pytest.mark.slow]
# Where a node goes, one move after the other. node1 comes from 5.2.0, which AMD has for focal only.
ROUTES = {
    "node1": ("5.4.2", "5.7.1", "5.4.2"),
    "node2": ("5.7.1", "6.1.0", "5.4.2", "6.1.0", "5.7.1"),
}
CODENAMES = {"node1": "focal", "node2": "jammy"}
VERSIONS = "dpkg-query -W -f '${Package} ${Version} ${db:Status-Abbrev}\\n'"


def encoded(release: str) -> str:
    major, minor, patch = (int(part) for part in release.split("."))
    return f"{major}{minor:02}{patch:02}"


def variables(node: str, release: str) -> dict[str, t.Any]:
    """Return what a site would set for another release: its name, the installer's digest and the wheels' lock."""
    info = json.loads(settings.MIRROR_INFO.read_text(encoding="utf-8"))
    return {
        "rocm_release": release,
        "rocm_installer_sha256": info["installer_sha256"][release][CODENAMES[node]],
        "pytorch_lock_file": str(REPOSITORY / info["pytorch_lock"][release]),
    }


@pytest.mark.parametrize("node", ROUTES)
def test_a_route_through_the_releases(lab: Lab, playbook: Playbook, node: str) -> None:
    lab.command("reset", node)
    for release in ROUTES[node]:
        given = variables(node, release)
        run = playbook("site.yml", "--limit", node, **given)
        assert run.code == 0, f"to {release}: {run.output}"
        assert run.results["nodes"][node]["verdict"] == "pass"
        others = [
            line
            for line in lab.on(node, VERSIONS).splitlines()
            for other in ("5.2.0", "5.4.2", "5.7.1", "6.1.0")
            if other != release and f".{encoded(other)}-" in line
        ]
        assert others == [], f"after {release}"
        again = playbook("site.yml", "--limit", node, **given)
        assert "changed=0" in again.output, f"a second run of {release}: {again.output}"
