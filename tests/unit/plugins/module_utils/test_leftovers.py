# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible_collections.instinct.bringup.plugins.module_utils.dpkg import FileLists
from ansible_collections.instinct.bringup.plugins.module_utils.leftovers import read_leftovers
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

Plant = Callable[[dict[str, Any]], Tree]
INFO = "/var/lib/dpkg/info"


def test_what_the_patterns_find_and_who_owns_it(plant: Plant) -> None:
    tree = plant(
        {
            "/usr/src/amdgpu-6.7.0/dkms.conf": "x",
            "/usr/src/amdgpu-6.8.5/dkms.conf": "x",
            "/usr/src/linux-headers/x": "x",
            "/usr/bin/amdgpu-uninstall": "-> amdgpu-install",
            "/lib/firmware/updates/amdgpu/a.bin": "x",
            f"{INFO}/amdgpu-dkms.list": "/usr/src/amdgpu-6.8.5\n/usr/src/amdgpu-6.8.5/dkms.conf\n",
            f"{INFO}/base.list": "/usr/src\n/usr/src/amdgpu-6.7.0\n",
            f"{INFO}/amdgpu-dkms-firmware:amd64.list": "/usr/lib/firmware/updates/amdgpu/a.bin\n",
        }
    )
    patterns = ["/usr/src/amdgpu-*", "/usr/bin/amdgpu-uninstall", "/lib/firmware/updates/amdgpu", "/opt/amdgpu"]
    assert read_leftovers(tree, patterns, FileLists(tree)) == [
        {"path": "/usr/src/amdgpu-6.7.0", "type": "directory", "owners": []},
        {"path": "/usr/src/amdgpu-6.8.5", "type": "directory", "owners": ["amdgpu-dkms"]},
        {"path": "/usr/bin/amdgpu-uninstall", "type": "link", "owners": []},
        {"path": "/lib/firmware/updates/amdgpu", "type": "directory", "owners": ["amdgpu-dkms-firmware"]},
    ]
    assert tree.problems() == []


def test_without_dpkg_nobody_can_tell_the_owner(plant: Plant) -> None:
    tree = plant({"/opt/amdgpu/x": "x"})
    assert read_leftovers(tree, ["/opt/amdgpu"], FileLists(tree)) == [
        {"path": "/opt/amdgpu", "type": "directory", "owners": None}
    ]
