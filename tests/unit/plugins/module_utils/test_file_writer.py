# SPDX-License-Identifier: Apache-2.0
"""A file is written whole or not at all, and only when something differs."""

from __future__ import annotations

import grp
import os
import pwd
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.instinct.bringup.plugins.module_utils.file_writer import (
    Wanted,
    WriteError,
    apply_files,
    look_at,
    make_parents,
    problems_of,
    write_file,
)

OWNER = pwd.getpwuid(os.getuid()).pw_name
GROUP = grp.getgrgid(os.getgid()).gr_name


def wanted(path: Path | str, content: bytes = b"text\n", mode: str = "0644") -> Wanted:
    return Wanted(str(path), content, mode, OWNER, GROUP)


def test_a_link_is_replaced_and_its_target_left(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("the site's\n", encoding="ascii")
    (tmp_path / "file").symlink_to(target)
    done = apply_files([wanted(tmp_path / "file")], check_mode=False)
    assert done["diff"][0]["before"] == f"-> {target}\n"
    assert not (tmp_path / "file").is_symlink()
    assert target.read_text(encoding="ascii") == "the site's\n"


def test_a_mode_alone_is_a_change_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "file"
    apply_files([wanted(path)], check_mode=False)
    done = apply_files([wanted(path, mode="0600")], check_mode=False)
    assert [(entry["before"], entry["after"]) for entry in done["diff"]] == [
        (f"0644 {OWNER}:{GROUP}\n", f"0600 {OWNER}:{GROUP}\n")
    ]
    assert path.stat().st_mode & 0o7777 == 0o600


def test_parents_get_their_mode_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        make_parents(str(tmp_path / "a/b"))
    finally:
        os.umask(before)
    assert [(tmp_path / name).stat().st_mode & 0o7777 for name in ("a", "a/b")] == [0o755, 0o755]


@pytest.mark.parametrize(
    ("item", "said"),
    [
        (wanted("etc/x"), "want an absolute path"),
        (wanted("/etc/../x"), "want an absolute path"),
        (wanted("/nowhere/x", mode="644"), "four octal digits"),
        (wanted("/nowhere/x", mode="420"), "YAML reads a bare 0644 as 420"),
        (wanted("/nowhere/x")._replace(owner="no-such-user"), "the owner 'no-such-user' does not exist"),
        (wanted("/nowhere/x")._replace(group="no-such-group"), "the group 'no-such-group' does not exist"),
        (wanted("/etc"), "is a directory"),
        (wanted("/etc/passwd/x"), "its parent /etc/passwd is not a directory"),
    ],
    ids=["relative", "dots", "three digits", "a number", "owner", "group", "directory", "parent"],
)
def test_what_cannot_be_is_said_before_anything_is_written(tmp_path: Path, item: Wanted, said: str) -> None:
    with pytest.raises(WriteError, match=said):
        apply_files([wanted(tmp_path / "good"), item], check_mode=False)
    assert not (tmp_path / "good").exists()


def test_a_path_given_twice_is_said_once() -> None:
    assert problems_of([wanted("/nowhere/x"), wanted("/nowhere/x")]) == [
        "/nowhere/x is given 2 times; give each path once"
    ]


def test_what_must_be_absent_is_removed_once_and_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("the site's\n", encoding="ascii")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    (tmp_path / "file").write_text("old\n", encoding="ascii")
    absent = [str(tmp_path / name) for name in ("link", "file", "never-there")]
    expected = apply_files([], check_mode=True, absent=absent)
    assert expected["changed_paths"] == absent[:2]
    assert [entry["before"] for entry in expected["diff"]] == [f"-> {tmp_path / 'target'}\n", "old\n"]
    assert (tmp_path / "file").exists()
    assert apply_files([], check_mode=False, absent=absent) == expected
    assert [path.name for path in tmp_path.iterdir()] == ["target"]
    assert not apply_files([], check_mode=False, absent=absent)["changed"]


@pytest.mark.parametrize(
    ("absent", "said"),
    [
        ("/nowhere/x", "wanted both as a file and absent"),
        ("etc/x", "want an absolute path"),
        ("/etc", "only files and links are removed"),
    ],
)
def test_what_cannot_be_absent_is_said_before_anything_is_written(absent: str, said: str) -> None:
    with pytest.raises(WriteError, match=said):
        apply_files([wanted("/nowhere/x")], check_mode=False, absent=[absent])
    assert not Path("/nowhere").exists()


def test_a_failed_write_leaves_no_trace(tmp_path: Path) -> None:
    (tmp_path / "file").mkdir()
    with pytest.raises(WriteError, match="cannot write"):
        write_file(wanted(tmp_path / "file"))
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_binary_content_is_described_not_shown(tmp_path: Path) -> None:
    done = apply_files([wanted(tmp_path / "key.gpg", b"\x99\x01\xff")], check_mode=True)
    assert done["diff"][0]["after"].startswith("(binary, 3 bytes, sha256 ")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=200), mode=st.integers(0o400, 0o777))
def test_what_is_written_is_seen_and_needs_no_second_write(tmp_path: Path, content: bytes, mode: int) -> None:
    item = wanted(tmp_path / "file", content, f"{mode | 0o400:04o}")
    write_file(item)
    seen = look_at(item.path)
    assert (seen.content, seen.mode) == (content, item.mode)
    assert not apply_files([item], check_mode=False)["changed"]
