# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.instinct.bringup.plugins.module_utils import text
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

Plant = Callable[[dict[str, Any]], Tree]


def test_an_absolute_link_is_counted_from_the_root(plant: Plant, tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("secret")
    tree = plant(
        {
            "/link": f"-> {tmp_path}/outside",
            "/up": "-> ../../../../../../../etc/name",
            "/etc/name": "inside",
            "/chain": "-> /folder/inner",
            "/folder": "-> /real",
            "/real/inner": "-> ../etc/name",
        }
    )
    assert tree.read_text("area", "/link") is None
    assert tree.read_text("area", "/up") == "inside"
    assert tree.read_text("area", "/chain") == "inside"
    assert tree.resolve("/chain") == "/etc/name"


def test_a_relative_link_in_sysfs_is_followed(plant: Plant) -> None:
    tree = plant({"/sys/bus/pci/devices/a": "-> ../../../devices/a", "/sys/devices/a/vendor": "0x1002\n"})
    assert tree.read_line("pci", "/sys/bus/pci/devices/a/vendor") == "0x1002"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param("-> /loop", "ELOOP", id="link to itself"),
        pytest.param("-> /nowhere", "ENOENT", id="dangling link"),
        pytest.param(None, "EISDIR", id="folder"),
        pytest.param(b"\x00\x01", "not text: starts with '\\x00\\x01'", id="zero bytes"),
        pytest.param(b"\xff\xfeabc", "not text", id="not UTF-8"),
    ],
)
def test_what_is_not_a_text_is_none_and_a_problem(plant: Plant, content: Any, message: str) -> None:
    tree = plant({"/loop": content})
    assert tree.read_text("area", "/loop") is None
    (problem,) = tree.problems()
    assert problem["area"] == "area"
    assert problem["path"] == "/loop"
    assert message in problem["message"] or (content is None and "not a regular file" in problem["message"])


def test_a_pipe_in_the_place_of_a_file_does_not_hold_up(plant: Plant) -> None:
    tree = plant({})
    os.mkfifo(tree.root + "/pipe")
    assert tree.read_text("area", "/pipe") is None
    assert tree.problems()[0]["message"] == "not a regular file"


def test_an_optional_file_may_be_absent_but_not_unreadable(plant: Plant) -> None:
    tree = plant({"/file": "", "/binary": b"\0"})
    assert tree.read_text("area", "/absent", optional=True) is None
    assert tree.read_text("area", "/file/below", optional=True) is None
    assert tree.problems() == []
    assert tree.read_text("area", "/binary", optional=True) is None
    assert len(tree.problems()) == 1


def test_a_longer_file_than_allowed_is_a_problem(plant: Plant) -> None:
    tree = plant({"/long": "x" * 11})
    assert tree.read_text("area", "/long", limit=10) is None
    assert tree.read_bytes("area", "/long", limit=10, whole=False) == b"x" * 10
    assert [entry["message"] for entry in tree.problems()] == ["longer than 10 bytes"]


@pytest.mark.parametrize(
    ("content", "number"),
    [("16\n", 16), ("-1\n", -1), ("0x10\n", None), ("1_0\n", None), ("\n", None), ("٣\n", None), ("9" * 99, None)],
)
def test_numbers_are_what_a_kernel_writes(plant: Plant, content: str, number: int | None) -> None:
    tree = plant({"/number": content})
    assert tree.read_int("area", "/number") == number
    assert len(tree.problems()) == (number is None)


def test_names_come_in_natural_order(plant: Plant) -> None:
    tree = plant({f"/nodes/{name}": None for name in ("10", "9", "1", "card2", "card10")})
    assert tree.list_folder("kfd", "/nodes") == ["1", "9", "10", "card2", "card10"]


def test_a_network_mount_is_named_and_never_entered(plant: Plant) -> None:
    tree = plant({"/opt/shared/file": "x", "/link": "-> /opt/shared/file", "/opt/own": "y"})
    tree.far["/opt/shared"] = "nfs4"
    assert tree.read_text("opt", "/opt/shared/file") is None
    assert tree.read_text("opt", "/link") is None
    assert tree.stat("/opt/shared") is None
    assert tree.read_text("opt", "/opt/own") == "y"
    assert {entry["message"] for entry in tree.problems()} == {"/opt/shared is a mount of type nfs4: not looked at"}


def test_presence_tells_nothing_from_not_looked_at(plant: Plant) -> None:
    tree = plant({"/file": "", "/dangling": "-> /nowhere", "/loop": "-> /loop", "/far/x": ""})
    tree.far["/far"] = "nfs"
    assert [tree.presence(path) for path in ("/file", "/dangling", "/gone/too", "/file/below")] == [
        True,
        False,
        False,
        False,
    ]
    assert [tree.presence(path) for path in ("/loop", "/far/x")] == [None, None]


def test_many_problems_of_an_area_are_counted_in_one(plant: Plant) -> None:
    tree = plant({})
    for number in range(text.MAX_PROBLEMS_PER_AREA + 5):
        tree.read_text("kfd", f"/{number}")
    tree.read_text("pci", "/x")
    kfd = [entry for entry in tree.problems() if entry["area"] == "kfd"]
    assert len(kfd) == text.MAX_PROBLEMS_PER_AREA + 1
    assert kfd[-1]["message"] == "5 more problems of this area"
    assert [entry["path"] for entry in tree.problems() if entry["area"] == "pci"] == ["/x"]


@pytest.mark.parametrize(
    ("smaller", "larger"),
    [("6.5.0-45", "6.11.0-14"), ("5.15.0-91-generic", "5.15.0-100-generic"), ("6.8.0", "6.8.0-44"), ("a", "a1")],
)
def test_versions_compare_as_numbers(smaller: str, larger: str) -> None:
    assert text.natural_key(smaller) < text.natural_key(larger)


@pytest.mark.parametrize(
    ("given", "numbers"),
    [
        ("0-3,8", [0, 1, 2, 3, 8]),
        ("0\n", [0]),
        ("", []),
        ("3-1", None),
        ("0-99999999", None),
        ("a", None),
        ("-1", None),
        ("1-", None),
    ],
)
def test_cpu_lists(given: str, numbers: list[int] | None) -> None:
    assert text.parse_cpulist(given) == numbers
