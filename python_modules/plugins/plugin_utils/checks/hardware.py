# SPDX-License-Identifier: Apache-2.0
"""Give the checks the GPUs of a snapshot, by PCI id and by KFD node."""

from __future__ import annotations

import collections.abc as c
import typing as t

from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.model import CheckContext

Json = c.Mapping[str, t.Any]

PCI_ROOT = "/sys/bus/pci/devices"
KFD_ROOT = "/sys/class/kfd/kfd/topology/nodes"
# HSA_IOLINKTYPE of hsakmttypes.h. rocm-smi and amd-smi number their types otherwise.
XGMI_LINK = 11
# What RCCL takes for a link of its own: one hop, and between partitions of one card and of two.
DIRECT_WEIGHTS = (15, 13, 41)


def pci_id(device: Json) -> str:
    """Return "1002:740f" of a device of the snapshot."""
    return f"{device.get('vendor')}:{device.get('device')}"


def pci_gpus(context: CheckContext) -> list[Json]:
    """Return the PCI functions of the profile's GPU model, by address."""
    pci = context.snapshot.get("pci") or {}
    wanted = set(context.model["pci_ids"])
    found = [gpu for gpu in pci.get("gpus") or [] if pci_id(gpu) in wanted]
    return sorted(found, key=lambda gpu: str(gpu["bdf"]))


def unidentified(context: CheckContext) -> str | None:
    """Return the file that hides which card a GPU is, or the bus itself, None where all are known."""
    gpus = context.held("pci.gpus")
    if gpus is None:
        return PCI_ROOT
    return next((f"{PCI_ROOT}/{gpu['bdf']}/device" for gpu in gpus if gpu.get("device") is None), None)


def compute_cards(context: CheckContext) -> list[Json]:
    """Return AMD's display controllers without a screen and accelerators, of any model.

    An integrated GPU (class 0x0300) is none of them.
    """
    pci = context.snapshot.get("pci") or {}
    return [gpu for gpu in pci.get("gpus") or [] if str(gpu.get("class") or "").startswith(("0380", "12"))]


def kfd_hole(context: CheckContext) -> str | None:
    """Return the file of a KFD node that could not be read, None where all could.

    The driver refuses it to a container that may not use the GPU: such a node may be one of ours.
    """
    for node in (context.snapshot.get("kfd") or {}).get("nodes") or []:
        if node["properties"] is None:
            return f"{KFD_ROOT}/{node['id']}/properties"
    return None


def kfd_gpus(context: CheckContext) -> list[Json] | None:
    """Return the GPU nodes of the KFD topology, or None when there is no KFD at all."""
    kfd = context.snapshot.get("kfd")
    if kfd is None:
        return None
    return [node for node in kfd.get("nodes") or [] if number(node, "simd_count") > 0]


def number(node: Json, key: str) -> int:
    """Return a KFD property, 0 where the driver does not write it."""
    return int((node.get("properties") or {}).get(key) or 0)


def kfd_pci_id(node: Json) -> str:
    """Return the PCI id of a KFD node, which holds it as decimal numbers."""
    return f"{number(node, 'vendor_id'):04x}:{number(node, 'device_id'):04x}"


def kfd_bdf(node: Json) -> str:
    """Return the PCI address of a KFD node, or "KFD node N" where the snapshot has none."""
    return str(node.get("bdf") or f"KFD node {node.get('id')}")


def card_of(node: Json) -> str:
    """Return the address of a KFD node's card: partitions of one card differ in the function."""
    return kfd_bdf(node).rpartition(".")[0] or kfd_bdf(node)


def gpu_events(context: CheckContext, *bdfs: str) -> list[Json]:
    """Return the events of the kernel log about some PCI functions, none where there is no log."""
    log = context.snapshot.get("kernel_log") or {}
    return [event for event in log.get("events") or [] if event.get("bdf") in bdfs]


def xgmi_peers(nodes: c.Iterable[Json]) -> set[tuple[int, int]]:
    """Return (from, to) of KFD's direct XGMI links. A pair that is reached through another card is not among them.

    Weights 15 is one hop, 13 and 41 are partitions of one card and of two; 30 and more go through other cards.
    """
    return {
        (int(link.get("node_from", node["id"])), int(link["node_to"]))
        for node in nodes
        for link in node.get("io_links") or []
        if link.get("type") == XGMI_LINK and link.get("weight", DIRECT_WEIGHTS[0]) in DIRECT_WEIGHTS
    }
