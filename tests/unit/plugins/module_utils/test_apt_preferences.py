# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.instinct.bringup.plugins.module_utils import apt_preferences
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

Plant = Callable[[dict[str, Any]], Tree]
GOOD = "Package: *\nPin: release o=repo.radeon.com\nPin-Priority: 600\n"


def test_a_good_pin_keeps_its_line() -> None:
    assert apt_preferences.parse_preferences("Explanation: why\n\n# x\n" + GOOD, "f")[0] == [
        {"path": "f", "line": 4, "package": "*", "pin": "release o=repo.radeon.com", "priority": 600}
    ]


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        pytest.param(
            "Package: *\\nPin: release o=repo.radeon.com\\nPin-Priority: 600\n",
            ["holds \\n as two characters: the file was written without line ends", "no Pin: in this paragraph"],
            id="one line with a backslash and an n",
        ),
        pytest.param(
            "Package: *\nPin: origin \nPin-Priority: 600\n", ["Pin 'origin' names nothing"], id="empty origin"
        ),
        pytest.param(
            'Package: *\nPin: origin ""\nPin-Priority: 600\n', ["Pin 'origin \"\"' names nothing"], id="quotes"
        ),
        pytest.param("Package: *\nPin-Priority: 600\n", ["no Pin: in this paragraph"], id="no pin"),
        pytest.param("Pin: version 1\nPin-Priority: 1\n", ["no Package: in this paragraph"], id="no package"),
        pytest.param("Package: *\nPin: release o=x\n", ["no Pin-Priority: in this paragraph"], id="no priority"),
        pytest.param(
            "Package: *\nPin: release o=x\nPin-Priority: high\n",
            ["Pin-Priority 'high' is not a number other than 0"],
            id="priority in words",
        ),
        pytest.param(
            "Package: *\nPin: relase o=x\nPin-Priority: 1\n",
            ["Pin 'relase o=x' is neither version, release nor origin"],
            id="typo",
        ),
    ],
)
def test_what_apt_would_not_follow_is_a_problem_and_no_pin(text: str, messages: list[str]) -> None:
    pins, problems = apt_preferences.parse_preferences(text, "f")
    assert pins == []
    assert [problem["message"] for problem in problems] == messages


def test_file_names(plant: Plant) -> None:
    folder = apt_preferences.PREFERENCES_FOLDER
    names = ("rocm-pin-600", "a.pref", "a.conf", ".hidden", "b~")
    tree = plant({"/etc/apt/preferences": GOOD, **{f"{folder}/{name}": GOOD for name in names}})
    pins, problems = apt_preferences.read_preferences(tree)
    assert [pin["path"] for pin in pins] == [
        "/etc/apt/preferences",
        f"{folder}/a.pref",
        f"{folder}/rocm-pin-600",
    ]
    assert [problem["path"] for problem in problems] == [f"{folder}/a.conf", f"{folder}/b~"]
