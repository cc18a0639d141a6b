# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import typing as t

import pytest

from ansible_collections.instinct.bringup.plugins.plugin_utils.catalog import default_catalog
from ansible_collections.instinct.bringup.plugins.plugin_utils.profile import all_options, build_profile, unknown_names

OPTIONS = all_options(default_catalog())


def test_every_option_has_a_value_without_a_word_from_the_site() -> None:
    profile = build_profile(OPTIONS, {})
    assert profile.problems == ()
    assert set(profile) == set(OPTIONS)
    assert profile["rocm_release"] == "5.4.2"
    assert profile["gpu_count"] is None


@pytest.mark.parametrize("value", [6.1, 5, True], ids=str)
def test_a_version_that_yaml_made_a_number_is_named_with_what_to_write(value: object) -> None:
    (problem,) = build_profile(OPTIONS, {"rocm_release": value}).problems
    assert problem.option == "rocm_release"
    assert f"rocm_release is {value!r}" in problem.seen
    assert 'rocm_release: "5.4.2"' in problem.wanted


WRONG: list[tuple[str, t.Any]] = [
    ("gpu_count", "eight"),
    ("gpu_hive_size", 3),
    ("rocm_method", "curl"),
    ("bringup_reboot", "perhaps"),
    ("rccl_extra_env", ["NCCL_DEBUG"]),
    ("launch_port", True),
    ("deepspeed_model_parameters", float("inf")),
]


@pytest.mark.parametrize(("name", "value"), WRONG, ids=lambda value: str(value))
def test_a_value_of_the_wrong_kind_is_a_problem_that_names_the_option(name: str, value: t.Any) -> None:
    assert [problem.option for problem in build_profile(OPTIONS, {name: value}).problems] == [name]


@pytest.mark.parametrize("name", [name for name, spec in OPTIONS.items() if spec.get("default") is not None])
def test_a_name_without_a_value_is_a_problem_where_null_is_not_the_default(name: str) -> None:
    (problem,) = build_profile(OPTIONS, {name: None}).problems
    assert (problem.option, problem.seen) == (name, f"{name} is null")


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("rocm_relase", "rocm_release"),
        ("rccl_profil", "rccl_profile"),
        ("gpu_cont", "gpu_count"),
        ("mpi_package", "mpi_packages"),
    ],
)
def test_a_misspelled_option_is_found(name: str, option: str) -> None:
    assert unknown_names(OPTIONS, [name, "ansible_user"]) == [(name, option)]


@pytest.mark.parametrize(
    "name", ["gpu_rack", "bringup_run", "bringup_planned", "bringup_serial", "rocm_owner", "site_name"]
)
def test_a_name_of_the_sites_own_is_left_alone(name: str) -> None:
    assert unknown_names(OPTIONS, [name]) == []


@pytest.mark.parametrize(("given", "read"), [("8", 8), (8, 8)], ids=["text of -e", "number"])
def test_numbers_of_the_command_line_are_read(given: t.Any, read: int) -> None:
    assert build_profile(OPTIONS, {"gpu_count": given})["gpu_count"] == read


def test_what_is_no_option_is_left_alone() -> None:
    assert "ansible_user" not in build_profile(OPTIONS, {"ansible_user": "deploy"})
