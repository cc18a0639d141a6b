# SPDX-License-Identifier: Apache-2.0
"""env_lint in one real ansible-playbook over made files, and the playbook for people."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
LINT = "instinct.bringup.env_lint"
RECIPE = "export RCCL_BUFFSIZE=4M HSA_FORCE_FINE_GRAIN_PCIE=1\nexport NCCL_SOCKET_IFNAME=eth7\n"


def made_root(root: Path) -> None:
    """Make a tree with one interface and two cards in one hive."""
    (root / "sys/class/net/eth0").mkdir(parents=True)
    for number in (1, 2):
        node = root / f"sys/class/kfd/kfd/topology/nodes/{number}"
        node.mkdir(parents=True)
        (node / "properties").write_text(f"simd_count 416\nhive_id 5\nlocation_id {number << 12}\ndomain 0\n")


def playbook(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [Path(sys.executable).with_name("ansible-playbook"), *map(str, arguments)],
        cwd=REPOSITORY,
        env={
            **os.environ,
            "ANSIBLE_CONFIG": str(REPOSITORY / "ansible.cfg"),
            "ANSIBLE_CALLBACK_RESULT_FORMAT": "json",
            "ANSIBLE_LOCAL_TEMP": str(folder / "tmp"),
            "LC_ALL": "C.UTF-8",
        },
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Run every case in one play, and return the answers by the case's name."""
    folder = tmp_path_factory.mktemp("lint")
    made_root(folder / "root")
    (folder / "recipe.sh").write_text(RECIPE)
    (folder / "binary").write_bytes(b"\x7fELF\0\xff")
    cases: dict[str, dict[str, Any]] = {
        "path": {"path": str(folder / "recipe.sh"), "rocm_release": "5.4.2"},
        "text": {"text": "# RCCL_BUFFSIZE=4M", "rocm_release": "5.7.1", "form": "rccl_conf"},
        "text with the host": {"text": RECIPE, "root": str(folder / "root")},
        "binary": {"path": str(folder / "binary")},
        "both": {"path": "/x", "text": "x"},
        "number": {"text": "x", "rocm_release": 5.4},
        "model": {"text": "x", "gpu_model": "mi9"},
    }
    tasks = []
    for place, (name, arguments) in enumerate(cases.items()):
        # A text has to reach the judge without any connection: this one would fail.
        variables = {} if "path" in arguments else {"ansible_connection": "ssh", "ansible_host": "192.0.2.1"}
        tasks.append(
            {"name": name, LINT: arguments, "register": f"case{place}", "ignore_errors": True, "vars": variables}
        )
    copied = "{{ {" + ", ".join(f"{name!r}: case{place}" for place, name in enumerate(cases)) + "} | to_json }}"
    tasks.append({"name": "Keep", "ansible.builtin.copy": {"content": copied, "dest": str(folder / "answers.json")}})
    play = {"name": "Lint", "hosts": "all", "gather_facts": False, "tasks": tasks}
    # The playbook for people comes last, since it is to fail.
    variables = {"path": str(folder / "recipe.sh"), "bringup_root": str(folder / "root")}
    for_people = {"ansible.builtin.import_playbook": str(REPOSITORY / "playbooks/lint-env.yml"), "vars": variables}
    (folder / "play.yml").write_text(json.dumps([play, for_people]))
    done = playbook(folder, "-i", "made,", "-c", "local", folder / "play.yml")
    assert (folder / "answers.json").is_file(), done.stdout + done.stderr
    kept: dict[str, dict[str, Any]] = json.loads((folder / "answers.json").read_text())
    return {**kept, "playbook": {"code": done.returncode, "output": done.stdout}}


def verdicts(answer: dict[str, Any]) -> list[tuple[str, int, str]]:
    return [(finding["name"], finding["line"], finding["verdict"]) for finding in answer["findings"]]


def test_a_file_is_judged_by_its_form(answers: dict[str, dict[str, Any]]) -> None:
    answer = answers["path"]
    assert verdicts(answer) == [
        ("RCCL_BUFFSIZE", 1, "unread"),
        ("HSA_FORCE_FINE_GRAIN_PCIE", 1, "ok"),
        ("NCCL_SOCKET_IFNAME", 2, "ok"),
    ]
    assert set(answer["findings"][0]) == {"name", "line", "verdict", "message", "use_instead"}
    assert answer["findings"][0]["use_instead"] == "NCCL_BUFFSIZE"
    assert (answer["changed"], answer["matters"], answer["form"]) == (False, True, "shell")


def test_a_root_judges_values_by_the_node(answers: dict[str, dict[str, Any]]) -> None:
    found = [verdict for _name, _line, verdict in verdicts(answers["text with the host"])]
    assert found == ["unread", "conflict", "bad_value"]
    assert "HSA_FORCE_FINE_GRAIN_PCIE: every card of this node" in answers["playbook"]["output"]


def test_a_text_needs_no_connection_and_its_form_can_be_given(answers: dict[str, dict[str, Any]]) -> None:
    assert verdicts(answers["text"]) == [("# RCCL_BUFFSIZE", 1, "unread")]


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("binary", "not text"),
        ("both", "mutually exclusive"),
        ("number", "quote it"),
        ("model", "it holds mi100, mi210"),
    ],
)
def test_what_cannot_be_judged_fails_and_says_why(answers: dict[str, dict[str, Any]], case: str, words: str) -> None:
    assert answers[case]["failed"]
    assert words in answers[case]["msg"]


def test_the_playbook_shows_a_table_and_fails_on_what_matters(answers: dict[str, dict[str, Any]]) -> None:
    assert answers["playbook"]["code"] == 2
    assert "x     1  unread           RCCL_BUFFSIZE" in answers["playbook"]["output"]
