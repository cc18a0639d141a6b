# SPDX-License-Identifier: Apache-2.0
"""The check of xgmi.py: bridges by hive id and links, never by hops."""

from __future__ import annotations

from collections.abc import Callable

from support.machines import Json
from support.rows import Row, change, each, hole, not_held
from support.snapshots import node

from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.xgmi import hives

UNDECLARED = {"gpu_hive_size": None}


def without_bridge(*numbers: int) -> Callable[[Json], None]:
    """Take KFD nodes out of their hive: no hive id, no XGMI link from or to them."""

    def apply(snapshot: Json) -> None:
        for entry in snapshot["kfd"]["nodes"]:
            if entry["id"] in numbers:
                entry["properties"]["hive_id"] = 0
            entry["io_links"] = [
                link
                for link in entry["io_links"]
                if link["type"] != 11 or not {link["node_from"], link["node_to"]} & set(numbers)
            ]

    return apply


def without_links_of(number: int) -> Callable[[Json], None]:
    """Leave a node in its hive by id, but without the links that it should have."""

    def apply(snapshot: Json) -> None:
        entry = next(entry for entry in snapshot["kfd"]["nodes"] if entry["id"] == number)
        entry["io_links"] = [link for link in entry["io_links"] if link["type"] != 11]

    return apply


def old_driver(snapshot: Json) -> None:
    """Take what drivers did not write once: hive ids, and the node where a link begins."""
    for entry in snapshot["kfd"]["nodes"]:
        entry["properties"].pop("hive_id", None)
        for link in entry["io_links"]:
            link.pop("node_from")


@each(
    {
        "two hives of four": Row("ok", subject="0000:03:00.0, 0000:26:00.0, 0000:43:00.0, 0000:63:00.0"),
        "one quad": Row("ok", machine="mi210-4gpu-quad"),
        "no bridge, and declared": Row("ok", machine="mi210-2gpu-pcie", observed="1 card without a bridge"),
        "hives told by links alone": Row("ok", change=old_driver),
        "no bridge where one is wanted": Row(
            "fail", "1 of 2 cards", machine="mi210-2gpu-pcie", options={"gpu_hive_size": 2}, subject="0000:08:00.0"
        ),
        "one card not bridged": Row("fail", "3 of 4 cards are bridged", without_bridge(2)),
        "links missing inside a hive": Row(
            "fail", "no XGMI link between 0000:03:00.0 and 0000:63:00.0", without_links_of(2)
        ),
        "more bridged than declared": Row(
            "warn", "more cards", machine="mi210-4gpu-quad", options={"gpu_hive_size": 2}
        ),
        "undeclared and consistent": Row(
            "warn", "it is consistent", options=UNDECLARED, observed="hives: 2 x 4", required=False
        ),
        "undeclared, of two sizes": Row(
            "warn", "different sizes", without_bridge(2), options=UNDECLARED, observed="hives: 1 x 1, 1 x 3, 1 x 4"
        ),
        "undeclared, with a link missing": Row("warn", "no XGMI link", without_links_of(2), options=UNDECLARED),
        "no KFD": Row("unknown", "not loaded", change("kfd", None), required=True),
        "no KFD, undeclared": Row("unknown", change=change("kfd", None), options=UNDECLARED, required=False),
        "a node that cannot be read": Row(
            "unknown",
            "EPERM",
            hole("kfd/nodes/3/properties", "/sys/class/kfd/kfd/topology/nodes/3/properties", "EPERM"),
        ),
        "links that cannot be read": Row(
            "unknown", "EACCES", hole("kfd/nodes/3/io_links", "/sys/class/kfd/kfd/topology/nodes/3/io_links")
        ),
        "no GPU of the model": Row("skipped", "in KFD", change("kfd/nodes", [])),
        "captured tree without KFD": Row("skipped", "does not hold", not_held("kfd")),
    }
)
def test_xgmi_hive(row: Row) -> None:
    row.assert_holds("xgmi.hive")


def test_partitions_of_one_card_count_as_one() -> None:
    gpus = [entry for entry in node("mi210-2gpu-pcie").snapshot["kfd"]["nodes"] if entry["bdf"]]
    other = {**gpus[0], "id": 9, "bdf": "0000:08:00.1"}
    joined = {**gpus[0], "io_links": [{"type": 11, "node_from": gpus[0]["id"], "node_to": 9}]}
    assert [[entry["bdf"] for entry in group] for group in hives([joined, other, gpus[1]])] == [
        ["0000:08:00.0", "0000:08:00.1"],
        ["0000:88:00.0"],
    ]
