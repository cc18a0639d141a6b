# SPDX-License-Identifier: Apache-2.0
"""Check the PCIe link of each GPU's slot, and of every hop between the slot and the CPU.

A card has a switch of its own: the GPU function reports the link inside the card, which is always
full. The slot is the link of the card's upstream port, the topmost of the ports that the catalog
lists for the model. Both ends of a link report it; the lower end is cited.
"""

from __future__ import annotations

import collections.abc as c
import dataclasses
import re
import typing as t

from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.hardware import (
    PCI_ROOT,
    Json,
    pci_gpus,
    pci_id,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.model import (
    FAIL,
    OK,
    UNKNOWN,
    CheckContext,
    Finding,
    skipped,
    unknown,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.registry import check

N = t.TypeVar("N", int, float)


@dataclasses.dataclass(frozen=True)
class Hop:
    """One link on the way to the CPU: its devices, the lower end first (one or two)."""

    ends: tuple[Json, ...]

    def readings(self, key: str) -> list[tuple[t.Any, str]]:
        """Return (value, file) of each end that could be read."""
        return [
            (link[key], f"{PCI_ROOT}/{end['bdf']}/{_FILES[key]}")
            for end in self.ends
            if (link := end.get("link") or {}).get(key) is not None
        ]

    def file(self, key: str) -> str:
        """Return the file of the lower end."""
        return f"{PCI_ROOT}/{self.ends[0]['bdf']}/{_FILES[key]}"


_FILES = {
    "current_width": "current_link_width",
    "current_speed": "current_link_speed",
    "max_width": "max_link_width",
    "max_speed": "max_link_speed",
}


def hops_above_card(gpu: Json, on_card_ports: c.Collection[str]) -> list[Hop]:
    """Return the links from the slot up to the root port, the slot first."""
    devices = [gpu, *(gpu.get("path") or [])]
    start = 0
    while start + 1 < len(devices) and pci_id(devices[start + 1]) in on_card_ports:
        start += 1
    above = devices[start:]
    return [Hop(tuple(above[index : index + 2])) for index in range(0, len(above), 2)]


def gigatransfers(text: object) -> float | None:
    """Return 16.0 for "16.0 GT/s PCIe" or "16 GT/s"; None for anything else ("Unknown")."""
    found = re.match(r"\s*([0-9]+(?:\.[0-9]+)?)\s*GT/s", str(text))
    return float(found.group(1)) if found else None


@check(
    "pcie.link_width",
    "Each GPU's slot, and every hop above it, has the lanes that the profile expects",
    areas=("pci.gpus",),
    remedy=(
        "Reseat the card and its riser, and look at the slot's bifurcation in the BIOS. If the "
        "platform is wired so, declare it: pcie_expected_width."
    ),
)
def link_width(context: CheckContext) -> c.Iterator[Finding]:
    """Compare the narrowest link between each GPU's slot and the root port with the profile."""
    wanted = int(context.option("pcie_expected_width") or context.model["pcie_width"])
    gpus = pci_gpus(context)
    if not gpus:
        yield skipped(f"no {context.model['title']} on PCI")
    for gpu in gpus:
        yield _judge_width(context, gpu, wanted)


def _judge_width(context: CheckContext, gpu: Json, wanted: int) -> Finding:
    hops = hops_above_card(gpu, context.model["on_card_ports"])
    known = [[(int(width), file) for width, file in hop.readings("current_width") if int(width) > 0] for hop in hops]
    expected = f"x{wanted}"
    width, file = _least([reading for readings in known for reading in readings], wanted)
    if width < wanted:
        reason = f"{gpu['bdf']} has x{width} where x{wanted} is expected, read from {file}"
        if file != hops[0].file("current_width"):
            reason += "; the narrow link is above the card's own port"
        capability = _capability(hops, file)
        if capability is not None and capability < wanted:
            reason += f"; that port can do no more than x{capability}"
        return Finding(FAIL, gpu["bdf"], expected, f"x{width}", reason, file)
    for hop, readings in zip(hops, known, strict=True):
        if not readings:
            path = hop.file("current_width")
            reason = "the port reports x0" if hop.readings("current_width") else context.problem(path, "pci")
            return unknown(reason, path, gpu["bdf"], expected)
    return Finding(OK, gpu["bdf"], expected, f"x{width}", "", file)


def _least(readings: list[tuple[N, str]], default: N) -> tuple[N, str]:
    """Return the smallest reading, of equal ones the one nearest to the card."""
    return min(readings, key=lambda reading: reading[0], default=(default, ""))


def _capability(hops: list[Hop], file: str) -> int | None:
    for hop in hops:
        for end in hop.ends:
            if file == f"{PCI_ROOT}/{end['bdf']}/{_FILES['current_width']}":
                value = (end.get("link") or {}).get("max_width")
                return int(value) if value is not None else None
    return None


@check(
    "pcie.link_speed",
    "Each GPU's slot, and every hop above it, runs at the speed that the profile expects",
    areas=("pci.gpus",),
    remedy=(
        "Links slow down while idle: try it under load, then verify again. If it stays slow, look "
        "at the slot's speed in the BIOS and at the riser. If the platform can do no better, "
        "declare it: pcie_expected_speed."
    ),
)
def link_speed(context: CheckContext) -> c.Iterator[Finding]:
    """Compare the slowest link with the profile. Slow while idle is unknown until tried under load.

    A port whose capability is below the profile fails: no load will change that.
    """
    text = str(context.option("pcie_expected_speed") or context.model["pcie_speed"])
    wanted = gigatransfers(text)
    if wanted is None:
        raise ValueError(f"pcie_expected_speed {text!r} is not of the form '16.0 GT/s'")
    gpus = pci_gpus(context)
    if not gpus:
        yield skipped(f"no {context.model['title']} on PCI")
    for gpu in gpus:
        yield _judge_speed(context, gpu, wanted)


def _judge_speed(context: CheckContext, gpu: Json, wanted: float) -> Finding:
    hops = hops_above_card(gpu, context.model["on_card_ports"])
    expected = f"{wanted:.1f} GT/s"
    most, file = _least(_speeds(hops, "max_speed"), wanted)
    if most < wanted:
        reason = f"a port on the way to {gpu['bdf']} can do no more than {most:.1f} GT/s"
        return Finding(FAIL, gpu["bdf"], expected, f"{most:.1f} GT/s", reason, file)
    speed, file = _least(_speeds(hops, "current_speed"), wanted)
    if speed < wanted:
        reason = "below the profile, but an idle link slows down: not known until tried under load"
        return Finding(UNKNOWN, gpu["bdf"], expected, f"{speed:.1f} GT/s", reason, file)
    for hop in hops:
        if not _speeds([hop], "current_speed"):
            path = hop.file("current_speed")
            return unknown(context.problem(path, "pci"), path, gpu["bdf"], expected)
    return Finding(OK, gpu["bdf"], expected, f"{speed:.1f} GT/s", "", file)


def _speeds(hops: list[Hop], key: str) -> list[tuple[float, str]]:
    """Return (GT/s, file) of every end of the links that says one."""
    return [
        (speed, file) for hop in hops for text, file in hop.readings(key) if (speed := gigatransfers(text)) is not None
    ]
