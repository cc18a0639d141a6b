# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ansible_collections.instinct.bringup.plugins.module_utils.environment import read_environment, relevant_lines
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

SECRET = "PASSWORD=hidden"
PLACES = [
    "/etc/environment",
    "/etc/rccl.conf",
    "/etc/profile.d/a.sh",
    "/etc/environment.d/b.conf",
    "/etc/systemd/system/train.service",
    "/etc/systemd/system/slurmd.service.d/env.conf",
    "/root/.rccl.conf",
    "/home/deploy/.deepspeed_env",
]


def plant(root: Path, files: dict[str, str]) -> Tree:
    passwd = (
        "root:x:0:0::/root:/bin/sh\ndeploy:x:1000:1000::/home/deploy:/bin/sh\nother:x:1001:1001::/home/other:/bin/sh\n"
    )
    for path, text in {"/etc/passwd": passwd, **files}.items():
        place = root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    return Tree(str(root))


def read(tree: Tree, logs: list[str] | None = None, processes: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    return read_environment(tree, ["deploy"], logs or [], processes)


@pytest.mark.parametrize("path", PLACES)
def test_each_place_is_read(tmp_path: Path, path: str) -> None:
    seen = read(plant(tmp_path, {path: "NCCL_DEBUG=INFO\n"}))
    assert [(entry["path"], entry["text"]) for entry in seen["files"]] == [(path, "NCCL_DEBUG=INFO\n")]


def test_the_files_of_users_that_nobody_asked_for_are_left_alone(tmp_path: Path) -> None:
    assert read(plant(tmp_path, {"/home/other/.rccl.conf": "NCCL_DEBUG=INFO\n"}))["files"] == []


def test_only_lines_that_have_to_do_with_rocm_leave_the_node(tmp_path: Path) -> None:
    text = f"{SECRET}\nexport NCCL_DEBUG=INFO\n{SECRET}\n"
    seen = read(plant(tmp_path, {"/etc/profile.d/a.sh": text, "/etc/environment": SECRET}))
    assert [entry["text"] for entry in seen["files"]] == ["\nexport NCCL_DEBUG=INFO\n"]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("export HIP_PATH=\\\n/opt\nX=1\n", "export HIP_PATH=\\\n/opt\n"),
        ("[Service]\nUser=a\nEnvironment=HSA_XNACK=1\n", "[Service]\n\nEnvironment=HSA_XNACK=1\n"),
        ("cat <<E\nX\nE\nexport RCCL_X=1", "cat <<E\n\n\nexport RCCL_X=1\n"),
        ("[Service]\nUser=a\n", ""),
        ("LD_LIBRARY_PATH=/x", "LD_LIBRARY_PATH=/x\n"),
        ("MY_SHIP_ID=1 SCHIP_X=2", ""),
    ],
    ids=["continuation", "section", "here-document", "nothing of ours", "library path", "parts of words"],
)
def test_lines_keep_their_numbers(text: str, kept: str) -> None:
    assert relevant_lines(text) == kept


def test_a_process_shows_the_variables_of_rocm_only(tmp_path: Path) -> None:
    tree = plant(tmp_path, {"/proc/12/environ": f"{SECRET}\0NCCL_DEBUG=INFO\0HIP_VISIBLE_DEVICES=0\0"})
    seen = read(tree, processes=[{"pid": 12, "name": "python"}, {"pid": 13, "name": "gone"}])
    assert seen["processes"] == [
        {"pid": 12, "name": "python", "variables": {"NCCL_DEBUG": "INFO", "HIP_VISIBLE_DEVICES": "0"}},
        {"pid": 13, "name": "gone", "variables": None},
    ]


def test_a_log_tells_what_was_taken(tmp_path: Path) -> None:
    lines = [
        "gpu01:12:12 [0] NCCL INFO NCCL_MAX_NCHANNELS set by environment to 2.",
        "gpu01:13:13 [1] NCCL INFO NCCL_MAX_NCHANNELS set by environment to 2.",
        "gpu01:12:12 [0] NCCL INFO NCCL_IB_HCA set to =mlx5_0",
        "gpu01:12:12 [0] NCCL INFO Bootstrap : Using eno1",
    ]
    seen = read(plant(tmp_path, {"/var/tmp/rccl.log": "\n".join(lines)}), ["/var/tmp/rccl.log", "/var/tmp/gone.log"])
    assert seen["logs"] == [
        {"path": "/var/tmp/rccl.log", "taken": {"NCCL_MAX_NCHANNELS": "2", "NCCL_IB_HCA": "=mlx5_0"}},
        {"path": "/var/tmp/gone.log", "taken": None},
    ]


def test_files_that_values_name_come_along(tmp_path: Path) -> None:
    tree = plant(tmp_path, {"/etc/rccl.conf": "NCCL_TOPO_FILE=/opt/t.xml\n", "/opt/t.xml": "<system/>"})
    assert read(tree)["referenced"] == {"/opt/t.xml": "<system/>"}


def test_no_processes_are_asked_for_another_root(tmp_path: Path) -> None:
    assert read(plant(tmp_path, {}))["processes"] is None
