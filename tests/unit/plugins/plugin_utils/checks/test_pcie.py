# SPDX-License-Identifier: Apache-2.0
"""The checks of pcie.py: the slot, not the link inside the card, and the hops above it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.machines import Json, link, port
from support.rows import Row, change, changes, each, hole, not_held
from support.snapshots import node

from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.pcie import gigatransfers, hops_above_card

# gpus/4 is 0000:83:00.0: its card's own ports are 82 and 81, its root port 80:01.1.
SLOT = "/sys/bus/pci/devices/0000:81:00.0/current_link_width"
SPEED = "/sys/bus/pci/devices/0000:81:00.0/current_link_speed"


def slot(**readings: object) -> Callable[[Json], None]:
    """Change what both ends of the slot of 0000:83:00.0 report."""

    def apply(snapshot: Json) -> None:
        for end in snapshot["pci"]["gpus"][4]["path"][1:]:
            end["link"].update(readings)

    return apply


def with_switch(uplink: Json) -> Callable[[Json], None]:
    """Put a switch of the platform between the slot and the root port of 0000:83:00.0."""

    def apply(snapshot: Json) -> None:
        path = snapshot["pci"]["gpus"][4]["path"]
        upstream = {**port("0000:7a:00.0", "1000:c030", "switch_upstream"), "link": uplink}
        path[2:2] = [port("0000:7b:10.0", "1000:c030", "switch_downstream"), upstream]

    return apply


def no_card_ports(snapshot: Json) -> None:
    """Make a card without a switch of its own, in a narrow slot."""
    card = snapshot["pci"]["gpus"][4]
    card.update(path=card["path"][2:], link=link(width=4))


@each(
    {
        "full width": Row("ok", observed="x16", evidence="/sys/bus/pci/devices/0000:01:00.0/current_link_width"),
        "slot at x8": Row(
            "fail",
            "0000:83:00.0 has x8 where x16 is expected, read from " + SLOT,
            slot(current_width=8),
            subject="0000:83:00.0",
            expected="x16",
            observed="x8",
            evidence=SLOT,
        ),
        "slot wired for x8": Row("fail", "can do no more than x8", slot(current_width=8, max_width=8)),
        "slot wired for x8, and declared": Row(
            "ok", change=slot(current_width=8, max_width=8), options={"pcie_expected_width": 8}
        ),
        "only the root port's end says x8": Row(
            "fail",
            "above the card's own port",
            change("pci/gpus/4/path/2/link/current_width", 8),
            evidence="/sys/bus/pci/devices/0000:80:01.1/current_link_width",
        ),
        "narrow hop above a switch of the platform": Row(
            "fail",
            "above the card's own port",
            with_switch(link(width=4)),
            observed="x4",
            evidence="/sys/bus/pci/devices/0000:7a:00.0/current_link_width",
        ),
        "wide hop above a switch": Row("ok", change=with_switch(link())),
        "the link inside the card does not count": Row("ok", change=change("pci/gpus/4/link/current_width", 1)),
        "card without a switch of its own": Row(
            "fail", change=no_card_ports, evidence="/sys/bus/pci/devices/0000:83:00.0/current_link_width"
        ),
        "not readable": Row(
            "unknown", "ENOENT", changes(slot(current_width=None), hole("pci/gpus/4/path/1/link", SLOT, "ENOENT")),
            subject="0000:83:00.0", evidence=SLOT,
        ),
        "a port that reports no lanes": Row("unknown", "reports x0", slot(current_width=0), evidence=SLOT),
        "no GPU": Row("skipped", "no AMD Instinct MI210", change("pci/gpus", [])),
        "captured tree without PCI": Row("skipped", "does not hold", not_held("pci")),
    }
)  # fmt: skip
def test_pcie_link_width(row: Row) -> None:
    row.assert_holds("pcie.link_width")


@each(
    {
        "full speed": Row("ok", observed="16.0 GT/s"),
        "slow while idle": Row(
            "unknown",
            "until tried under load",
            slot(current_speed="2.5 GT/s PCIe"),
            subject="0000:83:00.0",
            expected="16.0 GT/s",
            observed="2.5 GT/s",
            evidence=SPEED,
            required=True,
        ),
        "a port that can do no better": Row(
            "fail",
            "can do no more than 8.0 GT/s",
            slot(current_speed="8.0 GT/s PCIe", max_speed="8.0 GT/s PCIe"),
            evidence="/sys/bus/pci/devices/0000:81:00.0/max_link_speed",
        ),
        "a platform that can do no better, and declared": Row(
            "ok",
            change=slot(current_speed="8 GT/s", max_speed="8 GT/s"),
            options={"pcie_expected_speed": "8.0 GT/s"},
        ),
        "the kernel does not know": Row("unknown", change=slot(current_speed="Unknown", max_speed="Unknown")),
        "not readable": Row("unknown", "EACCES", changes(
            slot(current_speed=None, max_speed=None), hole("pci/gpus/4/path/1/link", SPEED))),
        "a profile that is no speed": Row("unknown", "is not of the form", options={"pcie_expected_speed": "Gen4"}),
        "no GPU": Row("skipped", "no AMD Instinct MI210", change("pci/gpus", [])),
        "captured tree without PCI": Row("skipped", "does not hold", not_held("pci")),
    }
)  # fmt: skip
def test_pcie_link_speed(row: Row) -> None:
    row.assert_holds("pcie.link_speed")


@pytest.mark.parametrize(
    ("text", "speed"),
    [("16.0 GT/s PCIe", 16.0), ("16 GT/s", 16.0), ("2.5GT/s", 2.5), ("Unknown", None), ("", None), (None, None)],
)
def test_speed_is_read_with_and_without_its_point(text: object, speed: float | None) -> None:
    assert gigatransfers(text) == speed


def test_hops_begin_at_the_slot_and_pair_both_ends_of_a_link() -> None:
    gpu = node(change=with_switch(link())).snapshot["pci"]["gpus"][4]
    hops = hops_above_card(gpu, ["1022:14c7", "1002:14c8"])
    assert [[end["bdf"] for end in hop.ends] for hop in hops] == [
        ["0000:81:00.0", "0000:7b:10.0"],
        ["0000:7a:00.0", "0000:80:01.1"],
    ]
