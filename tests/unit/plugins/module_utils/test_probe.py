# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import sys

import pytest

from ansible_collections.instinct.bringup.plugins.module_utils import probe
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree


def test_the_locale_is_fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "cs_CZ.UTF-8")
    answer = probe.run_probe([sys.executable, "-c", "import os; print(os.environ['LC_ALL'])"])
    assert (answer.rc, answer.out) == (0, "C\n")


def test_a_command_that_hangs_is_ended_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "SECONDS", 0.2)
    tree = Tree("/")
    assert probe.ask(tree, "apt", probe.run_probe, [sys.executable, "-c", "import time; time.sleep(60)"]) is None
    assert tree.problems() == [{"area": "apt", "path": sys.executable, "message": "no answer after 0.2 seconds"}]


def test_a_command_that_is_not_there(tmp_path: object) -> None:
    tree = Tree("/")
    assert probe.ask(tree, "dpkg", probe.run_probe, [f"{tmp_path}/nothing"]) is None
    assert tree.problems()[0]["message"] == "No such file or directory"
