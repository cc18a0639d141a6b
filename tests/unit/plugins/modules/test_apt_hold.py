# SPDX-License-Identifier: Apache-2.0
"""The module holds packages through the commands that the node has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

# A stand-in for dpkg-query and apt-mark that keeps one package's selection in a file.
DPKG_QUERY = r"""printf 'rocm-core\trocm-core\tall\t5.4.2\thi \t%s\tinstalled\n' "$(cat {state})" """
APT_MARK = r"""case "$1" in hold) echo hold > {state};; unhold) echo install > {state};; esac"""


@pytest.fixture
def selection(commands: Any, tmp_path: Path) -> Path:
    state = tmp_path / "selection"
    state.write_text("install\n", encoding="ascii")
    commands("dpkg-query", DPKG_QUERY.format(state=state))
    commands("apt-mark", APT_MARK.format(state=state))
    return state


def test_a_package_is_held_once_and_freed_again(run_module: Any, selection: Path) -> None:
    first = run_module("apt_hold", packages=["rocm-core"])
    assert (first["changed"], first["packages"]) == (True, ["rocm-core"])
    assert first["diff"]["after"] == "rocm-core\n"
    assert not run_module("apt_hold", packages=["rocm-core"])["changed"]
    assert run_module("apt_hold", packages=["rocm-core"], state="free")["changed"]
    assert selection.read_text(encoding="ascii") == "install\n"


def test_check_mode_changes_no_selection(run_module: Any, selection: Path) -> None:
    assert run_module("apt_hold", check=True, packages=["rocm-core", "not-there-yet"])["changed"]
    assert selection.read_text(encoding="ascii") == "install\n"


@pytest.mark.usefixtures("selection")
def test_what_is_not_installed_is_named(run_module: Any) -> None:
    answer = run_module("apt_hold", packages=["rocm-core", "rcom-core"])
    assert answer["failed"]
    assert "not installed: rcom-core" in answer["msg"]


def test_which_holds_are_ours_is_kept(run_module: Any, selection: Path, tmp_path: Path) -> None:
    record = tmp_path / "state" / "holds.json"
    run_module("apt_hold", check=True, packages=["rocm-core"], record=str(record))
    assert not record.exists()
    run_module("apt_hold", packages=["rocm-core"], record=str(record))
    assert json.loads(record.read_text(encoding="utf-8"))["packages"] == ["rocm-core"]
    assert record.stat().st_mode & 0o777 == 0o600
    run_module("apt_hold", packages=["rocm-core"], state="free", record=str(record))
    assert json.loads(record.read_text(encoding="utf-8"))["packages"] == []


def test_a_hold_that_was_there_before_is_not_ours(run_module: Any, selection: Path, tmp_path: Path) -> None:
    selection.write_text("hold\n", encoding="ascii")
    record = tmp_path / "holds.json"
    run_module("apt_hold", packages=["rocm-core"], record=str(record))
    assert not record.exists()
