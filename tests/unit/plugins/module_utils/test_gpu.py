# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.instinct.bringup.plugins.module_utils.gpu import parse_bars, read_gpus
from ansible_collections.instinct.bringup.plugins.module_utils.pci import PciBus
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

Plant = Callable[[dict[str, Any]], Tree]
GIB = 1 << 30
DRIVER_FILES = (
    "driver",
    "vbios_version",
    "mem_info_vram_total",
    "fw_version/mec_fw_version",
    "fw_version/ta_xgmi_fw_version",
    "xgmi_hive_info/xgmi_hive_id",
    "drm/card1/dev",
    "drm/renderD128/dev",
)


def gpus_of(tree: Tree) -> list[dict[str, Any]]:
    bus = PciBus(tree)
    return read_gpus(tree, bus, bus.addresses() or [])


def test_a_driven_card(plant: Plant, gpu: Callable[..., Any]) -> None:
    tree = plant(gpu())
    (card,) = gpus_of(tree)
    assert [port["bdf"] for port in card.pop("path")] == ["0000:62:00.0", "0000:61:00.0", "0000:60:01.1"]
    assert card.pop("link")["current_width"] == 16
    assert card == {
        "bdf": "0000:63:00.0",
        "vendor": "1002",
        "device": "740f",
        "subsystem_vendor": "1002",
        "subsystem_device": "0c34",
        "class": "038000",
        "revision": "02",
        "driver": "amdgpu",
        "numa_node": 0,
        "local_cpulist": "0-63",
        "bars": [{"index": 0, "start": 0x14000000000, "size": 64 * GIB}],
        "vbios": "113-D67301-059",
        "firmware": {"mec": "0x00000047", "ta_xgmi": "0x2000000d"},
        "vram_bytes": 68702699520,
        "hive_id": "0x2000000000000001",
        "render_minor": 128,
        "card": "card1",
        "atomics": {"routing": False, "completer_32": False, "completer_64": False, "requester": False},
        "aer": {"correctable": 2, "nonfatal": 0, "fatal": 0},
        "health": {
            "sensors": {
                "temperatures": {"edge": {"celsius": 33.0, "critical": 105.0}},
                "watts": 41.0,
                "cap_watts": 300.0,
            },
            "ras": {
                "features": "feature mask: 0x3fff",
                "blocks": {"umc": {"ue": 0, "ce": 3}},
                "bad_pages": 1,
            },
            "partition": {"compute": None, "memory": None},
            "xgmi_num_links": [0, 1, 1, 1],
            "replays": 0,
            "power_state": None,
            "performance_level": None,
            "sriov_vfs": None,
        },
    }
    assert tree.problems() == []


def test_a_card_without_driver_is_listed_and_what_the_driver_adds_is_none(
    plant: Plant, gpu: Callable[..., Any]
) -> None:
    tree = plant(gpu(**dict.fromkeys(DRIVER_FILES)))
    (card,) = gpus_of(tree)
    assert (card["driver"], card["vbios"], card["vram_bytes"], card["card"], card["render_minor"]) == (None,) * 5
    assert card["firmware"] == {}
    assert tree.problems() == []


def test_a_driven_card_without_the_drivers_files_says_so(plant: Plant, gpu: Callable[..., Any]) -> None:
    tree = plant(gpu(**dict.fromkeys(DRIVER_FILES[1:])))
    (card,) = gpus_of(tree)
    assert card["vbios"] is None
    assert [entry["path"].partition("63:00.0/")[2] for entry in tree.problems()] == [
        "mem_info_vram_total",
        "drm",
        "vbios_version",
        "fw_version",
    ]


@pytest.mark.parametrize(
    ("changes", "listed"),
    [
        pytest.param({"class": "0x120000\n"}, True, id="accelerator"),
        pytest.param({"class": "0x030000\n"}, True, id="integrated, driven by amdgpu"),
        pytest.param({"class": "0x030000\n", "driver": "-> ../../radeon"}, False, id="console chip of another driver"),
        pytest.param({"class": "0x030000\n", "driver": None}, False, id="console chip without driver"),
        pytest.param({"class": "0x038000\n", "driver": "-> ../../vfio-pci"}, True, id="passed through to a guest"),
        pytest.param({"class": "0x040300\n"}, False, id="sound function"),
        pytest.param({"class": "0x060400\n"}, False, id="bridge of AMD's"),
        pytest.param({"vendor": "0x10de\n"}, False, id="another vendor"),
        pytest.param({"class": "?\n"}, True, id="class that cannot be read"),
    ],
)
def test_which_functions_are_gpus(plant: Plant, gpu: Callable[..., Any], changes: dict[str, Any], listed: bool) -> None:
    assert len(gpus_of(plant(gpu(**changes)))) == listed


@pytest.mark.parametrize(
    ("text", "number"),
    [("2305843009213693953\n", "0x2000000000000001"), ("0\n", None), (None, None), ("odd\n", None)],
)
def test_hive_id_is_hexadecimal_and_none_outside_a_hive(
    plant: Plant, gpu: Callable[..., Any], text: str | None, number: str | None
) -> None:
    (card,) = gpus_of(plant(gpu(**{"xgmi_hive_info/xgmi_hive_id": text})))
    assert card["hive_id"] == number


ZERO = "0x0000000000000000 0x0000000000000000 0x0000000000000000"


@pytest.mark.parametrize(
    ("lines", "bars"),
    [
        pytest.param([ZERO], [(0, 0, 0)], id="BAR 0 not assigned"),
        pytest.param(
            ["0x00000000d0000000 0x00000000dfffffff 0x000000000014220c"], [(0, 0xD0000000, GIB // 4)], id="small BAR"
        ),
        pytest.param(
            ["0x0000000000000000 0x0000000fffffffff 0x000000002014220c"], [(0, 0, 0)], id="size without address"
        ),
        pytest.param(
            [ZERO, ZERO, "0x1000 0x10ff 0x40101", *[ZERO] * 4, "0x2000 0x2fff 0x1"],
            [(0, 0, 0), (2, 0x1000, 0x100)],
            id="only the first six lines are BARs",
        ),
    ],
)
def test_bars(lines: list[str], bars: list[tuple[int, int, int]]) -> None:
    assert [(bar["index"], bar["start"], bar["size"]) for bar in parse_bars("\n".join(lines))] == bars


def test_a_resource_that_is_no_numbers_is_none_and_a_problem(plant: Plant, gpu: Callable[..., Any]) -> None:
    tree = plant(gpu(resource="zero one two\n"))
    assert gpus_of(tree)[0]["bars"] is None
    assert tree.problems()[0]["message"] == "line 1 is not three numbers: 'zero one two'"
