# SPDX-License-Identifier: Apache-2.0
"""Check that the GPUs are there, alike and driven."""

from __future__ import annotations

import collections
import collections.abc as c

from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.hardware import (
    KFD_ROOT,
    PCI_ROOT,
    card_of,
    compute_cards,
    kfd_gpus,
    kfd_hole,
    kfd_pci_id,
    pci_gpus,
    pci_id,
    unidentified,
)
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


@check(
    "gpu.count",
    "Every GPU of the profile is on the PCI bus and in the driver's topology",
    remedy=(
        "Reseat the card or its riser and look for its slot in the BIOS. A node that shall run "
        "with fewer GPUs declares it: gpu_count. A GPU on PCI but not in KFD is one that the "
        "driver gave up: look for amdgpu lines in the kernel log of this boot."
    ),
)
def count(context: CheckContext) -> c.Iterator[Finding]:
    """Count the GPUs of the profile's model on PCI and in KFD and compare both with gpu_count.

    Either source is left out when a captured tree does not hold it.
    """
    held_back = context.snapshot.get("skipped") or {}
    if "pci" in held_back and "kfd" in held_back:
        yield skipped(f"neither PCI nor KFD: {held_back['pci']}")
        return
    wanted = context.option("gpu_count")
    title = context.model["title"]
    on_pci: int | None = None
    if "pci" not in held_back:
        nameless = unidentified(context)
        if nameless is not None:
            yield unknown(context.problem(nameless, "pci"), nameless, title, f"{wanted or 'some'} on PCI")
        else:
            on_pci = len(pci_gpus(context))
            yield _compare(title, on_pci, wanted, "on PCI", PCI_ROOT)
    if "kfd" in held_back:
        return
    nodes = kfd_gpus(context)
    expected = wanted if wanted is not None else on_pci
    hole = kfd_hole(context)
    if hole is not None:
        yield unknown(context.problem(hole, "kfd"), hole, title, f"{expected or 'some'} in KFD")
        return
    if nodes is None:
        reason = "the driver is not loaded, or it drives no GPU: there is no KFD topology"
        yield Finding(FAIL, title, f"{expected or 'some'} in KFD", "no KFD", reason, KFD_ROOT)
        return
    ids = set(context.model["pci_ids"])
    mine = [node for node in nodes if kfd_pci_id(node) in ids]
    partitions = collections.Counter(card_of(node) for node in mine)
    # gpu_count counts cards. Where one card shows several partitions, a site may count those.
    seen = len(mine) if expected == len(mine) else len(partitions)
    most = max(partitions.values(), default=0)
    short = [card for card, number in sorted(partitions.items()) if number < most]
    if short:
        observed = f"{len(mine)} of {most * len(partitions)} partitions"
        reason = f"card {short[0]} shows {partitions[short[0]]} partitions, another {most}"
        yield Finding(FAIL, title, f"{most} partitions a card", observed, reason, KFD_ROOT)
    else:
        yield _compare(title, seen, expected, "in KFD", KFD_ROOT)


def _compare(title: str, seen: int, wanted: int | None, where: str, evidence: str) -> Finding:
    observed = f"{seen} {where}"
    if wanted is None:
        if seen:
            return Finding(OK, title, f"some {where}", observed, "gpu_count is not declared", evidence)
        return Finding(FAIL, title, f"some {where}", observed, f"no GPU of this model {where}", evidence)
    if seen == wanted:
        return Finding(OK, title, f"{wanted} {where}", observed, "", evidence)
    kind = "fewer" if seen < wanted else "more"
    reason = f"{kind} GPUs {where} than gpu_count declares"
    return Finding(FAIL, title, f"{wanted} {where}", observed, reason, evidence)


@check(
    "gpu.driver_bound",
    "Every GPU is driven by amdgpu",
    areas=("pci.gpus",),
    remedy=(
        "Load the driver with modprobe amdgpu and read the kernel log. Remove nomodeset and "
        "modprobe.blacklist=amdgpu from the kernel command line, or the blacklist file that the "
        "reason names, unless something loads the driver later on purpose."
    ),
)
def driver_bound(context: CheckContext) -> c.Iterator[Finding]:
    """Read each GPU's driver link; where it is absent, say what is known of the module."""
    for gpu in pci_gpus(context):
        evidence = f"{PCI_ROOT}/{gpu['bdf']}/driver"
        driver = gpu.get("driver")
        if driver == "amdgpu":
            yield Finding(OK, gpu["bdf"], "amdgpu", "amdgpu", "", evidence)
        elif driver:
            reason = f"the GPU is bound to {driver}"
            yield Finding(FAIL, gpu["bdf"], "amdgpu", str(driver), reason, evidence)
        elif context.unreadable(evidence):
            yield unknown(context.problem(evidence), evidence, gpu["bdf"], "amdgpu")
        else:
            yield Finding(FAIL, gpu["bdf"], "amdgpu", "no driver", _why_unbound(context), evidence)


def _why_unbound(context: CheckContext) -> str:
    modules = context.snapshot.get("modules") or {}
    module = modules.get("amdgpu") or {}
    cmdline = str((context.snapshot.get("kernel") or {}).get("cmdline") or "").split()
    if "nomodeset" in cmdline:
        return "nomodeset on the kernel command line keeps amdgpu from driving any GPU"
    blacklisted = modules.get("blacklisted_by") or []
    if blacklisted and not module.get("loaded"):
        return f"amdgpu is not loaded; it is blacklisted by {', '.join(blacklisted)}"
    if module.get("loaded"):
        return "amdgpu is loaded but gave this GPU up"
    return "the module amdgpu is not loaded"


@check(
    "gpu.model_uniform",
    "All GPUs are of one model",
    areas=("pci.gpus",),
    required=False,
    remedy=(
        "Put cards of one model into a node, or use only those of gpu_model by their addresses. "
        "Collectives run at the speed of the slowest card."
    ),
)
def model_uniform(context: CheckContext) -> c.Iterator[Finding]:
    """Compare the PCI ids of all compute cards. An integrated GPU does not count."""
    cards = compute_cards(context)
    if not cards:
        yield skipped("no compute card on PCI")
        return
    ids = collections.Counter(pci_id(card) for card in cards)
    observed = ", ".join(f"{number} x {name}" for name, number in sorted(ids.items()))
    wanted = ", ".join(context.model["pci_ids"])
    strange = sorted(set(ids) - set(context.model["pci_ids"]))
    if len(ids) == 1 and not strange:
        yield Finding(OK, "", wanted, observed, "", PCI_ROOT)
    elif len(ids) > 1:
        yield Finding(WARN, "", wanted, observed, "GPUs of several models in one node", PCI_ROOT)
    else:
        reason = f"the cards are not {context.model['title']}"
        yield Finding(WARN, "", wanted, observed, reason, PCI_ROOT)
