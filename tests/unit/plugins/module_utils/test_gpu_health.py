# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.instinct.bringup.plugins.module_utils.gpu_health import parse_ras, read_health
from ansible_collections.instinct.bringup.plugins.module_utils.pci_errors import read_aer
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

Plant = Callable[[dict[str, Any]], Tree]
BDF = "0000:63:00.0"


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("ue: 0\nce: 12\n", {"ue": 0, "ce": 12}),
        ("ue: 1\nce: 0\nde: 3\n", {"ue": 1, "ce": 0, "de": 3}),
        ("", None),
        ("Query failed\n", None),
        ("ce: 1\n", None),
    ],
    ids=["two", "with deferred", "empty", "words", "no uncorrected"],
)
def test_error_counters(text: str, counts: dict[str, int] | None) -> None:
    assert parse_ras(text) == counts


def test_a_driver_that_shows_nothing_is_no_problem(plant: Plant, gpu: Callable[..., Any]) -> None:
    files = {path: content for path, content in gpu().items() if "/ras/" not in path and "/hwmon/" not in path}
    tree = plant(files)
    seen = read_health(tree, BDF)
    assert (seen["ras"], seen["sensors"], seen["partition"]["compute"]) == (None, None, None)
    assert tree.problems() == []


def test_links_are_hexadecimal(plant: Plant, gpu: Callable[..., Any]) -> None:
    assert read_health(plant(gpu()), BDF)["xgmi_num_links"] == [0, 1, 1, 1]


def test_links_of_another_form_are_a_problem(plant: Plant, gpu: Callable[..., Any]) -> None:
    tree = plant(gpu(xgmi_num_links="00 zz\n"))
    assert read_health(tree, BDF)["xgmi_num_links"] is None
    assert len(tree.problems()) == 1


def test_bus_errors(plant: Plant, gpu: Callable[..., Any]) -> None:
    assert read_aer(plant(gpu()), BDF) == {"correctable": 2, "nonfatal": 0, "fatal": 0}


def test_bus_errors_that_are_not_kept_and_that_are_not_readable(plant: Plant, gpu: Callable[..., Any]) -> None:
    tree = plant(gpu(aer_dev_fatal="TOTAL_ERR_FATAL lots\n"))
    assert read_aer(tree, BDF) == {"correctable": 2, "nonfatal": 0, "fatal": None}
    assert tree.problems()[0]["path"].endswith("aer_dev_fatal")
    assert read_aer(tree, "0000:62:00.0") is None
