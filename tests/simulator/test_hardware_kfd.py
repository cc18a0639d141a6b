# SPDX-License-Identifier: Apache-2.0
"""The made KFD topology against the rules and, where it is at hand, against the captured machine."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from instinct_lab import settings
from instinct_lab.hardware import build, kfd, machine, overrides

CAPTURE = settings.REPOSITORY.parent / "shared" / "captures" / "kfd-mi210-8gpu-2hives.tar.gz"


def connection(shape: machine.Machine, one: int, other: int) -> kfd.Connection:
    (found,) = [link for link in kfd.connections(shape) if (link.node_from, link.node_to) == (one, other)]
    return found


@pytest.mark.skipif(not CAPTURE.exists(), reason="the captures are not at hand")
def test_every_table_is_that_of_the_captured_machine(tmp_path: Path) -> None:
    tree = build.build_sys(machine.load("mi210-8gpu-2hives"))
    compared = 0
    with tarfile.open(CAPTURE) as archive:
        for member in archive.getmembers():
            if member.isfile() and member.name.endswith("/properties"):
                content = archive.extractfile(member)
                assert content is not None
                path = member.name.split("topology/", 1)[1]
                assert tree.files[f"{kfd.ROOT}/{path}"].decode().split() == content.read().decode().split(), path
                compared += 1
    assert compared == 100


def test_cards_of_one_hive_are_linked_and_others_go_over_pcie() -> None:
    shape = machine.load("mi210-8gpu-2hives")
    near, far = connection(shape, 2, 3), connection(shape, 2, 6)
    assert (near.type, near.weight, near.max_bandwidth, near.direct) == (kfd.XGMI, 15, 50000, True)
    assert (far.type, far.weight, far.max_bandwidth, far.direct) == (kfd.PCIE, 72, 0, False)
    assert connection(shape, 0, 2).weight == 20
    assert connection(shape, 0, 6).weight == 52


def test_cards_without_a_bridge_on_one_node_have_weight_40() -> None:
    link = connection(machine.load("mi210-2gpu-pcie"), 2, 3)
    assert (link.type, link.weight, link.direct) == (kfd.PCIE, 40, False)


@pytest.mark.parametrize(("value", "weight", "kind"), [("missing", 40, kfd.PCIE), ("routed", 30, kfd.XGMI)])
def test_a_broken_bridge_link_changes_one_pair(value: str, weight: int, kind: int) -> None:
    shape = overrides.apply(machine.load("mi210-8gpu-2hives"), [f"xgmi.0000:63:00.0+0000:43:00.0={value}"])
    for ends in ((2, 3), (3, 2)):
        link = connection(shape, *ends)
        assert (link.type, link.weight, link.max_bandwidth) == (kind, weight, 0)
    assert connection(shape, 2, 4).weight == 15


def test_old_drivers_leave_keys_out() -> None:
    tree = build.build_sys(machine.load("mi210-4gpu-quad"))
    table = tree.read(f"{kfd.ROOT}/nodes/1/properties")
    assert "num_xcc" not in table
    assert "hive_id 2305843009213693953" in table


def test_without_the_driver_there_is_no_kfd() -> None:
    tree = build.build_sys(overrides.apply(machine.load("mi210-8gpu-2hives"), ["driver=none"]))
    assert not [path for path in (*tree.files, *tree.links) if "kfd" in path or "module/amdgpu" in path]


def test_a_card_without_driver_is_missing_from_kfd_only() -> None:
    shape = overrides.apply(machine.load("mi210-8gpu-2hives"), ["gpus.0000:43:00.0.driver=none"])
    tree = build.build_sys(shape)
    assert len([path for path in tree.files if path.endswith("/gpu_id")]) == 2 + 7
    assert "sys/bus/pci/devices/0000:43:00.0" in tree.links
