# SPDX-License-Identifier: Apache-2.0
"""The made /sys tree: PCI files, configuration space, and how a tree is laid on a disk."""

from __future__ import annotations

import os
import re
import struct
from pathlib import Path

import pytest

from instinct_lab.hardware import build, config_space, machine, overrides, pci
from instinct_lab.hardware.tree import Tree, sync

GPU = "0000:43:00.0"


def function(shape: machine.Machine, bdf: str) -> pci.PciDevice:
    (found,) = [device for device in pci.enumerate_devices(shape) if device.bdf == bdf]
    return found


def link_status(shape: machine.Machine, bdf: str) -> tuple[int, int]:
    """Walk the capability list as a reader would; return (speed code, width) of the link's status."""
    space = config_space.build(function(shape, bdf), acs=False)
    at = space[0x34]
    while space[at] != 0x10:
        at = space[at + 1]
    (status,) = struct.unpack_from("<H", space, at + 0x12)
    return status & 0xF, status >> 4 & 0x3F


def test_a_card_hangs_below_its_own_two_ports(tmp_path: Path) -> None:
    build.write_offline(machine.load("mi210-8gpu-2hives"), tmp_path)
    real = os.path.realpath(tmp_path / "sys/bus/pci/devices" / GPU)
    assert real.endswith("sys/devices/pci0000:40/0000:40:01.1/0000:41:00.0/0000:42:00.0/0000:43:00.0")
    assert (tmp_path / "sys/class/drm/card2/device/vendor").read_text() == "0x1002\n"
    assert os.path.realpath(tmp_path / "sys/class/drm/card2/device") == real


@pytest.mark.parametrize("name", machine.names())
def test_no_link_leads_nowhere(tmp_path: Path, name: str) -> None:
    build.write_offline(machine.load(name), tmp_path)
    broken = [
        os.path.join(folder, entry)
        for folder, folders, files in os.walk(tmp_path)
        for entry in (*folders, *files)
        if not os.path.exists(os.path.join(folder, entry))
    ]
    assert broken == []


def test_the_offline_tree_has_the_proc_files_that_readers_want(tmp_path: Path) -> None:
    shape = overrides.apply(machine.load("mi210-2gpu-pcie"), ["driver_version=5.18.13", "cmdline=ro iommu=pt"])
    build.write_offline(shape, tmp_path)
    assert (tmp_path / "proc/sys/kernel/osrelease").read_text() == "5.15.0-91-generic\n"
    assert (tmp_path / "proc/cmdline").read_text().endswith("ro iommu=pt\n")
    assert (tmp_path / "sys/module/amdgpu/version").read_text() == "5.18.13\n"
    assert (tmp_path / "sys/kernel/iommu_groups/0/type").read_text() == "identity\n"


def test_a_narrow_slot_changes_the_two_ends_of_the_slot_only() -> None:
    whole = build.build_sys(machine.load("mi210-8gpu-2hives"))
    narrow = build.build_sys(overrides.apply(machine.load("mi210-8gpu-2hives"), [f"gpus.{GPU}.slot_width=8"]))
    root = "sys/devices/pci0000:40/0000:40:01.1"
    changed = {path for path, content in whole.files.items() if narrow.files[path] != content}
    assert changed == {
        f"{root}/current_link_width",
        f"{root}/config",
        f"{root}/0000:41:00.0/current_link_width",
        f"{root}/0000:41:00.0/config",
    }
    assert narrow.read(f"{root}/0000:41:00.0/current_link_width") == "8"
    assert narrow.read(f"{root}/0000:41:00.0/max_link_width") == "16"


def test_the_configuration_space_says_what_the_text_files_say() -> None:
    quad = machine.load("mi210-4gpu-quad")
    assert link_status(quad, "0000:23:00.0") == (5, 16)
    assert link_status(quad, "0000:21:00.0") == (4, 16)
    eight = overrides.apply(machine.load("mi210-8gpu-2hives"), [f"gpus.{GPU}.slot_width=8"])
    assert link_status(eight, "0000:41:00.0") == (4, 8)
    assert link_status(eight, GPU) == (4, 16)


def test_a_bridge_knows_its_buses_and_windows() -> None:
    space = config_space.build(function(machine.load("mi210-8gpu-2hives"), "0000:41:00.0"), acs=False)
    assert space[0x0E] == 1
    assert tuple(space[0x18:0x1B]) == (0x41, 0x42, 0x43)
    base, limit = struct.unpack_from("<HH", space, 0x20)
    assert base <= limit


def test_sync_changes_only_what_differs(tmp_path: Path) -> None:
    tree = Tree()
    tree.text("a/same", 1)
    tree.text("a/other", 1)
    tree.text("b/gone", 1)
    tree.link("c/link", "a/same")
    sync(tree, tmp_path)
    inode = (tmp_path / "a/same").stat().st_ino
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/mounted").write_text("x")
    (tmp_path / "a/written").write_text("by the node\n")

    after = Tree()
    after.text("a/same", 1)
    after.text("a/other", 2)
    after.link("c/link", "a/other")
    after.folder("empty")
    sync(after, tmp_path, keep=frozenset({"kept"}), live=re.compile("a/written"))
    assert (tmp_path / "a/same").stat().st_ino == inode
    assert (tmp_path / "a/other").read_text() == "2\n"
    assert not (tmp_path / "b").exists()
    assert (tmp_path / "c/link").read_text() == "2\n"
    assert (tmp_path / "empty").is_dir()
    assert (tmp_path / "kept/mounted").exists()
    assert (tmp_path / "a/written").read_text() == "by the node\n"
