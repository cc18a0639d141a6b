# SPDX-License-Identifier: Apache-2.0
"""Machine descriptions and the changes to them."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from instinct_lab import settings
from instinct_lab.hardware import machine, overrides
from instinct_lab.hardware.machine import MachineError

GPU = "0000:43:00.0"
PEER = "0000:63:00.0"


@pytest.fixture
def eight() -> machine.Machine:
    return machine.load("mi210-8gpu-2hives")


@pytest.mark.parametrize("name", machine.names())
def test_every_machine_file_is_read(name: str) -> None:
    shape = machine.load(name)
    assert f"{len(shape.gpus)}gpu" in name
    assert all(gpu.id == "1002:740f" for gpu in shape.gpus)


def test_the_eight_gpu_machine_has_the_captured_order(eight: machine.Machine) -> None:
    assert [gpu.bdf[5:7] for gpu in eight.gpus] == ["63", "43", "03", "26", "e3", "c3", "83", "a3"]
    assert [gpu.numa_node for gpu in eight.gpus] == [0] * 4 + [1] * 4
    assert [gpu.hive for gpu in eight.gpus] == ["A"] * 4 + ["B"] * 4


def test_one_machine_has_a_faster_endpoint_than_its_slot() -> None:
    quad = machine.load("mi210-4gpu-quad")
    assert {(gpu.endpoint.speed, gpu.slot.speed) for gpu in quad.gpus} == {(32.0, 16.0)}


def test_an_unknown_machine_is_refused_with_the_known_ones() -> None:
    with pytest.raises(MachineError, match=r"unknown machine 'mi300': known are mi210-2gpu-pcie"):
        machine.load("mi300")


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("gpus", 0, "colour"), "red", "unknown key colour"),
        (("gpus", 1, "bdf"), PEER, "is used twice"),
        (("gpus", 0, "bdf"), "63:00", "is not a PCI address"),
        (("gpus", 0, "numa_node"), 7, "no NUMA node 7"),
        (("gpus", 0, "root_port"), "0000:99:01.1", "no root port at 0000:99:01.1"),
        (("gpus", 0, "slot"), {"speed": 17, "width": 16}, "no link of 17 GT/s"),
        (("numa", 0, "distances"), [10], "1 distances for 2 nodes"),
    ],
)
def test_a_description_that_does_not_fit_is_refused(
    tmp_path: Path, path: tuple[str, int, str], value: object, message: str
) -> None:
    raw = yaml.safe_load((settings.MACHINES_DIR / "mi210-8gpu-2hives.yml").read_text(encoding="utf-8"))
    raw[path[0]][path[1]][path[2]] = value
    file = tmp_path / "made.yml"
    file.write_text(yaml.safe_dump(raw), encoding="utf-8")
    with pytest.raises(MachineError, match=message):
        machine.parse("made", file)


def test_changes_are_applied_to_one_card(eight: machine.Machine) -> None:
    overrides.apply(
        eight,
        [
            f"gpus.{GPU}.slot_width=8",
            f"gpus.{GPU}.slot_speed=8.0",
            f"gpus.{GPU}.vbios=113-D67301-059",
            f"gpus.{GPU}.numa_node=-1",
            f"gpus.{GPU}.firmware.mec=0x47",
            f"gpus.{GPU}.aer_fatal=1",
        ],
    )
    changed = eight.gpu(GPU)
    assert (changed.slot.width, changed.slot.max_width, changed.slot.speed) == (8, 16, 8.0)
    assert (changed.vbios, changed.numa_node, changed.firmware["mec"], changed.aer_fatal) == (
        "113-D67301-059",
        -1,
        0x47,
        1,
    )
    other = eight.gpu(PEER)
    assert (other.slot.width, other.vbios, other.firmware["mec"]) == (16, "113-D67301-063", 92)


def test_a_card_can_be_gone_or_without_driver_or_bridge(eight: machine.Machine) -> None:
    overrides.apply(eight, [f"gpus.{GPU}.present=false", f"gpus.{PEER}.driver=none", "gpus.0000:03:00.0.hive=none"])
    assert len(eight.gpus) == 7
    assert not eight.gpu(PEER).driver
    assert eight.hive_id(eight.gpu("0000:03:00.0")) == 0


def test_a_numa_node_can_have_other_processors(eight: machine.Machine) -> None:
    overrides.apply(eight, ["numa.0.cpus=0", "numa.1.cpus=1-2,5"])
    assert [node.cpu_numbers() for node in eight.numa] == [[0], [1, 2, 5]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("gpus", "is not KEY=VALUE"),
        ("colour=red", r"unknown key 'colour': known are driver, .*gpus\.BDF\.FIELD"),
        ("gpus.0000:99:00.0.slot_width=8", "has no GPU at 0000:99:00.0: it has 0000:63:00.0"),
        (f"gpus.{GPU}.slot_width=7", "slot_width: '7' is not one of 1, 2, 4, 8, 16"),
        (f"gpus.{GPU}.slot_speed=fast", "slot_speed: 'fast' is not one of 2.5"),
        (f"gpus.{GPU}.colour=red", "known fields are"),
        (f"gpus.{GPU}.firmware.colour=1", "no such firmware; known are mec"),
        (f"gpus.{GPU}.firmware.mec=new", "'new' is not a whole number"),
        (f"gpus.{GPU}.numa_node=5", "no NUMA node 5"),
        (f"xgmi.{GPU}+0000:e3:00.0=missing", "not in one hive"),
        (f"xgmi.{GPU}+{PEER}=cut", "'cut' is not one of missing, routed"),
        ("nics.0000:99:00.0.state=DOWN", "has no NIC at 0000:99:00.0: it has 0000:21:00.0"),
        ("numa.7.cpus=0", "has 2 NUMA nodes, counted from 0"),
        ("numa.0.cpus=all", "'all' is no list of processors"),
        ("driver=maybe", "'maybe' is not one of none, loaded"),
    ],
)
def test_a_wrong_change_is_refused_with_the_reason(eight: machine.Machine, change: str, message: str) -> None:
    with pytest.raises(MachineError, match=message):
        overrides.apply(eight, [change])
