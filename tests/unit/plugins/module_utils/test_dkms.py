# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible_collections.instinct.bringup.plugins.module_utils.dkms import read_dkms
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

Plant = Callable[[dict[str, Any]], Tree]
ROOT = "/var/lib/dkms/amdgpu"
OLD, NEW = "5.13.20.22.10-1420322.20.04", "5.18.13-1510348.22.04"
RUNNING, OTHER = "5.15.0-91-generic", "6.8.0-44-generic"
FILES: dict[str, Any] = {
    f"{ROOT}/{OLD}/source": f"-> /usr/src/amdgpu-{OLD}",
    f"{ROOT}/{NEW}/source": f"-> /usr/src/amdgpu-{NEW}",
    f"/usr/src/amdgpu-{NEW}/dkms.conf": "",
    f"{ROOT}/{NEW}/build": None,
    f"{ROOT}/{NEW}/{RUNNING}/x86_64/module/amdgpu.ko": "",
    f"{ROOT}/{NEW}/{RUNNING}/x86_64/module/amdttm.ko": "",
    f"{ROOT}/{NEW}/{OTHER}/x86_64/module/amdgpu.ko.zst": "",
    f"{ROOT}/{NEW}/{OTHER}/x86_64/log/make.log": "",
    f"{ROOT}/{NEW}/6.9.0/x86_64/log/make.log": "",
    f"{ROOT}/kernel-{RUNNING}-x86_64": f"-> {NEW}/{RUNNING}/x86_64",
    f"{ROOT}/original_module/{RUNNING}/x86_64/amdgpu.ko": "",
    f"/lib/modules/{RUNNING}/updates/dkms/amdgpu.ko.zst": "",
    f"/lib/modules/{RUNNING}/updates/dkms/amdttm.ko.zst": "",
    "/var/lib/dkms/nvidia/550/source/dkms.conf": "",
}


def test_an_orphan_and_a_tree_that_is_installed_for_one_kernel_and_built_for_another(plant: Plant) -> None:
    tree = plant(FILES)
    assert read_dkms(tree) == {
        "trees": [
            {"module": "amdgpu", "version": OLD, "path": f"{ROOT}/{OLD}", "has_source": False, "kernels": {}},
            {
                "module": "amdgpu",
                "version": NEW,
                "path": f"{ROOT}/{NEW}",
                "has_source": True,
                "kernels": {RUNNING: "installed", OTHER: "built"},
            },
        ]
    }
    assert tree.problems() == []


def test_a_module_that_went_missing_is_no_longer_installed(plant: Plant) -> None:
    files = {path: content for path, content in FILES.items() if "updates/dkms/amdttm" not in path}
    assert read_dkms(plant(files))["trees"][1]["kernels"][RUNNING] == "built"


def test_an_empty_version_is_a_tree(plant: Plant) -> None:
    (tree,) = read_dkms(plant({f"{ROOT}/{OLD}": None}))["trees"]
    assert (tree["version"], tree["has_source"], tree["kernels"]) == (OLD, False, {})


def test_a_node_without_dkms_has_no_trees(plant: Plant) -> None:
    tree = plant({})
    assert read_dkms(tree) == {"trees": []}
    assert tree.problems() == []
