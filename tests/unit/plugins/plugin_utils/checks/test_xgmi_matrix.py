# SPDX-License-Identifier: Apache-2.0
"""xgmi.matrix_expected and the mesh that it compares with. CASES H-03, R-05."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

import pytest
from support.machines import Json, kfd_node
from support.rows import Row, change, each, not_held
from support.snapshots import node

from ansible_collections.instinct.bringup.plugins.plugin_utils.catalog import default_catalog
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.mesh import best_fit, full_mesh

MI250: list[tuple[int, int]] = [(one, other) for one, other in default_catalog().gpu("mi250")["xgmi"]["edges"][8]]

MI250X: list[tuple[int, int]] = [(one, other) for one, other in default_catalog().gpu("mi250x")["xgmi"]["edges"][8]]


def unlinked(one: int, other: int, both: bool = True) -> Any:
    """Take the XGMI link between two KFD nodes away, or only its way there."""

    def apply(snapshot: Json) -> None:
        for node_, peer in [(one, other), (other, one)][: 2 if both else 1]:
            links = snapshot["kfd"]["nodes"][node_]["io_links"]
            links[:] = [link for link in links if link["type"] != 11 or link["node_to"] != peer]

    return apply


def routed(one: int, other: int) -> Any:
    def apply(snapshot: Json) -> None:
        for node_, peer in [(one, other), (other, one)]:
            for link in snapshot["kfd"]["nodes"][node_]["io_links"]:
                if link["type"] == 11 and link["node_to"] == peer:
                    link.update(weight=30, max_bandwidth=0)

    return apply


@each(
    {
        "whole": Row("ok", observed="6 linked pairs"),
        "a pair is missing": Row("fail", "no direct XGMI link between", unlinked(2, 3), observed="5 linked pairs"),
        "H-03, reached through another card": Row("fail", "no direct XGMI link", routed(2, 3)),
        "one way only": Row("fail", "one way", unlinked(2, 3, both=False)),
        "no bridge": Row("skipped", "no two cards", machine="mi210-2gpu-pcie"),
        "no KFD": Row("unknown", "not loaded", change("kfd", None)),
        "a node that cannot be read": Row("unknown", "not hold", change("kfd/nodes/3/properties", None)),
        "captured tree without KFD": Row("skipped", "does not hold", not_held("kfd")),
    }
)
def test_matrix_expected(row: Row) -> None:
    row.assert_holds("xgmi.matrix_expected")


def board(edges: list[tuple[int, int]], order: list[int], device: int = 0x740C) -> Json:
    """Return KFD nodes of GCDs with these links, the board's GCD n being the card order[n]."""
    place = {gcd: card for card, gcd in enumerate(order)}
    peers: dict[int, list[int]] = {card: [] for card in range(len(order))}
    for one, other in edges:
        peers[place[one]].append(place[other])
        peers[place[other]].append(place[one])
    nodes = [kfd_node(1 + card, 0x20 + card, 0, [1 + peer for peer in peers[card]], 0x20) for card in peers]
    for entry in nodes:
        entry["properties"]["device_id"] = device
    cpu = {"id": 0, "properties": {"cpu_cores_count": 64}, "io_links": [], "bdf": None}
    return {"nodes": [cpu, *nodes]}


def judge(kfd: Json) -> Any:
    made = node(change=change("kfd", kfd), gpu_model="mi250", gpu_count=8, gpu_hive_size=None)
    return made.check("xgmi.matrix_expected")[0], made.check("xgmi.hive")[0]


@pytest.mark.parametrize("seed", range(4))
def test_a_partial_mesh_is_whole_in_whatever_order_the_cards_come(seed: int) -> None:
    order = list(range(8))
    random.Random(seed).shuffle(order)
    matrix, hive = judge(board(MI250, order))
    assert (matrix.outcome, matrix.observed) == ("ok", "12 linked pairs")
    assert hive.outcome == "ok"


def test_h03_a_link_of_a_partial_mesh_that_is_gone_is_named() -> None:
    matrix, hive = judge(board([edge for edge in MI250 if edge != (2, 4)], list(range(8))))
    assert matrix.outcome == "fail"
    assert matrix.reason == "no direct XGMI link between 0000:22:00.0 and 0000:24:00.0"
    # Every card still is in the hive.
    assert hive.outcome == "ok"


def test_a_full_mesh_where_a_partial_one_is_made_is_told() -> None:
    assert judge(board(full_mesh(8), list(range(8))))[0].outcome == "warn"


def test_a_board_of_another_size_is_judged_for_lonely_cards_only() -> None:
    matrix, _hive = judge(board(full_mesh(4), list(range(4))))
    assert (matrix.outcome, "knows no mesh of 4" in matrix.reason) == ("warn", True)


# Made: two boards of the file's mesh, linked with each other. No source shows how 16 GCDs are really wired.
MI250X_16 = [
    *MI250X,
    *((one + 8, other + 8) for one, other in MI250X),
    *((card, card + 8) for card in range(8)),
]


def judge_16(edges: list[tuple[int, int]]) -> Any:
    kfd = board(edges, list(range(16)), device=0x7408)
    made = node(change=change("kfd", kfd), gpu_model="mi250x", gpu_count=16, gpu_hive_size=None)
    return made.check("xgmi.matrix_expected")[0]


def test_sixteen_gcds_of_which_no_mesh_is_known_are_no_fault_and_no_ok() -> None:
    matrix = judge_16(MI250X_16)
    assert (matrix.outcome, matrix.observed) == ("warn", "32 linked pairs")
    assert "knows no mesh of 16 GPUs" in matrix.reason


def test_of_sixteen_gcds_one_without_any_link_is_named() -> None:
    matrix = judge_16([edge for edge in MI250X_16 if 13 not in edge])
    assert (matrix.outcome, matrix.observed) == ("fail", "0000:2d:00.0 without a link")


@pytest.mark.parametrize("size", [2, 4, 8, 63])
def test_a_full_mesh_has_one_way_to_lie(size: int) -> None:
    mesh = full_mesh(size)
    assert best_fit(mesh, set(mesh), size) == ([], [])
    assert best_fit(mesh, set(mesh[1:]), size) == ([(0, 1)], [])


def test_the_captured_boards_have_the_mesh_of_the_catalog(captures: Path) -> None:
    rows = [
        [int(field, 16) for field in line.split()]
        for line in (captures / "sysfs/xgmi_num_links-mi250-8gcd.txt").read_text().splitlines()
        if line[:2] not in ("$ ", "")
    ]
    seen = {(one, other) for one, other in itertools.combinations(range(8), 2) if rows[one][other]}
    assert best_fit(MI250, seen, 8) == ([], [])
