# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
from pathlib import Path

import pytest

from ansible_collections.instinct.bringup.plugins.module_utils import env_source
from ansible_collections.instinct.bringup.plugins.module_utils.env_source import (
    read_host,
    read_source,
    referenced_paths,
)


def test_a_file_is_read_as_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "a.sh"
    path.write_bytes(b"\xff\0")
    assert read_source(str(path), "/") == b"\xff\0"


def test_a_path_that_is_not_there_is_looked_for_below_the_root(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "made-rccl.conf").write_text("A=1")
    assert read_source("/etc/made-rccl.conf", str(tmp_path)) == b"A=1"


def test_what_is_no_file_of_settings_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "large").write_bytes(b"x" * 20)
    monkeypatch.setattr(env_source, "MAX_BYTES", 10)
    for name, words in (("pipe", "not a regular file"), ("large", "no file of settings"), ("gone", "No such file")):
        with pytest.raises(OSError, match=words):
            read_source(str(tmp_path / name), "/")


def test_files_that_values_name_are_found() -> None:
    data = (
        b"export NCCL_TOPO_FILE=/a/b.xml\nNCCL_GRAPH_FILE='/c.xml'\nsetenv NCCL_TOPO_FILE /d.xml\nNCCL_TOPO_FILE=$X\n"
    )
    assert referenced_paths(data) == ["/a/b.xml", "/c.xml"]


def test_the_host_is_what_values_may_refer_to(tmp_path: Path) -> None:
    (tmp_path / "sys/class/net/eth0").mkdir(parents=True)
    (tmp_path / "t.xml").write_text("<system/>")
    seen = read_host(str(tmp_path), b"NCCL_TOPO_FILE=/t.xml NCCL_GRAPH_FILE=/gone.xml")
    assert [entry["name"] for entry in seen["net"]["interfaces"]] == ["eth0"]
    assert seen["net"]["hcas"] == []
    assert seen["kfd"] is None
    assert seen["files"] == {"/t.xml": "<system/>", "/gone.xml": None}


def test_a_tree_without_devices_says_so(tmp_path: Path) -> None:
    seen = read_host(str(tmp_path), b"")
    assert (seen["net"], seen["kfd"], seen["pci"]) == (None, None, None)
