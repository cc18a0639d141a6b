# SPDX-License-Identifier: Apache-2.0
"""Every role has one shape: the same files, and inputs that are declared, defaulted and named alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

REPOSITORY = Path(__file__).resolve().parents[2]
ROLES = sorted(path for path in (REPOSITORY / "roles").iterdir() if path.is_dir())
ONE_SCREEN = 60
pytestmark = pytest.mark.parametrize("role", ROLES, ids=lambda path: path.name)


def load(path: Path) -> dict[str, Any]:
    return yaml.safe_load(path.read_text(encoding="utf-8")) or {}


def options(role: Path) -> dict[str, dict[str, Any]]:
    return load(role / "meta" / "argument_specs.yml")["argument_specs"]["main"].get("options", {})


def test_role_has_tasks(role: Path) -> None:
    tasks = yaml.safe_load((role / "tasks" / "main.yml").read_text(encoding="utf-8"))
    assert isinstance(tasks, list)
    assert tasks


def test_readme_is_one_screen(role: Path) -> None:
    lines = (role / "README.md").read_text(encoding="utf-8").splitlines()
    assert 0 < len(lines) <= ONE_SCREEN


def test_defaults_are_those_of_the_specification(role: Path) -> None:
    declared = {name: option["default"] for name, option in options(role).items() if "default" in option}
    assert load(role / "defaults" / "main.yml") == declared


def test_an_option_without_a_default_is_required(role: Path) -> None:
    neither = [name for name, option in options(role).items() if "default" not in option and not option.get("required")]
    assert neither == []


def test_every_option_is_described(role: Path) -> None:
    assert [name for name, option in options(role).items() if not option.get("description")] == []


def test_names_begin_with_the_role_or_are_of_the_profile(role: Path) -> None:
    profile = load(REPOSITORY / "python_modules" / "catalog" / "profile.yml")["options"]
    strangers = [name for name in options(role) if not name.startswith(f"{role.name}_") and name not in profile]
    assert strangers == []


def test_the_plans_step_is_the_one_required_option(role: Path) -> None:
    assert [name for name, option in options(role).items() if option.get("required")] == [f"{role.name}_step"]


def test_what_is_below_a_users_home_is_touched_as_that_user(role: Path) -> None:
    # A user may put a link there, which root would follow.
    for path in sorted((role / "tasks").glob("*.yml")):
        for task in yaml.safe_load(path.read_text(encoding="utf-8")) or []:
            paths = [
                str(words.get(key, ""))
                for words in task.values()
                if isinstance(words, dict)
                for key in ("path", "dest")
            ]
            if any(word.startswith(("~", "/home/")) for word in paths):
                assert task.get("become_user") not in (None, "root"), f"{path.name}: {task['name']}"
