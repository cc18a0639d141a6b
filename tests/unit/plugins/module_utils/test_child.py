# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import time

import pytest

from ansible_collections.instinct.bringup.plugins.module_utils.child import ChildError, call_in_child


def test_the_answer_comes_back_and_may_be_long() -> None:
    assert call_in_child(lambda: {"text": "x" * 300_000, "pid": 1}, 10) == {"text": "x" * 300_000, "pid": 1}


def test_it_runs_in_another_process_and_leaves_none_behind() -> None:
    pid = call_in_child(os.getpid, 10)
    assert pid != os.getpid()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_an_error_in_the_child_is_told() -> None:
    with pytest.raises(ChildError, match="PermissionError: nope"):
        call_in_child(lambda: (_ for _ in ()).throw(PermissionError("nope")), 10)


def test_an_answer_that_is_no_json_is_an_error() -> None:
    with pytest.raises(ChildError, match="ended without an answer"):
        call_in_child(lambda: {1, 2}, 10)


def test_a_question_that_hangs_is_given_up() -> None:
    started = time.monotonic()
    with pytest.raises(ChildError, match=r"no answer after 0\.1 seconds"):
        call_in_child(lambda: time.sleep(60), 0.1)
    assert time.monotonic() - started < 10
