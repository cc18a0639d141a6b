# SPDX-License-Identifier: Apache-2.0
"""Files that are whole or not there, under names that no node chooses."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.instinct.bringup.plugins.plugin_utils.report.files import (
    read_json,
    replace_link,
    safe_name,
    write_json,
    write_text,
)


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("gpu01.example.org", "gpu01.example.org"),
        ("../../etc/passwd", "%2E.%2F..%2Fetc%2Fpasswd"),
        (".", "%2E"),
        ("..", "%2E."),
        ("", "%"),
        ("fd00::1", "fd00%3A%3A1"),
        ("a%2Fb", "a%252Fb"),
        ("Knoten ä", "Knoten%20%C3%A4"),
        ("a\0b", "a%00b"),
    ],
)
def test_a_host_is_never_a_path(host: str, name: str) -> None:
    assert safe_name(host) == name


@given(st.lists(st.text(max_size=400), min_size=2, max_size=8, unique=True))
def test_every_host_has_a_name_of_its_own(hosts: list[str]) -> None:
    names = [safe_name(host) for host in hosts if not any("\ud800" <= letter <= "\udfff" for letter in host)]
    assert len(set(names)) == len(names)
    for name in names:
        assert len(name) <= 180
        assert not name.startswith(".")
        assert not set(name) & {"/", "\\", "\0", ":", " "}


def test_two_long_hosts_that_begin_alike_differ() -> None:
    assert safe_name("a" * 300 + "1") != safe_name("a" * 300 + "2")


def test_a_file_is_replaced_at_once_and_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    write_json(path, {"number": 1})
    write_json(path, {"number": 2})
    assert read_json(path) == {"number": 2}
    assert [entry.name for entry in tmp_path.iterdir()] == ["results.json"]
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_value_that_cannot_be_written_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    write_text(path, "old")
    with pytest.raises(TypeError):
        write_text(path, 1)  # type: ignore[arg-type]
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["results.json"]


@pytest.mark.parametrize("text", ["[]", "{", "null"])
def test_what_is_no_json_object_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(ValueError, match=r"JSON object|property name"):
        read_json(tmp_path / "x.json")


def test_the_link_is_moved_and_a_folder_of_its_name_is_kept(tmp_path: Path) -> None:
    replace_link(tmp_path / "latest", "one")
    replace_link(tmp_path / "latest", "two")
    assert (tmp_path / "latest").readlink() == Path("two")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        replace_link(tmp_path / "folder", "one")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["folder", "latest"]
