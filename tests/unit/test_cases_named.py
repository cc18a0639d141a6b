# SPDX-License-Identifier: Apache-2.0
"""Every public bug report about packages, kernels, wheels and Ansible itself has a test that carries its id."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

SECTIONS = "PKYN"


def ids_of(text: str) -> set[str]:
    """Return the ids of the cases' headings, such as P-01."""
    return set(re.findall(rf"^### ([{SECTIONS}]-\d\d) ", text, re.M))


def ids_in_tests(folder: Path) -> set[str]:
    """Return the ids that a test function's name begins with: test_p01_… is one of P-01."""
    found = set()
    for path in folder.rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                found |= {f"{word[0].upper()}-{word[1:]}" for word in re.findall(r"_([pkyn]\d\d)(?=_)", node.name)}
    return found


def test_every_case_has_a_test_of_its_id(repository: Path) -> None:
    cases = repository.parent / "shared" / "CASES.md"
    if not cases.is_file():
        pytest.skip(f"{cases} is not here")
    ids = ids_of(cases.read_text(encoding="utf-8"))
    assert len(ids) >= 30
    assert ids - ids_in_tests(repository / "tests") == set()


def test_an_id_without_a_test_is_found(tmp_path: Path) -> None:
    (tmp_path / "test_x.py").write_text(
        "def test_p01_it() -> None:\n    '''Of P-02 nothing is tested.'''\n", encoding="utf-8"
    )
    assert ids_of("### P-01 — a\n### P-02 — b\n### R-01 — c\nP-03\n") - ids_in_tests(tmp_path) == {"P-02"}
