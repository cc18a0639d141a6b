# SPDX-License-Identifier: Apache-2.0
"""deepspeed_lint in one real ansible-playbook over made files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
LINT = "instinct.bringup.deepspeed_lint"
WRONG = '{"train_micro_batch_size_per_gpu": 1,\n"gradiant_clipping": 1.0}'


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Run every case in one play, and return the answers by the case's name."""
    folder = tmp_path_factory.mktemp("lint")
    (folder / "wrong.json").write_text(WRONG)
    (folder / "zero3_auto.json").write_text('{"train_batch_size": "auto"}')
    (folder / "binary.json").write_bytes(b"\x7fELF\0\xff")
    (folder / "huge.json").write_text('{"a": "' + "x" * 2_000_000 + '"}')
    cases: dict[str, dict[str, Any]] = {
        "path": {"path": str(folder / "wrong.json"), "deepspeed_version": "0.19.8"},
        "trainer by its name": {"path": str(folder / "zero3_auto.json")},
        "text": {"text": '{"train_batch_size": 10}', "world_size": 4},
        "fsdp": {"text": '{"limit_all_gather": true}', "form": "fsdp", "torch_version": "2.0.1"},
        "binary": {"path": str(folder / "binary.json")},
        "huge": {"path": str(folder / "huge.json")},
        "absent": {"path": str(folder / "absent.json")},
        "both": {"path": "/x", "text": "x"},
        "number": {"text": "{}", "deepspeed_version": 0.9},
        "version": {"text": "{}", "deepspeed_version": "0.7.0"},
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
    play = [{"hosts": "localhost", "connection": "local", "gather_facts": False, "tasks": tasks}]
    (folder / "play.yml").write_text(json.dumps(play))
    done = subprocess.run(
        [Path(sys.executable).with_name("ansible-playbook"), "-i", "localhost,", folder / "play.yml"],
        cwd=REPOSITORY,
        env={
            **os.environ,
            "ANSIBLE_CONFIG": str(REPOSITORY / "ansible.cfg"),
            "ANSIBLE_LOCAL_TEMP": str(folder / "tmp"),
            "ANSIBLE_LOCALHOST_WARNING": "false",
            "LC_ALL": "C.UTF-8",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, dict[str, Any]] = json.loads((folder / "answers.json").read_text())
    return found


def told(answer: dict[str, Any]) -> list[tuple[int, str, str]]:
    return [(finding["line"], finding["path"], finding["verdict"]) for finding in answer["findings"]]


def test_a_file_is_judged_by_the_version_that_is_named(answers: dict[str, dict[str, Any]]) -> None:
    answer = answers["path"]
    assert told(answer) == [(2, "gradiant_clipping", "unknown_key")]
    assert (answer["deepspeed_version"], answer["form"], answer["matters"]) == ("0.19.8", "deepspeed", True)
    assert answer["changed"] is False


def test_by_default_the_version_is_the_one_that_goes_with_the_release(answers: dict[str, dict[str, Any]]) -> None:
    answer = answers["trainer by its name"]
    assert (answer["deepspeed_version"], answer["form"], answer["findings"]) == ("0.9.3", "trainer", [])


def test_a_text_makes_no_connection(answers: dict[str, dict[str, Any]]) -> None:
    assert told(answers["text"]) == [(1, "train_batch_size", "conflict")]
    assert answers["fsdp"]["findings"][0]["use_instead"] == "limit_all_gathers"


def test_a_file_too_large_for_a_config_is_a_finding(answers: dict[str, dict[str, Any]]) -> None:
    assert told(answers["huge"]) == [(0, "", "syntax")]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("binary", "no text"),
        ("absent", "No such file"),
        ("both", "mutually exclusive"),
        ("number", "quote it"),
        ("version", "0.8.0 to 0.19.8"),
    ],
)
def test_what_cannot_be_judged_fails_and_says_why(answers: dict[str, dict[str, Any]], name: str, words: str) -> None:
    assert answers[name]["failed"]
    assert words in answers[name]["msg"]
