# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.instinct.bringup.plugins.module_utils.kfd import NODE_ROOT, bdf_of, read_kfd
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

Plant = Callable[[dict[str, Any]], Tree]
XGMI = 11


def captured(captures: Path, tmp_path: Path, name: str) -> tuple[Tree, list[dict[str, Any]]]:
    with tarfile.open(captures / name) as archive:
        archive.extractall(tmp_path)
    tree = Tree(str(tmp_path))
    topology = read_kfd(tree)
    assert topology is not None
    return tree, topology["nodes"]


def test_a_captured_node_with_two_hives_of_mi210(captures: Path, tmp_path: Path) -> None:
    tree, nodes = captured(captures, tmp_path, "kfd-mi210-8gpu-2hives.tar.gz")
    assert [node["id"] for node in nodes] == list(range(10))
    assert [node["bdf"] for node in nodes] == [None, None] + [
        f"0000:{bus}:00.0" for bus in ("63", "43", "03", "26", "e3", "c3", "83", "a3")
    ]
    for node in nodes[2:]:
        assert node["properties"]["device_id"] == 0x740F
        peers = {link["node_to"] for link in node["io_links"] if link["type"] == XGMI}
        assert peers == set(range(2, 6) if node["id"] < 6 else range(6, 10)) - {node["id"]}
        assert len(node["p2p_links"]) == 5
    # The capture holds no names, ids and banks.
    assert {node["name"] for node in nodes} == {None}
    assert {node["mem_banks"] is None for node in nodes} == {True}
    assert {entry["path"].rpartition("/")[2] for entry in tree.problems()} == {"name", "gpu_id", "mem_banks"}


def test_a_captured_node_that_misses_one_partition(captures: Path, tmp_path: Path) -> None:
    _tree, nodes = captured(captures, tmp_path, "kfd-mi300x-8gpu-cpx.tar.gz")
    partitions = [node["bdf"] for node in nodes if node["bdf"] is not None]
    assert len(partitions) == len(set(partitions)) == 63
    assert {bdf[-1] for bdf in partitions if bdf.startswith("0000:e5")} == set("0123456")


def test_a_made_node(plant: Plant, kfd: Callable[[], Any]) -> None:
    tree = plant(kfd())
    topology = read_kfd(tree)
    assert topology is not None
    cpu, gpu = topology["nodes"]
    assert (cpu["name"], cpu["gpu_id"], cpu["bdf"]) == ("", 0, None)
    assert (gpu["name"], gpu["gpu_id"], gpu["bdf"]) == ("aldebaran", 34681, "0000:63:00.0")
    assert gpu["properties"]["hive_id"] == 2**64 - 1
    assert gpu["mem_banks"] == [{"heap_type": 1, "size_in_bytes": 68702699520}]
    # The driver of a CPU node here is older than p2p_links.
    assert (cpu["p2p_links"], gpu["p2p_links"]) == ([], [])
    assert tree.problems() == []


def test_no_kfd_is_none_and_says_so(plant: Plant) -> None:
    tree = plant({})
    assert read_kfd(tree) is None
    assert tree.problems()[0]["path"] == NODE_ROOT


def test_properties_that_cannot_be_read_are_none_not_empty(plant: Plant, kfd: Callable[[], Any]) -> None:
    tree = plant({**kfd(), f"{NODE_ROOT}/1/properties": b"\x00\xff"})
    topology = read_kfd(tree)
    assert topology is not None
    assert topology["nodes"][1]["properties"] is None
    assert topology["nodes"][1]["bdf"] is None


def test_an_odd_line_costs_only_itself(plant: Plant, kfd: Callable[[], Any]) -> None:
    tree = plant(
        {**kfd(), f"{NODE_ROOT}/1/properties": "simd_count 416\nlocation_id 25344\nhive_id 0x2\nname of three\n"}
    )
    topology = read_kfd(tree)
    assert topology is not None
    assert topology["nodes"][1]["properties"] == {"simd_count": 416, "location_id": 25344}
    assert [entry["message"][:6] for entry in tree.problems()] == ["line 3", "line 4"]


@pytest.mark.parametrize(
    ("properties", "bdf"),
    [
        pytest.param({"simd_count": 416, "location_id": 25344, "domain": 0}, "0000:63:00.0", id="plain"),
        pytest.param({"simd_count": 416, "location_id": 25344}, "0000:63:00.0", id="old driver without domain"),
        pytest.param({"simd_count": 4, "location_id": 0xE506, "domain": 1}, "0001:e5:00.6", id="partition in a domain"),
        pytest.param({"simd_count": 4, "location_id": 0x0AFF}, "0000:0a:1f.7", id="device bits"),
        pytest.param({"simd_count": 0, "location_id": 0}, None, id="CPU"),
        pytest.param({"simd_count": 416}, None, id="no location"),
        pytest.param({"simd_count": 416, "location_id": 1 << 40}, None, id="impossible location"),
    ],
)
def test_addresses(properties: dict[str, int], bdf: str | None) -> None:
    assert bdf_of(properties) == bdf
