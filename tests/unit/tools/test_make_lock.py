# SPDX-License-Identifier: Apache-2.0
"""make lock hands its words to the scripts in their own places, whichever of them is given."""

from __future__ import annotations

import pathlib
import shlex
import subprocess

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(
    ("words", "index", "python"),
    [
        (["NODE_PYTHON=3.10"], "", "3.10"),
        (["INDEX=http://mirror/whl"], "http://mirror/whl", ""),
        (["INDEX=http://mirror/whl", "NODE_PYTHON=3.8"], "http://mirror/whl", "3.8"),
        ([], "", ""),
    ],
    ids=["python", "index", "both", "none"],
)
def test_a_word_that_is_left_out_shifts_no_other(words: list[str], index: str, python: str) -> None:
    shown = subprocess.run(
        ["make", "--dry-run", "--silent", "lock", "ROCM=5.4.2", *words],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [shlex.split(line) for line in shown.stdout.splitlines()]
    assert lines == [
        ["tools/wheel_lock.sh", "5.4.2", index, python],
        ["tools/deepspeed_lock.sh", "5.4.2", "locks/pytorch-rocm5.4.2.txt", python],
    ]
