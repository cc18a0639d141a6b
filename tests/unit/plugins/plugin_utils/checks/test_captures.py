# SPDX-License-Identifier: Apache-2.0
"""What the checks make of KFD topologies that were captured on real machines."""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import Any

from support.snapshots import node

from ansible_collections.instinct.bringup.plugins.module_utils.snapshot import Request, build_snapshot
from ansible_collections.instinct.bringup.plugins.plugin_utils.catalog import default_catalog
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks import CheckContext, run_checks, verdict


def captured(archive: Path, root: Path, links: bool = True) -> dict[str, Any]:
    """Return the snapshot of a captured tree; 63 partitions have 4,000 links, a second's reading."""
    with tarfile.open(archive) as tar:
        tar.extractall(root, [member for member in tar.getmembers() if links or "_links" not in member.name])
    return build_snapshot(str(root), Request(), None)


def judge(archive: Path, root: Path, **options: Any) -> tuple[str, dict[str, str]]:
    """Return the verdict on a captured tree of MI210 cards, and the outcome of each check that applied."""
    made = node(**options)
    results = run_checks(CheckContext(made.profile, made.context().catalog, captured(archive, root), {}))
    judged = {result.id: result.outcome for result in results if result.outcome != "skipped"}
    return verdict(results), judged


def test_mi210_with_two_hives_of_four_passes(captures: Path, tmp_path: Path) -> None:
    archive = captures / "kfd-mi210-8gpu-2hives.tar.gz"
    assert judge(archive, tmp_path, gpu_count=8, gpu_hive_size=4) == (
        "pass",
        {"gpu.count": "ok", "xgmi.hive": "ok", "xgmi.matrix_expected": "ok"},
    )


def test_mi210_of_which_more_was_declared_fails(captures: Path, tmp_path: Path) -> None:
    archive = captures / "kfd-mi210-8gpu-2hives.tar.gz"
    outcome, judged = judge(archive, tmp_path, gpu_count=9, gpu_hive_size=8)
    assert (outcome, judged) == (
        "fail",
        {"gpu.count": "fail", "xgmi.hive": "fail", "xgmi.matrix_expected": "ok"},
    )


def test_mi210_of_which_no_wiring_was_declared_is_warned_of(captures: Path, tmp_path: Path) -> None:
    archive = captures / "kfd-mi210-8gpu-2hives.tar.gz"
    outcome, judged = judge(archive, tmp_path, gpu_count=8, gpu_hive_size=None)
    assert (outcome, judged["xgmi.hive"]) == ("pass", "warn")


def test_mi300x_with_63_of_64_partitions_fails(captures: Path, tmp_path: Path) -> None:
    snapshot = captured(captures / "kfd-mi300x-8gpu-cpx.tar.gz", tmp_path / "tree", links=False)
    profile = {"gpu_model": "mi300x", "gpu_count": 8}
    (result,) = run_checks(CheckContext(profile, default_catalog(), snapshot, {}), only={"gpu.count"})
    assert (result.outcome, result.observed) == ("fail", "63 of 64 partitions")
