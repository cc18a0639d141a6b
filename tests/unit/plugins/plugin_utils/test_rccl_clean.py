# SPDX-License-Identifier: Apache-2.0
"""A dump loses its ranks and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.instinct.bringup.plugins.plugin_utils.rccl_clean import clean_topology
from ansible_collections.instinct.bringup.plugins.plugin_utils.rccl_lint import lint_topology
from ansible_collections.instinct.bringup.plugins.plugin_utils.rccl_reader import Rejected


@pytest.mark.parametrize("rank", ['rank="0" ', 'rank="0,0" '])
def test_rank_is_taken_out_of_gpus(rank: str) -> None:
    text = '<system version="2"><!-- <gpu rank="1"/> --><cpu numaid="0" rank="9"><pci busid="1"><gpu dev="0" {}sm="90"/></pci></cpu></system>'
    assert clean_topology(text.format(rank)) == text.format("")


def test_what_rccl_refuses_is_not_touched() -> None:
    with pytest.raises(Rejected):
        clean_topology("<system>")


def test_real_dumps_are_right_once_cleaned(captures: Path) -> None:
    for path in sorted((captures / "rccl-topo").glob("*.xml")):
        cleaned = clean_topology(path.read_text(encoding="utf-8"))
        assert "rank=" not in cleaned
        assert not [found for found in lint_topology(cleaned, "2.13.4") if "rank" in found.message], path.name
