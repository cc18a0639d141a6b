# SPDX-License-Identifier: Apache-2.0
"""The filters do what they say in a template, and refuse with their own name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.instinct.bringup.plugins.filter import rccl_clean, rccl_explain
from ansible_collections.instinct.bringup.plugins.module_utils.rccl_topology import build_topology, render_xml

Maker = Callable[..., dict[str, Any]]


def test_explain_takes_the_limits_of_a_job(machine: Maker) -> None:
    text = render_xml(build_topology(machine(), "2.13.4"))
    explain = rccl_explain.FilterModule().filters()["rccl_explain"]
    assert explain(text, "2.13.4")["memory_mib"]["rings_and_trees"] == [328, 392]
    small = explain(text, "2.13.4", buffsize=1048576, max_nchannels=2)["memory_mib"]["rings_and_trees"]
    assert small == [12, 20]


def test_clean_takes_ranks_out() -> None:
    clean = rccl_clean.FilterModule().filters()["rccl_clean"]
    text = '<system version="2"><cpu numaid="0"><pci busid="1"><gpu dev="0"{}/></pci></cpu></system>'
    assert clean(text.format(' rank="0,0"')) == text.format("")


@pytest.mark.parametrize(
    ("function", "arguments"),
    [(rccl_clean.rccl_clean, ("<system>",)), (rccl_explain.rccl_explain, ("<system>", "2.13.4"))],
    ids=["clean", "explain"],
)
def test_text_that_rccl_refuses_fails_with_the_line(function: Callable[..., Any], arguments: tuple[str, ...]) -> None:
    with pytest.raises(AnsibleFilterError, match=r"rccl_(clean|explain): line 1: .* never closed"):
        function(*arguments)
