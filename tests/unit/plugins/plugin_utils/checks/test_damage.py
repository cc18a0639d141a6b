# SPDX-License-Identifier: Apache-2.0
"""Whatever is wrong with a file, the check that goes by it does not say ok, and no check breaks."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.snapshots import node

from ansible_collections.instinct.bringup.plugins.module_utils.snapshot import Request, build_snapshot
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks import CheckContext, CheckResult, run_checks
from instinct_lab.hardware import build, machine, overrides

Damage = Callable[[Path], None]
GARBAGE = [
    b"",
    b"\n",
    b"\x00\xff\xfe\x80" * 8,
    b"9" * 5000,
    b"= : [ ] ( \" ' \\ \n" * 3,
    b"no number\n",
    b"-7\n",
    "\u0663\n".encode(),
]
MACHINE = "mi210-4gpu-quad"


def into(content: bytes) -> Damage:
    def damage(place: Path) -> None:
        place.unlink()
        place.write_bytes(content)

    return damage


def folder(place: Path) -> None:
    place.unlink()
    place.mkdir()


def pipe(place: Path) -> None:
    place.unlink()
    os.mkfifo(place)


DAMAGES: list[Damage] = [*(into(content) for content in GARBAGE), Path.unlink, folder, pipe]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("damage") / "root"
    wanted = overrides.apply(machine.load(MACHINE), ["cmdline=ro iommu=pt", "driver_version=5.18.13"])
    build.write_offline(wanted, root)
    return root


def judge(root: Path) -> list[CheckResult]:
    made = node(MACHINE)
    snapshot = build_snapshot(str(root), Request(), None)
    assert [entry for entry in snapshot["problems"] if "reader broke" in entry["message"]] == []
    return run_checks(CheckContext(made.profile, made.context().catalog, snapshot, {}))


@pytest.fixture(scope="module")
def healthy(tree: Path) -> dict[str, list[CheckResult]]:
    """Return the results that are ok by the file that they go by."""
    found: dict[str, list[CheckResult]] = {}
    for result in judge(tree):
        place = tree / result.evidence.lstrip("/")
        if result.outcome == "ok" and result.evidence.startswith("/") and place.is_file():
            found.setdefault(result.evidence, []).append(result)
    return found


def test_the_undamaged_tree_has_much_that_is_ok(healthy: dict[str, list[CheckResult]]) -> None:
    ids = {result.id for results in healthy.values() for result in results}
    assert {"pcie.link_width", "pcie.link_speed", "pcie.bar_assigned", "boot.iommu_pt", "fw.vbios_uniform"} <= ids
    assert {"pcie.acs_redirect", "pcie.atomics", "pcie.aer_fatal", "driver.version_loaded"} <= ids


@settings(max_examples=60)
@given(data=st.data())
def test_no_damaged_value_ends_as_ok(tree: Path, healthy: dict[str, list[CheckResult]], data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(sorted(healthy)))
    damage = data.draw(st.sampled_from(DAMAGES))
    # sysfs names lead through links: the file itself is what is damaged and put back.
    place = (tree / path.lstrip("/")).resolve()
    before = place.read_bytes()
    try:
        damage(place)
        results = judge(tree)
    finally:
        repair(place, before)
    went_by = {(result.id, result.subject) for result in healthy[path]}
    wrong = [
        result
        for result in results
        if (result.id, result.subject) in went_by and result.outcome == "ok" and result.evidence == path
    ]
    assert wrong == []
    assert [result for result in results if "could not judge this snapshot" in result.reason] == []


def repair(place: Path, content: bytes) -> None:
    if place.is_dir():
        shutil.rmtree(place)
    elif os.path.lexists(place):
        place.unlink()
    place.write_bytes(content)


def changed(root: Path, name: str, change: Callable[[Path], Any], tmp_path: Path) -> dict[str, str]:
    copy = tmp_path / name
    shutil.copytree(root, copy, symlinks=True)
    change(copy)
    return {result.id: result.outcome for result in judge(copy) if result.outcome != "skipped"}


def test_gpus_on_pci_and_none_in_kfd(tree: Path, tmp_path: Path) -> None:
    found = changed(tree, "no-kfd", lambda root: shutil.rmtree(root / "sys/class/kfd"), tmp_path)
    assert found["gpu.count"] == "fail"
    assert found["xgmi.hive"] == found["xgmi.matrix_expected"] == "unknown"


def test_a_tree_of_another_architecture_is_read_all_the_same(tree: Path, tmp_path: Path) -> None:
    def change(root: Path) -> None:
        (root / "proc/cpuinfo").write_text("processor\t: 0\nBogoMIPS\t: 50.00\nCPU implementer\t: 0x41\n")
        (root / "bin").mkdir()
        (root / "bin/sh").write_bytes(b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x03\x00\xb7\x00")

    found = changed(tree, "arm", change, tmp_path)
    assert found["gpu.count"] == "ok"
    assert found["pcie.link_width"] == "ok"
