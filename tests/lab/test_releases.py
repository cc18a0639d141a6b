# SPDX-License-Identifier: Apache-2.0
"""From any release of the lab's mirror to any other, up and down: each move verifies, and a second run changes nothing."""

from __future__ import annotations

import pytest

from .conftest import Lab, Playbook, release_variables

pytestmark = [pytest.mark.lab, pytest.mark.slow]
RELEASES = ("5.2.0", "5.4.2", "5.7.1", "6.1.0")
# Where a node goes, one move after the other: a release, and a driver of another one that AMD tests with it.
# node1 comes from 5.2.0.
ROUTES = {
    "node1": (("5.4.2", ""), ("5.7.1", ""), ("5.4.2", "")),
    "node2": (("5.7.1", ""), ("6.1.0", ""), ("5.4.2", ""), ("6.1.0", ""), ("6.1.0", "5.7.1"), ("5.7.1", "")),
}
VERSIONS = "dpkg-query -W -f '${Package} ${Version} ${db:Status-Abbrev}\\n'"


def encoded(release: str) -> str:
    major, minor, patch = (int(part) for part in release.split("."))
    return f"{major}{minor:02}{patch:02}"


def of_other_releases(rows: str, release: str, driver: str) -> list[str]:
    """Return dpkg's rows of packages that are of another release than they should be."""
    wrong = []
    for row in rows.splitlines():
        wanted = driver if row.startswith("amdgpu-dkms") else release
        wrong += [row for other in RELEASES if other != wanted and f".{encoded(other)}-" in row]
    return wrong


@pytest.mark.parametrize("node", ROUTES)
def test_a_route_through_the_releases(lab: Lab, playbook: Playbook, node: str) -> None:
    lab.command("reset", node)
    for release, driver in ROUTES[node]:
        given = {**release_variables(node, release), "rocm_driver_release": driver}
        run = playbook("site.yml", "--limit", node, **given)
        assert run.code == 0, f"to {release} {driver}: {run.output}"
        assert run.results["nodes"][node]["verdict"] == "pass"
        rows = lab.on(node, VERSIONS)
        assert f".{encoded(driver or release)}-" in rows.partition("amdgpu-dkms ")[2].splitlines()[0]
        assert of_other_releases(rows, release, driver or release) == [], f"after {release} {driver}"
        again = playbook("site.yml", "--limit", node, **given)
        assert "changed=0" in again.output, f"a second run of {release} {driver}: {again.output}"
        assert again.results["nodes"][node]["plan"] == []
