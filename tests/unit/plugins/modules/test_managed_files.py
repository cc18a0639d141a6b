# SPDX-License-Identifier: Apache-2.0
"""The module writes what differs, once, and says what it would write."""

from __future__ import annotations

import grp
import os
import pwd
from pathlib import Path
from typing import Any

import pytest

ME = {"owner": pwd.getpwuid(os.getuid()).pw_name, "group": grp.getgrgid(os.getgid()).gr_name}


def wanted(path: Path, content: str = "text\n", **other: str) -> dict[str, str]:
    return {"path": str(path), "content": content, **ME, **other}


def test_first_run_writes_second_run_changes_nothing(run_module: Any, tmp_path: Path) -> None:
    files = [wanted(tmp_path / "a/b/one.conf"), wanted(tmp_path / "two", mode="0600")]
    first = run_module("managed_files", files=files)
    assert (first["changed"], first["changed_paths"]) == (True, [item["path"] for item in files])
    assert (tmp_path / "two").stat().st_mode & 0o7777 == 0o600
    second = run_module("managed_files", files=files)
    assert (second["changed"], second["changed_paths"], second["diff"]) == (False, [], [])


def test_check_mode_tells_the_diff_and_writes_nothing(run_module: Any, tmp_path: Path) -> None:
    path = tmp_path / "one.conf"
    answer = run_module("managed_files", check=True, files=[wanted(path)])
    assert answer["changed"]
    assert answer["diff"] == [
        {"before_header": str(path), "after_header": str(path), "before": "", "after": "text\n"},
    ]
    assert not path.exists()


def test_a_mode_that_yaml_turned_into_a_number_is_refused(run_module: Any, tmp_path: Path) -> None:
    answer = run_module("managed_files", files=[wanted(tmp_path / "good"), wanted(tmp_path / "bad", mode="420")])
    assert answer["failed"]
    assert "nothing was written" in answer["msg"]
    assert "0644" in answer["msg"]
    assert not (tmp_path / "good").exists()


@pytest.mark.parametrize("missing", ["path", "content"])
def test_what_is_required_is_asked_for(run_module: Any, tmp_path: Path, missing: str) -> None:
    item = wanted(tmp_path / "one")
    del item[missing]
    assert missing in run_module("managed_files", files=[item])["msg"]
