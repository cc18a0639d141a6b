# SPDX-License-Identifier: Apache-2.0
"""Whatever the plan manages is tampered with in the lab (tests/lab/test_tampering.py): here only that nothing is forgotten."""

from __future__ import annotations

import copy
import typing as t

import pytest
from support import damages

from . import made

PLAN_SOURCES = made.REPOSITORY / "python_modules" / "plugins" / "plugin_utils"


@pytest.fixture(scope="module")
def model() -> damages.Model:
    plan = made.plan(made.converged(), bringup_force=True, **damages.TUNING)
    return {step["role"]: step["inputs"] for step in plan["steps"]}


def test_every_input_of_every_role_has_a_damage_or_a_reason(model: damages.Model) -> None:
    assert damages.without_damage(model) == []


def test_every_kind_of_change_is_made_by_a_damage(model: damages.Model) -> None:
    made_kinds = {damage.kind for damage in damages.damages(model)} | set(damages.NO_THING)
    # The holds of packages that go come with the package.
    assert damages.kinds_of_change(PLAN_SOURCES) - made_kinds == set()


def test_every_way_to_hurt_a_file_is_used_and_every_managed_file_is_hurt(model: damages.Model) -> None:
    hurt = [damage for damage in damages.damages(model) if damage.kind == "file"]
    for way in damages.FILE_DAMAGE:
        assert any(damages.hurt(way, path) in damage.script for damage in hurt for path in damage.subjects), way
    paths = {file["path"] for inputs in model.values() for file in inputs.get("files", [])}
    assert paths <= {path for damage in hurt for path in damage.subjects}


@pytest.mark.parametrize(("role", "name"), [("rocm", "firewall"), ("mpi", "files_of_users"), ("new_role", "things")])
def test_a_new_managed_thing_without_a_damage_is_found(model: damages.Model, role: str, name: str) -> None:
    grown: dict[str, t.Any] = copy.deepcopy(model)
    grown.setdefault(role, {})[name] = ["x"]
    assert damages.without_damage(grown) == [f"{role}.{name}"]


def test_no_damage_hides_another_of_its_round(model: damages.Model) -> None:
    found = damages.damages(model)
    packed = damages.rounds(found)
    assert sorted(map(str, found)) == sorted(str(damage) for entry in packed for damage in entry)
    for entry in packed:
        kinds = [damage.kind for damage in entry]
        brought = {kind for damage in entry for kind in damage.along}
        assert len(kinds) == len(set(kinds))
        assert not brought & set(kinds)
