# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from ansible_collections.instinct.bringup.plugins.module_utils import deepspeed_ops
from ansible_collections.instinct.bringup.plugins.module_utils.command_runner import Result
from ansible_collections.instinct.bringup.plugins.module_utils.probe import ProbeError
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

Plant = Callable[[dict[str, Any]], Tree]
REQUEST = deepspeed_ops.OpsRequest("deploy", "/opt/venv", "/opt/rocm-5.4.2", "gfx90a")
OPS = {"fused_adam": {"loads": False, "error": "hipcc: not found"}, "cpu_adam": {"loads": True, "error": None}}
SAID = {"gpus": 8, "version": "0.9.3", "ops": OPS}


def asked(plant: Plant, answer: Result | ProbeError) -> tuple[Any, list[str], Tree]:
    tree, words = plant({"/opt/venv/bin/python": ""}), []

    def probe(argv: Sequence[str], seconds: float) -> Result:
        words.extend(argv)
        if isinstance(answer, ProbeError):
            raise answer
        return answer

    return deepspeed_ops.read_ops(tree, probe, REQUEST), words, tree


def test_the_script_is_one_that_python_can_read() -> None:
    compile(deepspeed_ops.SCRIPT, "script", "exec")


def test_the_answer_comes_after_what_others_print(plant: Plant) -> None:
    out = "[INFO] Setting ds_accelerator\n" + deepspeed_ops.MARK + json.dumps(SAID)
    seen, words, _tree = asked(plant, Result(0, out, ""))
    assert seen == SAID
    assert words[words.index("-u") + 1] == "deploy"
    assert {"ROCM_HOME=/opt/rocm-5.4.2", "PYTORCH_ROCM_ARCH=gfx90a"} <= set(words)


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (Result(1, "", "Traceback\nModuleNotFoundError: No module named 'deepspeed'\n"), "No module named 'deepspeed'"),
        (Result(124, "", ""), "no answer after 900 seconds"),
        (Result(0, deepspeed_ops.MARK + '{"gpus": 1', ""), "it said nothing"),
        (Result(0, deepspeed_ops.MARK + '{"gpus": 1, "version": "1", "ops": {"a": 1}}', ""), "it said nothing"),
        (ProbeError("No such file or directory"), "No such file or directory"),
    ],
    ids=["no deepspeed", "too long", "cut", "another shape", "no runuser"],
)
def test_no_answer_is_a_problem_that_says_why(plant: Plant, answer: Result | ProbeError, problem: str) -> None:
    seen, _words, tree = asked(plant, answer)
    assert seen is None
    assert [entry["message"].endswith(problem) for entry in tree.problems()] == [True]


def test_without_a_venv_nothing_is_run(plant: Plant) -> None:
    def probe(argv: Sequence[str], seconds: float) -> Result:
        raise AssertionError

    assert deepspeed_ops.read_ops(plant({}), probe, REQUEST) is None
