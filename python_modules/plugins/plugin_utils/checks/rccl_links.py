# SPDX-License-Identifier: Apache-2.0
"""Check what RCCL makes of the links and which RCCL a program gets: both go wrong without a word."""

from __future__ import annotations

import collections.abc as c
import xml.etree.ElementTree as ET

from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.hardware import kfd_bdf, kfd_gpus, xgmi_peers
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.model import (
    FAIL,
    OK,
    WARN,
    CheckContext,
    Finding,
    skipped,
    unknown,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.registry import check
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.topology import TOPOLOGY_PATH


@check(
    "rccl.topo_has_xgmi",
    "RCCL's topology file shows every XGMI link that KFD shows",
    areas=("watch", "kfd"),
    remedy=(
        "Run site.yml, which renders the file from KFD's links. Links that RCCL takes for PCIe make collectives right "
        "and an order of magnitude slower."
    ),
)
def topo_has_xgmi(context: CheckContext) -> c.Iterator[Finding]:
    """Compare the xgmi elements of the file on the node with KFD's links of type 11, pair by pair."""
    seen, nodes = context.snapshot["watch"].get(TOPOLOGY_PATH), kfd_gpus(context)
    if seen is None or nodes is None:
        why = context.problem(TOPOLOGY_PATH) if seen is None else "there is no KFD topology: the driver is not loaded"
        yield unknown(why, TOPOLOGY_PATH)
        return
    if seen["type"] == "absent":
        yield skipped(f"{TOPOLOGY_PATH} is not there: RCCL asks the driver itself")
        return
    names = {node["id"]: kfd_bdf(node).lower() for node in nodes}
    wanted = {(names[one], names[other]) for one, other in xgmi_peers(nodes) if one in names and other in names}
    pairs = xgmi_pairs(str(seen.get("text") or ""))
    if pairs is None:
        yield skipped("the file is no topology: see rccl.topo_matches_host")
        return
    missing = sorted(pair for pair in wanted - pairs if pair[0] < pair[1])
    expected, observed = f"{len(wanted) // 2} pairs", f"{len(pairs & wanted) // 2} pairs"
    if missing:
        listed = "; ".join(f"{one} and {other}" for one, other in missing[:6])
        reason = f"correct but slow: RCCL would take these pairs for PCIe: {listed}"
        yield Finding(FAIL, TOPOLOGY_PATH, expected, observed, reason, TOPOLOGY_PATH)
    else:
        yield Finding(OK, TOPOLOGY_PATH, expected, observed, "", TOPOLOGY_PATH)


def xgmi_pairs(text: str) -> set[tuple[str, str]] | None:
    """Return (address, address) of the xgmi elements of a topology file, None when it is not one."""
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        return None
    try:
        root = ET.fromstring(text)
    except ET.ParseError:
        return None
    return {
        (str(pci.get("busid", "")).lower(), str(link.get("target", "")).lower())
        for pci in root.iter("pci")
        for gpu in pci.findall("gpu")
        for link in gpu.findall("xgmi")
    }


@check(
    "rccl.library_resolved",
    "torch finds an RCCL, and which one is known",
    areas=("rccl_libraries",),
    required=False,
    remedy="Install the wheel again: its own librccl lies beside libtorch_hip. Without it the loader takes /opt/rocm's.",
)
def library_resolved(context: CheckContext) -> c.Iterator[Finding]:
    """Follow RUNPATH, RPATH and ld.so.cache as the loader would; LD_LIBRARY_PATH, which comes first, is env's."""
    found = context.snapshot["rccl_libraries"]["venvs"]
    if not found:
        yield skipped("no environment here has a torch that needs RCCL")
    for entry in found:
        user = str(entry["user"])
        if entry["needs"] is None:
            yield unknown(context.problem(user, "rccl_libraries"), user, entry["venv"])
        elif entry["path"] is None:
            reason = f"{user} needs {entry['needs']}, which is nowhere the loader looks"
            yield Finding(FAIL, entry["venv"], entry["needs"], "not found", reason, user)
        elif str(entry["path"]).startswith(str(entry["venv"])):
            yield Finding(OK, entry["venv"], entry["needs"], str(entry["path"]), "", user)
        else:
            reason = f"not the wheel's own, but the system's ({entry['by']})"
            yield Finding(WARN, entry["venv"], "the wheel's own", str(entry["path"]), reason, user)
