# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.instinct.bringup.plugins.module_utils.alternatives import parse_record, read_alternatives
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

Plant = Callable[[dict[str, Any]], Tree]
ADMIN, LINKS = "/var/lib/dpkg/alternatives", "/etc/alternatives"
RECORD = (
    "auto\n/opt/rocm\nrocm-doc\n/usr/share/doc/rocm\nrocm-man\n/usr/share/man/rocm\n\n"
    "/opt/rocm-5.2.0\n50200\n/opt/rocm-5.2.0/doc\n\n"
    "/opt/rocm-5.4.2\n50402\n/opt/rocm-5.4.2/doc\n/opt/rocm-5.4.2/man\n\n"
)


def test_a_record_with_slaves_of_which_some_are_missing() -> None:
    record = parse_record(RECORD)
    assert record.link == "/opt/rocm"
    assert record.slaves == ["rocm-doc", "rocm-man"]
    assert record.choices == ["/opt/rocm-5.2.0", "/opt/rocm-5.4.2"]


@pytest.mark.parametrize("text", ["", "auto\n", "auto\n/opt/rocm\n", "auto\n/opt/rocm\nslave\n", "auto\n/x\n\n/opt/a"])
def test_a_cut_record_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="update-alternatives"):
        parse_record(text)


def test_those_that_lead_into_rocm(plant: Plant) -> None:
    tree = plant(
        {
            f"{ADMIN}/rocm": RECORD,
            f"{ADMIN}/editor": "auto\n/usr/bin/editor\n\n/bin/nano\n40\n\n",
            f"{ADMIN}/stale": "auto\n/usr/bin/stale\n\n/opt/rocm-5.1.3/bin/stale\n1\n\n",
            f"{ADMIN}/cut": "auto\n/opt/rocm",
            f"{LINKS}/rocm": "-> /opt/rocm-5.2.0",
            f"{LINKS}/rocm-doc": "-> /opt/rocm-5.2.0/doc",
            f"{LINKS}/editor": "-> /bin/nano",
            f"{LINKS}/hipcc": "-> /opt/rocm-6.1.2/bin/hipcc",
            f"{LINKS}/lookalike": "-> /opt/rocmless/x",
            f"{LINKS}/README": "text",
            "/opt/rocm-5.4.2": None,
            "/opt/rocm-5.2.0": None,
        }
    )
    assert read_alternatives(tree) == [
        {"name": "hipcc", "value": "/opt/rocm-6.1.2/bin/hipcc", "target_exists": False, "choices": []},
        {
            "name": "rocm",
            "value": "/opt/rocm-5.2.0",
            "target_exists": True,
            "choices": ["/opt/rocm-5.2.0", "/opt/rocm-5.4.2"],
        },
        {"name": "stale", "value": None, "target_exists": False, "choices": ["/opt/rocm-5.1.3/bin/stale"]},
    ]
    assert [problem["path"] for problem in tree.problems()] == [f"{ADMIN}/cut"]


def test_a_node_without_alternatives(plant: Plant) -> None:
    tree = plant({})
    assert read_alternatives(tree) == []
    assert tree.problems() == []
