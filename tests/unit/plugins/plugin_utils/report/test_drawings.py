# SPDX-License-Identifier: Apache-2.0
"""A report draws the nodes of which its run has a snapshot, and is made without the others."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.snapshots import node

from ansible_collections.instinct.bringup.plugins.plugin_utils.report.drawings import drawings_of
from ansible_collections.instinct.bringup.plugins.plugin_utils.report.run_folder import (
    create_run_folder,
    write_snapshot,
)


def test_node_with_a_snapshot_is_drawn(tmp_path: Path) -> None:
    folder = create_run_folder(tmp_path, ["gpu01", "gpu02"], verb="verify", rocm_release="5.4.2")
    write_snapshot(folder.path, "gpu01", node().snapshot)
    drawings = drawings_of(folder, ["gpu01", "gpu02"])
    assert list(drawings) == ["gpu01"]
    assert drawings["gpu01"].svg.startswith("<svg")
    assert "XGMI 36" in drawings["gpu01"].text


@pytest.mark.parametrize("snapshot", [{"kfd": None}, {}, {"kfd": 3}, {"kfd": {"nodes": [{}]}}])
def test_damaged_snapshot_costs_the_drawing_only(tmp_path: Path, snapshot: dict[str, object]) -> None:
    folder = create_run_folder(tmp_path, ["gpu01"], verb="verify", rocm_release="5.4.2")
    write_snapshot(folder.path, "gpu01", snapshot)
    assert drawings_of(folder, ["gpu01"]) == {}


def test_release_that_nobody_knows_draws_nothing(tmp_path: Path) -> None:
    folder = create_run_folder(tmp_path, ["gpu01"], verb="verify", rocm_release="")
    assert drawings_of(folder, ["gpu01"]) == {}
