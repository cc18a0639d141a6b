# SPDX-License-Identifier: Apache-2.0
"""What RCCL plans is told as data and as text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.instinct.bringup.plugins.module_utils.rccl_topology import build_topology, render_xml
from ansible_collections.instinct.bringup.plugins.plugin_utils.rccl_reader import Rejected
from ansible_collections.instinct.bringup.plugins.plugin_utils.topology.explain import (
    explain_topology,
    explanation_text,
)

Maker = Callable[..., dict[str, Any]]


@pytest.fixture
def quad(machine: Maker, nic: Maker) -> dict[str, Any]:
    return explain_topology(render_xml(build_topology(machine(nics=[nic()]), "2.13.4")), "2.13.4")


def test_every_pair_and_every_adapter_has_a_path(quad: dict[str, Any]) -> None:
    assert len(quad["paths"]) == 4 * 3 + 4
    assert {path["type"] for path in quad["paths"]} == {"XGMI", "PHB", "SYS"}


def test_links_carry_count_and_speed(quad: dict[str, Any]) -> None:
    assert len(quad["xgmi"]) == 12
    assert {(link["count"], link["gbs"]) for link in quad["xgmi"]} == {(1, 36.0)}


def test_text_is_a_matrix_with_the_bounds_below(quad: dict[str, Any]) -> None:
    lines = explanation_text(quad).splitlines()
    assert lines[0].split() == ["GPU0", "GPU1", "GPU2", "GPU3", "mlx5_0"]
    assert lines[1].split()[:4] == ["GPU0", "0000:23:00.0", "-", "XGMI"]
    assert "24 channels" in lines[-1]
    assert "328 to 392 MiB" in lines[-1]
    assert not any(line.endswith(" ") for line in lines)


def test_bounds_say_that_they_are_no_more(machine: Maker) -> None:
    snapshot = machine(hives=((0x23, 0x43, 0x83),))
    text = explain_topology(render_xml(build_topology(snapshot, "2.13.4")), "2.13.4")["summary"]
    assert "2 to 32 channels" in text
    assert "by rule" in text


def test_what_rccl_refuses_is_not_explained() -> None:
    with pytest.raises(Rejected):
        explain_topology("<?xml version='1.0'?>", "2.13.4")
