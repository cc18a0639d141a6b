# SPDX-License-Identifier: Apache-2.0
"""A dkms tree goes with the modules that are its own, also when its source is gone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from ansible_collections.instinct.bringup.plugins.module_utils.command_runner import Result
from ansible_collections.instinct.bringup.plugins.module_utils.purge_dkms import (
    find_dkms_trees,
    refresh_kernels,
    remove_dkms_tree,
)
from ansible_collections.instinct.bringup.plugins.module_utils.purge_request import Node, PurgeFailed

OLD, NEW = "5.13.20.22.10-1420322.20.04", "5.16.9.22.20-1438747.20.04"
KERNEL = "5.15.0-91-generic"


def touch(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path.lstrip("/")).parent.mkdir(parents=True, exist_ok=True)
        (root / path.lstrip("/")).touch()


def link(root: Path, path: str, target: str) -> None:
    (root / path.lstrip("/")).parent.mkdir(parents=True, exist_ok=True)
    (root / path.lstrip("/")).symlink_to(target)


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """Return a root with two versions of amdgpu, the new one installed, and the old one without a source."""
    link(tmp_path, f"/var/lib/dkms/amdgpu/{OLD}/source", f"/usr/src/amdgpu-{OLD}")
    touch(tmp_path, f"/usr/src/amdgpu-{NEW}/dkms.conf")
    link(tmp_path, f"/var/lib/dkms/amdgpu/{NEW}/source", f"{tmp_path}/usr/src/amdgpu-{NEW}")
    touch(tmp_path, *(f"/var/lib/dkms/amdgpu/{NEW}/{KERNEL}/x86_64/module/{name}.ko" for name in ("amdgpu", "amdttm")))
    link(tmp_path, f"/var/lib/dkms/amdgpu/kernel-{KERNEL}-x86_64", f"{NEW}/{KERNEL}/x86_64")
    modules = f"/lib/modules/{KERNEL}/updates/dkms"
    touch(tmp_path, *(f"{modules}/{name}" for name in ("amdgpu.ko", "amdttm.ko", "site.ko")))
    return tmp_path


class Dkms:
    """Answers every command the same way, and keeps them."""

    def __init__(self, rc: int = 0) -> None:
        self.rc = rc
        self.calls: list[str] = []

    def __call__(self, argv: Sequence[str]) -> Result:
        self.calls.append(" ".join(argv))
        return Result(self.rc, "", "made failure")


def test_an_orphan_beside_an_installed_version_owns_no_module(made: Path) -> None:
    (tree,) = find_dkms_trees(Node(Dkms(), str(made)), [("amdgpu", OLD)])
    assert (tree.has_source, tree.built, tree.links) == (False, [], [])


def test_an_orphan_is_removed_without_dkms_and_leaves_the_other_version(made: Path) -> None:
    dkms = Dkms()
    node = Node(dkms, str(made))
    for tree in find_dkms_trees(node, [("amdgpu", OLD)]):
        remove_dkms_tree(node, tree)
    assert dkms.calls == []
    assert sorted(path.name for path in (made / "var/lib/dkms/amdgpu").iterdir()) == [NEW, f"kernel-{KERNEL}-x86_64"]
    assert (made / f"lib/modules/{KERNEL}/updates/dkms/amdgpu.ko").exists()


@pytest.mark.parametrize("rc", [0, 1, 127], ids=["dkms works", "dkms fails", "no dkms"])
def test_an_installed_tree_goes_with_its_modules_whatever_dkms_does(made: Path, rc: int) -> None:
    dkms = Dkms(rc)
    node = Node(dkms, str(made))
    trees = find_dkms_trees(node, [("amdgpu", OLD), ("amdgpu", NEW)])
    assert [tree.kernels for tree in trees] == [[KERNEL], [KERNEL]]
    for tree in trees:
        remove_dkms_tree(node, tree)
    assert dkms.calls == [f"dkms remove amdgpu/{NEW} --all"]
    assert not (made / "var/lib/dkms/amdgpu").exists()
    assert [path.name for path in (made / f"lib/modules/{KERNEL}/updates/dkms").iterdir()] == ["site.ko"]
    assert find_dkms_trees(node, [("amdgpu", OLD), ("amdgpu", NEW)]) == []


def test_orphaned_modules_of_the_family_go_when_no_version_stays(tmp_path: Path) -> None:
    link(tmp_path, f"/var/lib/dkms/amdgpu/{OLD}/source", f"/usr/src/amdgpu-{OLD}")
    names = ("amdgpu.ko.zst", "amddrm_ttm_helper.ko", "amdxcp.ko", "amd_site.ko", "nvidia.ko")
    touch(tmp_path, *(f"/lib/modules/{KERNEL}/updates/dkms/{name}" for name in names))
    (tree,) = find_dkms_trees(Node(Dkms(), str(tmp_path)), [("amdgpu", OLD)])
    assert [Path(path).name for path in tree.built] == ["amddrm_ttm_helper.ko", "amdgpu.ko.zst", "amdxcp.ko"]


def test_kernels_are_refreshed_where_they_are_and_tools_exist(tmp_path: Path) -> None:
    (tmp_path / "lib/modules" / KERNEL).mkdir(parents=True)
    touch(tmp_path, f"/boot/initrd.img-{KERNEL}")
    dkms = Dkms(127)
    refresh_kernels(Node(dkms, str(tmp_path)), [KERNEL, "6.8.0-gone"])
    assert dkms.calls == [f"depmod {KERNEL}", f"update-initramfs -u -k {KERNEL}"]
    with pytest.raises(PurgeFailed, match=r"depmod 5\.15\.0-91-generic failed \(exit 1\): made failure"):
        refresh_kernels(Node(Dkms(1), str(tmp_path)), [KERNEL])
