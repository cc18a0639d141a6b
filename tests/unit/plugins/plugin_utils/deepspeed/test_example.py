# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import ast

from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed import example


def test_every_script_of_the_role_is_given_to_the_nodes() -> None:
    files = example.example_files("/etc/deepspeed")
    assert sorted(file.path for file in files) == sorted(
        f"/etc/deepspeed/example/{path.name}" for path in example.EXAMPLE_DIR.glob("*.py")
    )


def test_the_scripts_are_for_the_oldest_python_that_has_torch() -> None:
    for file in example.example_files("/etc/deepspeed"):
        ast.parse(file.content, file.path, feature_version=(3, 8))
