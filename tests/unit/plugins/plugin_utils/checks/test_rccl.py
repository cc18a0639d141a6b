# SPDX-License-Identifier: Apache-2.0
"""The check of rccl.py."""

from __future__ import annotations

from typing import Any

from support.rows import Row, each, not_held

from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.topology import TOPOLOGY_PATH

RENDERED = {"rccl_topology_mode": "always"}


def text(value: str | None) -> object:
    return lambda snapshot: snapshot["watch"][TOPOLOGY_PATH].update(text=value)


def replaced(old: str, new: str) -> object:
    def apply(snapshot: dict[str, dict[str, dict[str, str]]]) -> None:
        entry = snapshot["watch"][TOPOLOGY_PATH]
        assert old in entry["text"]
        entry["text"] = entry["text"].replace(old, new)

    return apply


def unread(snapshot: dict[str, Any]) -> None:
    snapshot["watch"][TOPOLOGY_PATH] = None
    snapshot["problems"].append({"area": "watch", "path": TOPOLOGY_PATH, "message": "Permission denied (EACCES)"})


def unbridged(snapshot: dict[str, Any]) -> None:
    for node in snapshot["kfd"]["nodes"]:
        node["io_links"] = [link for link in node["io_links"] if link["type"] != 11]


@each(
    {
        "of this machine": Row("ok", options=RENDERED),
        "of another machine": Row(
            "fail",
            "busid 0000:04:00.0 is not on this host",
            replaced("0000:03:00.0", "0000:04:00.0"),
            options=RENDERED,
        ),
        "of a machine with more GPUs": Row(
            "fail",
            "the file has 8 GPUs and this host 7",
            lambda snapshot: snapshot["pci"]["gpus"].pop(0),
            options=RENDERED,
        ),
        "a link that KFD does not list": Row(
            "fail",
            "KFD of this host has no such link",
            unbridged,
            options=RENDERED,
            observed="silently wrong",
        ),
        "not closed": Row("fail", "line 1: <system> is never closed", text('<system version="2">'), options=RENDERED),
        "with entities": Row("fail", "line 1", text('<!DOCTYPE x [<!ENTITY a "b">]><x/>'), options=RENDERED),
        "empty": Row("warn", "no system element", text(""), options=RENDERED),
        "an attribute that RCCL fills in": Row(
            "warn", "without gdr", replaced(' gdr="1"', ""), options=RENDERED, observed="incomplete"
        ),
        "too large to be kept": Row("unknown", "too large", text(None), options=RENDERED),
        "not rendered": Row("skipped", "is not there", options={"rccl_topology_mode": "never"}),
        "not looked at": Row("unknown", "EACCES", unread, options=RENDERED),
        "captured tree without files": Row("skipped", "does not hold", not_held("watch"), options=RENDERED),
    }
)
def test_rccl_topo_matches_host(row: Row) -> None:
    row.assert_holds("rccl.topo_matches_host")
