# SPDX-License-Identifier: Apache-2.0
"""Files and trees go only when nobody else owns them, and links are never followed."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from pathlib import Path

import pytest

from ansible_collections.instinct.bringup.plugins.module_utils.command_runner import Result
from ansible_collections.instinct.bringup.plugins.module_utils.purge_paths import (
    find_trees,
    refuse_paths,
    remove_files,
    remove_tree,
)
from ansible_collections.instinct.bringup.plugins.module_utils.purge_request import Node, PurgeFailed, PurgeRefused


def owned(files: dict[str, str]):  # type: ignore[no-untyped-def]
    """Return a run that answers dpkg-query -S for these paths."""

    def run(argv: Sequence[str]) -> Result:
        assert argv[:2] == ["dpkg-query", "-S"]
        hits = [path for path in files if any(fnmatch.fnmatchcase(path, pattern) for pattern in argv[2:])]
        return Result(0 if hits else 1, "".join(f"{files[path]}: {path}\n" for path in hits), "")

    return run


@pytest.fixture
def made(tmp_path: Path) -> Path:
    (tmp_path / "opt/rocm-5.1.3/lib").mkdir(parents=True)
    (tmp_path / "opt/rocm-5.1.3/lib/librccl.so").touch()
    (tmp_path / "opt/rocm-5.1.3/data").symlink_to(tmp_path / "site")
    (tmp_path / "site").mkdir()
    (tmp_path / "site/precious").touch()
    return tmp_path


def test_a_tree_that_nobody_owns_is_listed_and_removed_and_its_links_not_followed(made: Path) -> None:
    node = Node(owned({}), str(made))
    (tree,) = find_trees(node, ["/opt/rocm-5.1.3", "/opt/rocm-9"], [])
    assert (tree.unowned, tree.owned, tree.stays) == (["data", "lib", "lib/librccl.so"], 0, [])
    remove_tree(node, tree)
    assert not (made / "opt/rocm-5.1.3").exists()
    assert (made / "site/precious").exists()


@pytest.mark.parametrize(("purged", "stays"), [([], ["rccl"]), (["rccl"], [])], ids=["stays", "goes too"])
def test_a_tree_that_a_package_owns_stays_with_the_package(made: Path, purged: list[str], stays: list[str]) -> None:
    node = Node(owned({"/opt/rocm-5.1.3/lib/librccl.so": "rccl"}), str(made))
    (tree,) = find_trees(node, ["/opt/rocm-5.1.3"], purged)
    assert (tree.unowned, tree.owned, tree.stays) == (["data", "lib"], 1, stays)
    remove_tree(node, tree)
    assert (made / "opt/rocm-5.1.3").exists() is bool(stays)


def test_of_a_tree_that_is_a_link_only_the_link_goes(made: Path) -> None:
    (made / "opt/rocm-5.3").symlink_to(made / "site")
    node = Node(owned({}), str(made))
    (tree,) = find_trees(node, ["/opt/rocm-5.3"], [])
    refuse_paths(node, [], [tree], [])
    remove_tree(node, tree)
    assert not (made / "opt/rocm-5.3").is_symlink()
    assert (made / "site/precious").exists()


def test_a_mount_inside_a_tree_is_refused(made: Path) -> None:
    (made / "proc/self").mkdir(parents=True)
    line = r"30 20 0:40 / /opt/rocm-5.1.3/big\040data rw - nfs4 nas:/x rw" + "\n"
    (made / "proc/self/mountinfo").write_text(line, encoding="ascii")
    node = Node(owned({}), str(made))
    with pytest.raises(PurgeRefused, match=r"/opt/rocm-5\.1\.3/big data is mounted inside /opt/rocm-5\.1\.3"):
        refuse_paths(node, [], find_trees(node, ["/opt/rocm-5.1.3"], []), [])


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (["/opt/rocm-5.1.3"], "is a directory, listed as a file"),
        (["/lib/udev/rules.d/70-amdgpu.rules"], "/lib/udev/rules.d/70-amdgpu.rules belongs to the package udev-site"),
        (["/etc/rocm.conf"], "belongs to the package rocm-core"),
    ],
    ids=["directory", "merged /usr", "package that stays"],
)
def test_files_that_are_not_ours_are_refused(made: Path, files: list[str], said: str) -> None:
    run = owned({"/usr/lib/udev/rules.d/70-amdgpu.rules": "udev-site", "/etc/rocm.conf": "rocm-core"})
    with pytest.raises(PurgeRefused, match=said):
        refuse_paths(Node(run, str(made)), files, [], ["amdgpu-core"])
    if files == ["/etc/rocm.conf"]:
        refuse_paths(Node(run, str(made)), files, [], ["rocm-core"])


def test_a_pattern_in_a_path_is_taken_literally(made: Path) -> None:
    asked: list[str] = []

    def run(argv: Sequence[str]) -> Result:
        asked.extend(argv[2:])
        return Result(1, "", "")

    (made / "opt/rocm-[x]").mkdir()
    find_trees(Node(run, str(made)), ["/opt/rocm-[x]"], [])
    assert asked == [r"/opt/rocm-\[x\]/*"]


def test_files_that_are_gone_are_no_error_and_a_directory_is(made: Path) -> None:
    node = Node(owned({}), str(made))
    remove_files(node, ["/site/precious", "/site/gone"])
    assert not (made / "site/precious").exists()
    with pytest.raises(PurgeFailed, match="cannot remove /site: "):
        remove_files(node, ["/site"])
