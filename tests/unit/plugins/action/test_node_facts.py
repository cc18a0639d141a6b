# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.snapshots import node

from ansible_collections.instinct.bringup.plugins.action import node_facts
from ansible_collections.instinct.bringup.plugins.plugin_utils.report import run_folder

# What travels through Ansible's variables: at 300 kB a node a thousand nodes cost 2 GB.
LARGEST_DIGEST = 40_000


def test_the_digest_of_a_large_node_stays_small() -> None:
    snapshot = node("mi210-8gpu-2hives").snapshot
    snapshot["pci"]["gpus"] *= 8
    snapshot["dpkg"]["packages"] = {f"package-{number}": {"version": "1" * 60} for number in range(5000)}
    snapshot["problems"] *= 500
    digest = node_facts._digest(snapshot)
    assert len(json.dumps(digest)) <= LARGEST_DIGEST
    assert digest["gpu_count"] == 64


def test_the_digest_of_a_tree_with_nothing_in_it_says_so() -> None:
    digest = node_facts._digest({"os": None, "kernel": None, "pci": None, "modules": None, "problems": []})
    assert digest["gpu_count"] == 0
    assert digest["kernel"] is None


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"msg": "MODULE FAILURE", "module_stderr": "sudo: a password is required\n"}, "--ask-become-pass"),
        ({"msg": "Missing sudo password"}, "sudo without a password"),
        ({"msg": "/bin/sh: 1: /usr/bin/python3: not found"}, "3.8 or newer"),
    ],
    ids=["sudo wants a password", "Ansible wants a password", "no Python"],
)
def test_a_snapshot_that_fails_says_what_to_do_and_is_kept_as_a_refusal(
    answer: dict[str, str], words: str, tmp_path: Path
) -> None:
    folder = run_folder.create_run_folder(tmp_path, ["gpu01"], verb="site", rocm_release="5.4.2")
    result = node_facts._explained(dict(answer), "gpu01", folder.path)
    assert words in result["msg"]
    record = run_folder.read_node(folder.path, "gpu01")
    assert (record["verdict"], record["reason"]) == ("refused", result["msg"])


@pytest.mark.parametrize(
    ("text", "snapshot"),
    [
        ('{"schema":1}', {"schema": 1}),
        ('{"schema":1', None),
        ("[1]", None),
        (None, None),
        ("[" * 100_000, None),
    ],
    ids=["whole", "cut", "not an object", "none", "deeper than a snapshot is"],
)
def test_a_damaged_answer_is_no_snapshot(text: str | None, snapshot: dict[str, int] | None) -> None:
    assert node_facts._taken_apart(text) == snapshot
