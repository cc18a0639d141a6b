# SPDX-License-Identifier: Apache-2.0
"""The check of rccl.py."""

from __future__ import annotations

import pytest
from support.rows import Row, each, not_held

from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.rccl import gpu_addresses
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.rccl import TOPOLOGY_PATH

RENDERED = {"rccl_topology_mode": "always"}


def text(value: str | None) -> object:
    return lambda snapshot: snapshot["watch"][TOPOLOGY_PATH].update(text=value)


def replaced(old: str, new: str) -> object:
    def apply(snapshot: dict[str, dict[str, dict[str, str]]]) -> None:
        entry = snapshot["watch"][TOPOLOGY_PATH]
        assert old in entry["text"]
        entry["text"] = entry["text"].replace(old, new)

    return apply


@each(
    {
        "of this machine": Row("ok", options=RENDERED),
        "of another machine": Row(
            "fail",
            "not on this machine: 0000:04:00.0; not in the file: 0000:03:00.0",
            replaced("0000:03:00.0", "0000:04:00.0"),
            options=RENDERED,
        ),
        "of a machine with more GPUs": Row(
            "fail",
            "not on this machine: 0000:03:00.0",
            lambda snapshot: snapshot["pci"]["gpus"].pop(0),
            options=RENDERED,
        ),
        "absent": Row(
            "fail",
            "not there",
            lambda snapshot: snapshot["watch"][TOPOLOGY_PATH].update(type="absent"),
            options=RENDERED,
        ),
        "no XML": Row("fail", "not XML", text("<system>"), options=RENDERED),
        "with entities": Row("fail", "document type", text('<!DOCTYPE x [<!ENTITY a "b">]><x/>'), options=RENDERED),
        "too large to be kept": Row("unknown", "too large", text(None), options=RENDERED),
        "not rendered": Row("skipped", "no topology file", options={"rccl_topology_mode": "never"}),
        "captured tree without files": Row("skipped", "does not hold", not_held("watch"), options=RENDERED),
    }
)
def test_rccl_topo_matches_host(row: Row) -> None:
    row.assert_holds("rccl.topo_matches_host")


def test_bus_ids_are_compared_without_case_and_other_devices_are_left_out() -> None:
    xml = '<system><pci busid="0000:E3:00.0"><gpu/></pci><pci busid="0000:05:00.0"><nic/></pci></system>'
    assert gpu_addresses(xml) == ["0000:e3:00.0"]


def test_text_that_is_no_xml_is_refused() -> None:
    with pytest.raises(ValueError, match="not XML"):
        gpu_addresses("<")
