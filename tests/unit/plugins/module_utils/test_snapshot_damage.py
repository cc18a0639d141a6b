# SPDX-License-Identifier: Apache-2.0
"""Whatever is wrong with a tree, the snapshot comes, says why a value is missing, and reads nothing outside."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.instinct.bringup.plugins.module_utils.snapshot import Request, build_snapshot

Damage = Callable[[Path], None]
CANARY = "canary-of-the-real-machine"
ODD_NAME = b"odd\xff\n.conf"
REQUEST = Request(
    watch=["/etc/passwd", "/opt/rocm", "/opt", "/etc/apt/preferences.d/rocm-pin-600", "/nowhere"],
    users=["deploy", "ghost"],
    packages=["hipcc"],
    venvs=["/opt/instinct/venv", "/nowhere"],
    spaces=["/opt"],
)


def remove(place: Path) -> None:
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    else:
        place.unlink()


def replaced(make: Callable[[Path], Any]) -> Damage:
    def damage(place: Path) -> None:
        remove(place)
        make(place)

    return damage


def cut(place: Path) -> None:
    if place.is_file() and not place.is_symlink():
        data = place.read_bytes()
        place.write_bytes(data[: len(data) // 2])


def lead_outside(place: Path) -> None:
    # Counted from the root of the tree this leads to nothing; from the real root, to the canary.
    os.symlink(next(folder for folder in place.parents if folder.name == "root").with_name("outside"), place)


def odd_name(place: Path) -> None:
    with open(os.path.join(os.fsencode(place.parent), ODD_NAME), "wb") as stream:
        stream.write(b"\xff\xfe")


def write(content: bytes) -> Damage:
    return replaced(lambda place: place.write_bytes(content))


damages = st.one_of(
    st.sampled_from(
        [
            remove,
            cut,
            odd_name,
            replaced(lambda place: place.mkdir()),
            replaced(lambda place: os.mkfifo(place)),
            replaced(lambda place: os.symlink(place.name, place)),
            replaced(lambda place: os.symlink("/../../../../nowhere", place)),
            replaced(lead_outside),
            write(b""),
            write(b"\n"),
            write(b"\x00\xff\xfe\x80" * 8),
            write(b"-1\n"),
            write(b"99999999999999999999999999999999\n"),
            write(b"9" * 5000),
            write(b"= : [ ] ( \" ' \\ \n" * 3),
        ]
    ),
    st.binary(max_size=64).map(write),
    st.text(max_size=64).map(lambda text: write(text.encode("utf-8", "surrogatepass"))),
)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory, made_node: dict[str, Any], lay_files: Callable[..., None]) -> Path:
    """Return the made node's root, laid once: every example repairs what it has damaged."""
    folder = tmp_path_factory.mktemp("damage")
    (folder / "outside").write_text(CANARY)
    lay_files(folder / "root", made_node)
    return folder / "root"


@settings(max_examples=150)
@given(data=st.data())
def test_a_damaged_tree_still_gives_a_whole_snapshot(
    root: Path, made_node: dict[str, Any], lay_files: Callable[..., None], data: st.DataObject
) -> None:
    hit = data.draw(st.lists(st.tuples(st.sampled_from(sorted(made_node)), damages), min_size=1, max_size=6))
    try:
        for path, damage in hit:
            place = root / path.lstrip("/")
            if os.path.lexists(place):
                damage(place)
        snapshot = build_snapshot(str(root), REQUEST, None)
    finally:
        for path, _damage in hit:
            repair(root, path, made_node[path], lay_files)
    text = json.dumps(snapshot, ensure_ascii=False).encode("utf-8").decode()
    assert CANARY not in text
    assert [entry for entry in snapshot["problems"] if "reader broke" in entry["message"]] == []
    assert all(set(entry) == {"area", "path", "message"} for entry in snapshot["problems"])
    assert set(snapshot) == set(build_snapshot("/nowhere", REQUEST, None))


def repair(root: Path, path: str, content: Any, lay_files: Callable[..., None]) -> None:
    place = root / path.lstrip("/")
    if os.path.lexists(place):
        remove(place)
    odd = os.path.join(os.fsencode(place.parent), ODD_NAME)
    if os.path.lexists(odd):
        os.unlink(odd)
    lay_files(root, {path: content})


def test_the_examples_leave_the_tree_as_it_was(root: Path, made_node: dict[str, Any]) -> None:
    assert build_snapshot(str(root), Request(), None)["problems"] == []
