# SPDX-License-Identifier: Apache-2.0
"""Wheels are uninstalled by their environment's own pip, and only those that are listed."""

from __future__ import annotations

import os
import pwd
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from ansible_collections.instinct.bringup.plugins.module_utils.command_runner import Result
from ansible_collections.instinct.bringup.plugins.module_utils.purge_request import Node, PurgeFailed
from ansible_collections.instinct.bringup.plugins.module_utils.purge_wheels import find_wheels, remove_wheels

WANTED = [("/venv", ["Torch", "pytorch_triton_rocm", "never-there"]), ("/no-venv", ["torch"])]


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    folder = tmp_path / "venv/lib/python3.11/site-packages"
    for name in ("torch-1.13.1+rocm5.2", "pytorch_triton_rocm-2.0.2", "numpy-1.26.4", "torch_site-3"):
        (folder / f"{name}.dist-info").mkdir(parents=True)
    return folder


def test_listed_ones_are_found_by_any_spelling(tmp_path: Path, packages: Path) -> None:
    (found,) = find_wheels(Node(lambda argv: Result(0, "", ""), str(tmp_path)), WANTED)
    assert found.versions == {"pytorch-triton-rocm": "2.0.2", "torch": "1.13.1+rocm5.2"}


def test_pip_is_called_once_for_all(tmp_path: Path, packages: Path) -> None:
    calls: list[list[str]] = []

    def run(argv: Sequence[str]) -> Result:
        calls.append(list(argv))
        for path in packages.glob("*torch*-[12].*"):
            shutil.rmtree(path)
        return Result(0, "", "")

    node = Node(run, str(tmp_path))
    (found,) = find_wheels(node, WANTED)
    remove_wheels(node, found)
    assert calls[0][-6:] == ["-m", "pip", "uninstall", "-y", "pytorch-triton-rocm", "torch"]
    assert sorted(path.name for path in packages.iterdir()) == ["numpy-1.26.4.dist-info", "torch_site-3.dist-info"]


def test_a_pip_that_leaves_them_is_an_error(tmp_path: Path, packages: Path) -> None:
    node = Node(lambda argv: Result(1, "", "No module named pip"), str(tmp_path))
    (found,) = find_wheels(node, WANTED)
    with pytest.raises(PurgeFailed, match=r"could not uninstall pytorch-triton-rocm, torch \(exit 1\): No module"):
        remove_wheels(node, found)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can act for another user")
def test_root_does_not_run_a_users_code(tmp_path: Path, packages: Path) -> None:
    owner = pwd.getpwnam("nobody")
    os.chown(tmp_path / "venv", owner.pw_uid, owner.pw_gid)
    calls: list[list[str]] = []

    def run(argv: Sequence[str]) -> Result:
        calls.append(list(argv))
        return Result(1, "", "")

    node = Node(run, str(tmp_path))
    with pytest.raises(PurgeFailed):
        remove_wheels(node, find_wheels(node, WANTED)[0])
    assert calls[0][:5] == ["runuser", "-u", "nobody", "--", "/venv/bin/python"]
