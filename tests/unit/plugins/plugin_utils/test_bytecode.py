# SPDX-License-Identifier: Apache-2.0
"""The finder, in a Python of its own: it changes how a process imports."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

COLLECTIONS = Path(__file__).resolve().parents[4] / "collections"
PREFIX = "ansible_collections.instinct.bringup.plugins"
PROGRAM = """
import importlib, json, sys
from ansible.plugins.loader import init_plugin_loader
init_plugin_loader([sys.argv[1]])
from ansible_collections.instinct.bringup.plugins.plugin_utils.bytecode import keep_bytecode
keep_bytecode()
keep_bytecode()
found = {}
for name in sys.argv[2:]:
    try:
        found[name] = type(importlib.import_module(name).__spec__.loader).__name__
    except ImportError as error:
        found[name] = str(error.name)
print(json.dumps([found, sum(type(finder).__name__ == "_Finder" for finder in sys.meta_path)]))
"""


@pytest.fixture(scope="module")
def imported() -> tuple[dict[str, str], int]:
    """Return which loader loaded each module, and how many finders there are after two calls."""
    names = ("plugin_utils.catalog", "plugin_utils.checks", "module_utils.text", "action.verify", "plugin_utils.absent")
    command = [sys.executable, "-c", PROGRAM, str(COLLECTIONS), *(f"{PREFIX}.{name}" for name in names)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found, finders = json.loads(done.stdout.splitlines()[-1])
    return found, finders


@pytest.mark.parametrize("name", ["plugin_utils.catalog", "plugin_utils.checks", "module_utils.text", "action.verify"])
def test_our_own_code_is_loaded_by_the_loader_that_keeps_bytecode(
    imported: tuple[dict[str, str], int], name: str
) -> None:
    assert imported[0][f"{PREFIX}.{name}"] == "SourceFileLoader"


def test_what_is_not_there_is_still_not_found(imported: tuple[dict[str, str], int]) -> None:
    assert imported[0][f"{PREFIX}.plugin_utils.absent"] == f"{PREFIX}.plugin_utils.absent"


def test_a_second_call_adds_no_second_finder(imported: tuple[dict[str, str], int]) -> None:
    assert imported[1] == 1
