# SPDX-License-Identifier: Apache-2.0
"""The manifest keeps what is needed to make things again, and survives an interruption."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.instinct.bringup.plugins.module_utils.command_runner import Result
from ansible_collections.instinct.bringup.plugins.module_utils.purge_manifest import (
    CONTENT_LIMIT,
    describe_file,
    merge,
    read_manifest,
    without_contents,
    write_manifest,
)
from ansible_collections.instinct.bringup.plugins.module_utils.purge_request import Node, PurgeRefused

EMPTY: dict[str, Any] = {
    "schema": 1,
    "run": "r1",
    "started": "2",
    "finished": None,
    "listed": {"holds": []},
    "removed": {},
    "packages": [],
    "holds": [],
    "files": [],
    "alternatives": [],
    "dkms_trees": [],
    "trees": [],
    "wheels": [],
}


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(lambda argv: Result(0, "", ""), str(tmp_path))


def test_a_small_file_is_kept_whole(node: Node, tmp_path: Path) -> None:
    (tmp_path / "x.list").write_bytes(b"deb \xff\n")
    (tmp_path / "x.list").chmod(0o640)
    entry = describe_file(node, "/x.list", "amdgpu-install")
    assert base64.b64decode(entry["content"]) == b"deb \xff\n"
    assert (entry["mode"], entry["size"], entry["package"]) == ("0640", 6, "amdgpu-install")
    assert entry["sha256"] == hashlib.sha256(b"deb \xff\n").hexdigest()


@pytest.mark.parametrize(("size", "kept"), [(CONTENT_LIMIT, True), (CONTENT_LIMIT + 1, False)])
def test_a_large_file_is_kept_by_its_digest(node: Node, tmp_path: Path, size: int, kept: bool) -> None:
    (tmp_path / "big").write_bytes(b"x" * size)
    entry = describe_file(node, "/big")
    assert (entry["content"] is not None) is kept
    assert entry["sha256"] == hashlib.sha256(b"x" * size).hexdigest()


def test_a_link_is_kept_by_its_target(node: Node, tmp_path: Path) -> None:
    (tmp_path / "rocm").symlink_to("/etc/alternatives/rocm")
    entry = describe_file(node, "/rocm")
    assert (entry["type"], entry["target"], entry["content"]) == ("link", "/etc/alternatives/rocm", None)


def test_a_second_call_adds_to_what_the_first_had_noted() -> None:
    first = {
        **EMPTY,
        "started": "1",
        "holds": ["rccl"],
        "packages": [{"name": "rccl", "architecture": "amd64", "version": "1", "hold": True}],
        "files": [{"path": "/a", "content": "first"}],
        "listed": {"holds": ["rccl"]},
    }
    second = {
        **EMPTY,
        "packages": [{"name": "rccl", "architecture": "amd64", "version": "1", "hold": False}],
        "files": [{"path": "/a", "content": "second"}, {"path": "/b", "content": "b"}],
    }
    merged = merge(first, second)
    assert (merged["started"], merged["holds"], merged["listed"]) == ("1", ["rccl"], {"holds": ["rccl"]})
    assert [entry["hold"] for entry in merged["packages"]] == [True]
    assert {entry["path"]: entry["content"] for entry in merged["files"]} == {"/a": "first", "/b": "b"}
    assert merge(None, second) == second


def test_the_file_is_for_its_owner_only_and_reads_back(tmp_path: Path) -> None:
    path = tmp_path / "state/manifests/r1.json"
    assert read_manifest(str(path)) is None
    write_manifest(str(path), EMPTY)
    assert [p.stat().st_mode & 0o777 for p in (path, path.parent, path.parent.parent)] == [0o600, 0o700, 0o700]
    assert read_manifest(str(path)) == EMPTY


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": 9}'])
def test_a_manifest_that_cannot_be_trusted_stops_the_purge(tmp_path: Path, text: str) -> None:
    (tmp_path / "r1.json").write_text(text, encoding="ascii")
    with pytest.raises(PurgeRefused, match=r"r1\.json"):
        read_manifest(str(tmp_path / "r1.json"))


def test_what_travels_holds_no_content_and_no_endless_list() -> None:
    manifest = {
        **EMPTY,
        "files": [{"path": "/a", "content": "c2VjcmV0"}],
        "trees": [{"path": "/opt/rocm-5.1.3", "unowned": [str(number) for number in range(5000)]}],
    }
    short = without_contents(manifest)
    assert short["files"] == [{"path": "/a"}]
    assert len(short["trees"][0]["unowned"]) == 201
    assert "4800 more" in short["trees"][0]["unowned"][-1]
    assert len(manifest["trees"][0]["unowned"]) == 5000
