# SPDX-License-Identifier: Apache-2.0
"""The documentation of every module can be read, and says what the code takes."""

from __future__ import annotations

import ast
import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NoReturn

import pytest
import yaml

REPOSITORY = Path(__file__).resolve().parents[2]
COLLECTION = "instinct.bringup"
MODULES = sorted((REPOSITORY / "python_modules" / "plugins" / "modules").glob("[!_]*.py"))
# What documentation and argument_spec both say of an option.
SHARED_KEYS = ("type", "required", "default", "choices", "elements")

each_module = pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)


def constant(path: Path, name: str) -> str:
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and [t.id for t in node.targets if isinstance(t, ast.Name)] == [name]:
            return ast.literal_eval(node.value)
    raise AssertionError(f"{path} has no {name}")


def runs_on_the_node(path: Path) -> bool:
    """Tell a module with code from the documentation of an action plugin, which has none."""
    return any(isinstance(node, ast.FunctionDef) for node in ast.parse(path.read_text(encoding="utf-8")).body)


@pytest.fixture(scope="module")
def documents() -> dict[str, Any]:
    """Return what ansible-doc makes of all modules, documentation fragments included."""
    command = [Path(sys.executable).with_name("ansible-doc"), "--json", "--type", "module"]
    done = subprocess.run(
        [*command, *(f"{COLLECTION}.{path.stem}" for path in MODULES)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
        env={"LC_ALL": "C.UTF-8", "ANSIBLE_COLLECTIONS_PATH": str(REPOSITORY / "collections")},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


class Captured(Exception):
    """Carries what a module hands to AnsibleModule."""

    def __init__(self, argument_spec: dict[str, dict[str, Any]], **_others: Any) -> None:
        super().__init__()
        self.argument_spec = argument_spec


def capture(*args: Any, **kwargs: Any) -> NoReturn:
    raise Captured(*args, **kwargs)


def shared(option: dict[str, Any]) -> dict[str, Any]:
    """Return the part of an option that both sides must say, with Ansible's own defaults filled in."""
    said = {key: option[key] for key in SHARED_KEYS if option.get(key) is not None}
    said.setdefault("type", "str")
    if not said.get("required"):
        said.pop("required", None)
    for key in ("suboptions", "options"):
        if option.get(key):
            said["suboptions"] = {name: shared(inner) for name, inner in option[key].items()}
    return said


@each_module
@pytest.mark.parametrize("name", ["DOCUMENTATION", "EXAMPLES", "RETURN"])
def test_documentation_is_yaml(path: Path, name: str) -> None:
    assert yaml.safe_load(constant(path, name))


@each_module
def test_examples_name_the_module_in_full(path: Path) -> None:
    tasks = yaml.safe_load(constant(path, "EXAMPLES"))
    assert [task["name"] for task in tasks if f"{COLLECTION}.{path.stem}" in task]


@each_module
def test_ansible_doc_reads_the_module(path: Path, documents: dict[str, Any]) -> None:
    document = documents[f"{COLLECTION}.{path.stem}"]
    assert "error" not in document
    assert document["doc"]["module"] == path.stem
    assert document["doc"]["short_description"]


@each_module
def test_documented_options_are_those_of_the_code(
    path: Path, documents: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    if not runs_on_the_node(path):
        pytest.skip("an action plugin does the work; its documentation has no code")
    module = importlib.import_module(f"ansible_collections.{COLLECTION}.plugins.modules.{path.stem}")
    monkeypatch.setattr(module, "AnsibleModule", capture)
    with pytest.raises(Captured) as caught:
        module.main()
    documented = documents[f"{COLLECTION}.{path.stem}"]["doc"].get("options", {})
    assert {name: shared(option) for name, option in caught.value.argument_spec.items()} == {
        name: shared(option) for name, option in documented.items()
    }
