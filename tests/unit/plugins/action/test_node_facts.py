# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleConnectionFailure
from ansible.release import __version__ as ansible_version
from ansible.utils.display import Display
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
        ({"msg": "/bin/sh: 1: /usr/bin/python3: not found"}, "or newer, and its interpreter is /usr/bin/python3"),
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
    ("answer", "taken"),
    [
        ({"changed": False, "snapshot": '{"schema":1}'}, {"changed": False, "snapshot": {"schema": 1}}),
        ({"snapshot": '{"schema":1'}, {}),
        ({"snapshot": "[1]"}, {}),
        ({"msg": "no"}, {"msg": "no"}),
        ({"snapshot": "[" * 100_000}, {}),
    ],
    ids=["whole", "cut", "not an object", "none", "deeper than a snapshot is"],
)
def test_a_damaged_answer_is_no_snapshot(answer: dict[str, object], taken: dict[str, object]) -> None:
    assert node_facts._taken_apart(answer) == taken


def test_n07_a_python_that_is_too_old_is_named_with_the_one_that_is_needed() -> None:
    answer = {"msg": "MODULE FAILURE", "module_stderr": "SyntaxError: future feature annotations is not defined\n"}
    seen = "/usr/bin/python3 is Python 3.6.8"
    message = node_facts._explained(dict(answer), "gpu01", None, seen)["msg"]
    oldest = "3.8" if ansible_version.startswith("2.19.") else "3.9"
    assert message.startswith(
        f"gpu01 cannot be looked at: {seen}, and ansible-core {ansible_version} on the controller"
    )
    assert f"needs Python {oldest} or newer on a node" in message
    assert "ansible_python_interpreter" in message
    assert (
        "cannot be looked at"
        not in node_facts._explained(dict(answer), "gpu01", None, "python3 is Python 3.10.12")["msg"]
    )


@pytest.mark.parametrize(
    ("snapshot", "busy"),
    [
        ({"journal": {"runs": [{"state": "finished"}]}, "apt": {"locks": []}}, False),
        ({"journal": {"runs": [{"state": "begun"}]}, "apt": None}, True),
        ({"journal": None, "apt": {"locks": [{"path": "/var/lib/dpkg/lock", "pid": 7, "name": "apt"}]}}, True),
        ({}, False),
    ],
    ids=["at rest", "a run was interrupted", "a lock is held", "nothing was seen"],
)
def test_a_node_is_waited_for_where_something_may_be_at_work(snapshot: dict[str, Any], busy: bool) -> None:
    assert node_facts.is_busy(snapshot) is busy


class Rebooting(node_facts.ActionModule):
    """The action on a node that does not answer for some calls. Made without Ansible around it."""

    def __init__(self, silent: int) -> None:
        self.silent = silent
        self._display = Display()
        self._connection = self

    def reset(self) -> None:
        """Take the place of the connection's own."""

    def _execute_module(self, *, module_name: str, **_given: Any) -> dict[str, Any]:
        if self.silent:
            self.silent -= 1
            raise AnsibleConnectionFailure("no route to host")
        return {"answered": module_name}


@pytest.mark.parametrize("seconds", [0, 60], ids=["no reboot ahead", "an earlier run was to reboot it"])
def test_a_node_that_does_not_answer_is_waited_for_only_while_it_may_be_rebooting(
    seconds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_facts, "_PAUSE", 0)
    action = Rebooting(silent=2)
    if not seconds:
        with pytest.raises(AnsibleConnectionFailure):
            action._ask("node_facts", {}, {"inventory_hostname": "gpu01"}, lambda: seconds)
        return
    answer = action._ask("node_facts", {}, {"inventory_hostname": "gpu01"}, lambda: seconds)
    assert answer == {"answered": "instinct.bringup.node_facts"}
