# SPDX-License-Identifier: Apache-2.0
"""Read the error counters that the kernel keeps of a PCI Express function."""

from __future__ import annotations

from typing import Dict, Optional

from ansible_collections.instinct.bringup.plugins.module_utils.pci_config import PCI_ROOT
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree, to_int

_TOTALS = {"correctable": "TOTAL_ERR_COR", "nonfatal": "TOTAL_ERR_NONFATAL", "fatal": "TOTAL_ERR_FATAL"}


def read_aer(tree: Tree, bdf: str) -> Optional[Dict[str, Optional[int]]]:
    """Return the totals of a function's AER counters since the boot.

    None where the kernel keeps none: the function has no such capability, or the firmware handles
    the errors itself. A counter that cannot be read is None, with a problem.
    """
    totals: Dict[str, Optional[int]] = {}
    seen = False
    for group, name in _TOTALS.items():
        path = "%s/%s/aer_dev_%s" % (PCI_ROOT, bdf, group)
        if not seen and tree.presence(path) is False:
            return None
        seen = True
        totals[group] = _total(tree, path, name)
    return totals


def _total(tree: Tree, path: str, name: str) -> Optional[int]:
    text = tree.read_text("pci", path)
    if text is None:
        return None
    for line in text.splitlines():
        key, _, value = line.partition(" ")
        if key == name:
            number = to_int(value.strip())
            if number is not None and number >= 0:
                return number
    tree.problem("pci", path, "no %s in it" % name)
    return None
