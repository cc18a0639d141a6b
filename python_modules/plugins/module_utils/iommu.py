# SPDX-License-Identifier: Apache-2.0
"""Read how the IOMMU treats the devices: by its groups, not by what the command line asks for."""

from __future__ import annotations

from typing import Any, Dict, List

from ansible_collections.instinct.bringup.plugins.module_utils.pci_config import PCI_ROOT
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

UNITS = "/sys/class/iommu"
GROUPS = "/sys/kernel/iommu_groups"


def read_iommu(tree: Tree, gpus: List[str]) -> Dict[str, Any]:
    """Return the snapshot's "iommu".

    units: the IOMMUs at work, none where it is off. gpu_types: {BDF: "identity", "DMA", "DMA-FQ", …}, None
    for a GPU outside any group; "identity" passes addresses through. Kernels before 5.11 show no type.
    """
    return {
        "units": tree.list_folder("iommu", UNITS, optional=True) or [],
        "gpu_types": {bdf: _type(tree, bdf) for bdf in gpus},
    }


def _type(tree: Tree, bdf: str) -> Any:
    target = tree.read_link("iommu", "%s/%s/iommu_group" % (PCI_ROOT, bdf), optional=True)
    if target is None:
        return None
    group = target.rstrip("/").rpartition("/")[2]
    return tree.read_line("iommu", "%s/%s/type" % (GROUPS, group), optional=True)
