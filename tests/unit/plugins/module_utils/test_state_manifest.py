# SPDX-License-Identifier: Apache-2.0
"""A node's state is kept and brought back: packages by version, files byte for byte."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from ansible_collections.instinct.bringup.plugins.module_utils.command_runner import Result
from ansible_collections.instinct.bringup.plugins.module_utils.purge_request import Node, PurgeRefused
from ansible_collections.instinct.bringup.plugins.module_utils.repack import repack, without_source
from ansible_collections.instinct.bringup.plugins.module_utils.restore_files import restore
from ansible_collections.instinct.bringup.plugins.module_utils.roll_back import moves_to, read_state, roll_back
from ansible_collections.instinct.bringup.plugins.module_utils.state_manifest import Wish, state_of

LIST = "etc/apt/sources.list.d/rocm.list"


class Dpkg:
    """A package database; apt-get install takes name=version and name-."""

    def __init__(self, rows: dict[str, str], lost: Sequence[str] = (), beyond: str = "") -> None:
        self.rows = dict(rows)
        self.lost = lost
        self.beyond = beyond
        self.holds: set[str] = set()
        self.calls: list[str] = []

    def __call__(self, argv: Sequence[str]) -> Result:
        self.calls.append(" ".join(argv))
        if argv[:2] == ["dpkg-query", "-W"]:
            lines = [
                f"{n}\t{n}\tall\t{v}\t{'h' if n in self.holds else 'i'}i \t{'hold' if n in self.holds else 'install'}\tinstalled"
                for n, v in self.rows.items()
            ]
            return Result(0, "\n".join(lines), "")
        if argv[0] == "apt-cache":
            return Result(0, "" if argv[2].split("=")[0] in self.lost else "Package: x\n", "")
        if argv[:2] == ["apt-mark", "hold"]:
            self.holds |= set(argv[2:])
        if argv[:2] == ["apt-mark", "unhold"]:
            self.holds -= set(argv[2:])
        if "install" in argv and "-s" in argv and self.beyond:
            return Result(0, f"Remv {self.beyond} [1.0]\n", "")
        if "install" in argv and "-s" not in argv:
            for word in argv[list(argv).index("install") + 1 :]:
                name, _, version = word.partition("=")
                if version:
                    self.rows[name] = version
                else:
                    self.rows.pop(name.rstrip("-"), None)
        return Result(0, "", "")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for path, text in {
        LIST: "deb http://old\n",
        "etc/apt/keyrings/old.gpg": "key",
        "opt/rocm-5.1.3/lib/left.so": "left",
        "etc/site.conf": "site's own",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    os.symlink("left.so", tmp_path / "opt/rocm-5.1.3/lib/link.so")
    return tmp_path


WISH = Wish(files=["/etc/rccl/rccl.conf"], trees=["/opt/rocm-5.1.3"], made=["/opt/ours/venv"], users=[])


def test_files_trees_and_what_was_not_there_come_back(root: Path) -> None:
    node = Node(Dpkg({}), str(root))
    state = state_of(node, WISH, "R", "now")
    (root / LIST).write_text("deb http://new\n", encoding="utf-8")
    (root / "etc/apt/keyrings/new.gpg").write_text("k", encoding="utf-8")
    (root / "etc/apt/keyrings/old.gpg").unlink()
    (root / "etc/rccl").mkdir()
    (root / "etc/rccl/rccl.conf").write_text("x", encoding="utf-8")
    (root / "opt/ours/venv/lib").mkdir(parents=True)
    for path in sorted((root / "opt/rocm-5.1.3").rglob("*"), reverse=True):
        path.unlink() if path.is_symlink() or path.is_file() else path.rmdir()
    (root / "opt/rocm-5.1.3").rmdir()
    changed, problems = restore(node, state)
    assert problems == []
    assert (root / LIST).read_text(encoding="utf-8") == "deb http://old\n"
    assert sorted(path.name for path in (root / "etc/apt/keyrings").iterdir()) == ["old.gpg"]
    assert not (root / "etc/rccl").exists()
    assert not (root / "opt/ours").exists()
    assert os.readlink(root / "opt/rocm-5.1.3/lib/link.so") == "left.so"
    assert (root / "opt/rocm-5.1.3/lib/left.so").read_text(encoding="utf-8") == "left"
    assert "/etc/site.conf" not in changed
    assert restore(node, state) == ([], [])


def test_a_folder_that_holds_what_a_person_put_there_stays(root: Path) -> None:
    node = Node(Dpkg({}), str(root))
    state = state_of(node, WISH, "R", "now")
    (root / "opt/ours").mkdir()
    (root / "opt/ours/notes").write_text("mine", encoding="utf-8")
    restore(node, state)
    assert (root / "opt/ours/notes").exists()


def test_packages_come_back_in_one_transaction_with_their_holds(root: Path) -> None:
    dpkg = Dpkg({"rocm-core": "5.2.0", "rccl": "2.11", "sudo": "1"})
    dpkg.holds = {"rccl"}
    node = Node(dpkg, str(root))
    state = state_of(node, WISH, "R", "now")
    dpkg.rows = {"rocm-core": "5.4.2", "amdgpu-dkms": "5.18", "sudo": "1"}
    dpkg.holds = {"rocm-core"}
    result = roll_back(node, state, check_mode=False)
    assert dpkg.rows == {"rocm-core": "5.2.0", "rccl": "2.11", "sudo": "1"}
    assert dpkg.holds == {"rccl"}
    assert result["could_not"] == []
    assert (result["changed"], result["driver_changed"]) == (True, True)
    installs = [call for call in dpkg.calls if " install " in call and " -s " not in call]
    assert len(installs) == 1
    assert not roll_back(node, state, check_mode=False)["changed"]


def test_what_no_source_has_any_more_is_named(root: Path) -> None:
    dpkg = Dpkg({"rocm-core": "5.2.0"}, lost=["rocm-core"])
    node = Node(dpkg, str(root))
    state = state_of(node, WISH, "R", "now")
    dpkg.rows = {}
    could_not = roll_back(node, state, check_mode=False)["could_not"]
    assert could_not[0] == "rocm-core 5.2.0: no source has it any more"


def test_a_package_beyond_the_list_is_a_refusal_and_apts_files_are_as_they_were(root: Path) -> None:
    dpkg = Dpkg({"rocm-core": "5.2.0", "libucx0": "1"}, beyond="libucx0")
    node = Node(dpkg, str(root))
    state = state_of(node, WISH, "R", "now")
    dpkg.rows["rocm-core"] = "5.4.2"
    (root / LIST).write_text("deb http://new\n", encoding="utf-8")
    with pytest.raises(PurgeRefused, match="libucx0"):
        roll_back(node, state, check_mode=False)
    assert (root / LIST).read_text(encoding="utf-8") == "deb http://new\n"


def test_check_mode_tells_and_changes_nothing(root: Path) -> None:
    dpkg = Dpkg({"rocm-core": "5.2.0"})
    state = state_of(Node(dpkg, str(root)), WISH, "R", "now")
    dpkg.rows = {"rocm-core": "5.4.2", "x": "1"}
    result = roll_back(Node(dpkg, str(root)), state, check_mode=True)
    assert (result["installed"], result["removed"]) == (["rocm-core 5.2.0"], ["x"])
    assert dpkg.rows == {"rocm-core": "5.4.2", "x": "1"}


def test_a_residual_package_is_neither_installed_nor_removed() -> None:
    state = {
        "packages": [{"name": "a", "version": "1", "status": "rc "}, {"name": "b", "version": "2", "status": "ii "}]
    }
    assert moves_to(state, {"a": "", "b": "2"}) == ({}, [])


def test_a_manifest_that_is_not_there_is_refused_with_those_that_are(tmp_path: Path) -> None:
    (tmp_path / "20261201-1.before.json").write_text("{}", encoding="utf-8")
    with pytest.raises(PurgeRefused, match="there are: 20261201-1"):
        read_state(str(tmp_path), "x")


def test_a_package_that_no_source_has_is_kept_as_an_archive(tmp_path: Path) -> None:
    if not shutil.which("dpkg-deb"):
        pytest.skip("dpkg-deb is not here")
    (tmp_path / "usr/bin").mkdir(parents=True)
    (tmp_path / "usr/bin/amdgpu-install").write_text("#!/bin/sh\n", encoding="utf-8")
    (tmp_path / "var/lib/dpkg/info").mkdir(parents=True)
    (tmp_path / "var/lib/dpkg/info/amdgpu-install.postinst").write_text("#!/bin/sh\n", encoding="utf-8")
    (tmp_path / "var/lib/dpkg/info/amdgpu-install.postinst").chmod(0o755)
    status = (
        "Package: amdgpu-install\nStatus: install ok installed\nVersion: 22.20.50200-1\nArchitecture: all\n"
        "Maintainer: nobody <nobody@example.invalid>\nConffiles:\n /etc/x 0\nDescription: x\n more\n"
    )

    def run(argv: Sequence[str]) -> Result:
        if argv[0] == "apt-cache":
            return Result(0, " rccl | 2.11 | http://mirror.example jammy/main amd64 Packages\n", "")
        if argv[:2] == ["dpkg-query", "-s"]:
            return Result(0, status, "")
        if argv[:2] == ["dpkg-query", "-W"]:
            return Result(0, "4", "")
        if argv[:2] == ["dpkg-query", "-L"]:
            return Result(0, "/.\n/usr\n/usr/bin\n/usr/bin/amdgpu-install\n", "")
        done = subprocess.run(list(argv), capture_output=True, text=True, check=False)
        return Result(done.returncode, done.stdout, done.stderr)

    node = Node(run, str(tmp_path))
    assert without_source(node, {"rccl": "2.11", "amdgpu-install": "22.20.50200-1"}) == ["amdgpu-install"]
    path = repack(node, "amdgpu-install", str(tmp_path / "kept"))
    shown = subprocess.run(["dpkg-deb", "-f", path], capture_output=True, text=True, check=True).stdout
    assert "Version: 22.20.50200-1" in shown
    assert "Status" not in shown
    assert (
        "/usr/bin/amdgpu-install"
        in subprocess.run(["dpkg-deb", "-c", path], capture_output=True, text=True, check=True).stdout
    )
