# SPDX-License-Identifier: Apache-2.0
"""Check the topology file that RCCL is given against the machine."""

from __future__ import annotations

import collections.abc as c
import xml.etree.ElementTree as ET

from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.hardware import pci_gpus
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.model import (
    FAIL,
    OK,
    CheckContext,
    Finding,
    skipped,
    unknown,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.registry import check
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.rccl import TOPOLOGY_PATH


def gpu_addresses(text: str) -> list[str]:
    """Return the bus ids of the GPUs in a topology file, in lower case.

    :raises ValueError: it is no XML, or has a document type: RCCL's files have none, and an entity in
        one could make this process grow without bound.
    """
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise ValueError("it has a document type, which RCCL's files have not")
    try:
        root = ET.fromstring(text)
    except ET.ParseError as error:
        raise ValueError(f"it is not XML: {error}") from error
    return sorted(str(pci.get("busid", "")).lower() for pci in root.iter("pci") if pci.find("gpu") is not None)


@check(
    "rccl.topo_matches_host",
    "The topology file that RCCL reads is of this machine",
    areas=("watch", "pci.gpus"),
    remedy="Run site.yml, which renders the file from the machine. A file of another machine is worse than none.",
)
def topo_matches_host(context: CheckContext) -> c.Iterator[Finding]:
    """Compare the GPUs of the topology file that lies on the node, whoever put it there, with those on PCI."""
    seen = context.snapshot["watch"].get(TOPOLOGY_PATH)
    expected = sorted(str(gpu["bdf"]).lower() for gpu in pci_gpus(context))
    if seen is None:
        yield unknown(context.problem(TOPOLOGY_PATH), TOPOLOGY_PATH, TOPOLOGY_PATH)
    elif seen["type"] == "absent":
        yield skipped(f"{TOPOLOGY_PATH} is not there: RCCL goes by what it detects")
    elif seen.get("text") is None:
        yield unknown("the file is too large or not text", TOPOLOGY_PATH, TOPOLOGY_PATH)
    else:
        yield _compare(str(seen["text"]), expected)


def _compare(text: str, expected: list[str]) -> Finding:
    count = f"{len(expected)} GPUs of this machine"
    try:
        named = gpu_addresses(text)
    except ValueError as error:
        return Finding(FAIL, TOPOLOGY_PATH, count, "not readable as a topology", str(error), TOPOLOGY_PATH)
    if named == expected:
        return Finding(OK, TOPOLOGY_PATH, count, count, "", TOPOLOGY_PATH)
    foreign, missing = sorted(set(named) - set(expected)), sorted(set(expected) - set(named))
    parts = [f"not on this machine: {', '.join(foreign)}"] if foreign else []
    parts += [f"not in the file: {', '.join(missing)}"] if missing else []
    reason = "; ".join(parts) or "the file names a GPU twice"
    return Finding(FAIL, TOPOLOGY_PATH, count, f"{len(named)} GPUs named", reason, TOPOLOGY_PATH)
