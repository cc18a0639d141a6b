# SPDX-License-Identifier: Apache-2.0
"""The state old-rocm: its list for the tests agrees with the script and with the mirror's data."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from instinct_lab import settings
from instinct_lab.mirror import data, driver, installer, userspace

LISTED: dict[str, Any] = yaml.safe_load((settings.STATES_DIR / "old_rocm.yml").read_text())
SCRIPT = (settings.STATES_DIR / "old_rocm.sh").read_text()
RELEASE = next(release for release in data.releases() if release.rocm == LISTED["release"])


def test_the_packages_have_the_versions_of_the_mirror() -> None:
    made = userspace.packages(RELEASE, "20.04") + driver.packages(RELEASE, "20.04")
    made.append(installer.package(RELEASE, "focal", "http://mirror.lab", b""))
    versions = {package.name: package.version for package in made}
    assert {name: versions[name] for name in LISTED["packages"]} == LISTED["packages"]


@pytest.mark.parametrize("path", LISTED["site"]["files"] + LISTED["leftovers"]["unowned_trees"])
def test_the_script_makes_what_the_list_names(path: str) -> None:
    # The suite's folder is in a variable there; its last parts are enough.
    assert path in SCRIPT or path.rsplit("/", 1)[0] in SCRIPT


@pytest.mark.parametrize("package", LISTED["leftovers"]["holds"] + LISTED["site"]["holds"])
def test_the_script_holds_the_packages(package: str) -> None:
    assert f"apt-mark hold {package}\n" in SCRIPT
