# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import typing as t

import pytest

from ansible_collections.instinct.bringup.plugins.plugin_utils.managed import (
    ManagedFile,
    absent_change,
    file_change,
    file_diff,
)

FILE = ManagedFile("/etc/x", "a=1\n", "a is needed")
AS_WANTED: dict[str, t.Any] = {
    "type": "file", "sha256": FILE.sha256, "mode": "0644", "owner": "root", "group": "root", "size": 4, "target": None, "text": "a=1\n",
}  # fmt: skip


def test_a_file_as_wanted_is_no_change() -> None:
    assert file_change(FILE, AS_WANTED) is None


@pytest.mark.parametrize(
    ("damage", "before"),
    [
        ({"sha256": "0"}, "other content"),
        ({"mode": "0600"}, "mode 0600"),
        ({"owner": "deploy", "group": "deploy"}, "owner deploy, group deploy"),
        ({"type": "directory"}, "directory"),
        ({"type": "absent"}, "absent"),
    ],
    ids=str,
)
def test_a_change_says_what_is_different_and_why_the_file_is_wanted(damage: dict[str, str], before: str) -> None:
    change = file_change(FILE, {**AS_WANTED, **damage})
    assert change is not None
    assert (change.before, change.reason) == (before, "a is needed")


def test_a_file_that_was_not_looked_at_is_written() -> None:
    assert file_change(FILE, None) is not None


def test_only_what_is_there_is_removed() -> None:
    assert absent_change("/etc/x", AS_WANTED, "stale") is not None
    assert absent_change("/etc/x", {**AS_WANTED, "type": "absent"}, "stale") is None
    assert absent_change("/etc/x", None, "stale") is None


def test_a_diff_shows_what_is_there_and_what_comes() -> None:
    assert file_diff(FILE, {**AS_WANTED, "text": "a=0\n"})["before"] == "a=0\n"
    assert file_diff(FILE, {**AS_WANTED, "text": None})["before"] == ""
    assert file_diff(FILE, None)["after"] == "a=1\n"
