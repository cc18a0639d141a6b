# SPDX-License-Identifier: Apache-2.0
"""Read what the amdgpu driver measures and counts on a card: sensors, RAS errors, partitions, XGMI links."""

from __future__ import annotations

import re
from typing import Any, Dict, List, Optional

from ansible_collections.instinct.bringup.plugins.module_utils.pci import PCI_ROOT
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree, to_int

_COUNTER = re.compile(r"^(ue|ce|de):\s*(\d+)\s*$")
_COUNTS_SUFFIX = "_err_count"

Json = Dict[str, Any]


def read_health(tree: Tree, bdf: str) -> Json:
    """Return what a driven GPU tells of itself; every value is None where the driver has no such file."""
    place = "%s/%s" % (PCI_ROOT, bdf)
    return {
        "sensors": _sensors(tree, place),
        "ras": _ras(tree, place),
        "partition": {
            "compute": tree.read_line("pci", place + "/current_compute_partition", optional=True),
            "memory": tree.read_line("pci", place + "/current_memory_partition", optional=True),
        },
        "xgmi_num_links": _links(tree, place),
        "replays": tree.read_int("pci", place + "/pcie_replay_count", optional=True),
        "power_state": tree.read_line("pci", place + "/power/runtime_status", optional=True),
        "performance_level": tree.read_line("pci", place + "/power_dpm_force_performance_level", optional=True),
        "sriov_vfs": tree.read_int("pci", place + "/sriov_numvfs", optional=True),
    }


def _sensors(tree: Tree, place: str) -> Optional[Json]:
    """Return temperatures in degrees Celsius by label, and power in watts."""
    names = tree.list_folder("pci", place + "/hwmon", optional=True)
    if not names:
        return None
    folder = "%s/hwmon/%s" % (place, names[0])
    temperatures: Dict[str, Json] = {}
    for index in (1, 2, 3):
        label = tree.read_line("pci", "%s/temp%d_label" % (folder, index), optional=True)
        if label is None:
            continue
        temperatures[label] = {
            "celsius": _scaled(tree, "%s/temp%d_input" % (folder, index), 1000),
            "critical": _scaled(tree, "%s/temp%d_crit" % (folder, index), 1000),
        }
    watts = _scaled(tree, folder + "/power1_average", 1000000)
    return {
        "temperatures": temperatures,
        # Newer cards measure power1_input instead.
        "watts": watts if watts is not None else _scaled(tree, folder + "/power1_input", 1000000),
        "cap_watts": _scaled(tree, folder + "/power1_cap", 1000000),
    }


def _scaled(tree: Tree, path: str, divisor: int) -> Optional[float]:
    number = tree.read_int("pci", path, optional=True)
    return number / divisor if number is not None else None


def parse_ras(text: str) -> Optional[Dict[str, int]]:
    """Return {"ue": 0, "ce": 3} of an err_count file: errors that were not, and were corrected; None for another text."""
    counts: Dict[str, int] = {}
    for line in text.splitlines():
        found = _COUNTER.match(line.strip())
        if found:
            counts[found.group(1)] = int(found.group(2)[:18])
    return counts if "ue" in counts else None


def _ras(tree: Tree, place: str) -> Optional[Json]:
    """Return the error counters by block, and the pages of memory that were retired. None without RAS."""
    names = tree.list_folder("pci", place + "/ras", optional=True)
    if names is None:
        return None
    blocks: Dict[str, Optional[Dict[str, int]]] = {}
    for name in names:
        if not name.endswith(_COUNTS_SUFFIX):
            continue
        path = "%s/ras/%s" % (place, name)
        text = tree.read_text("pci", path)
        blocks[name[: -len(_COUNTS_SUFFIX)]] = counts = parse_ras(text) if text is not None else None
        if text is not None and counts is None:
            tree.problem("pci", path, "no counters in it: %r" % text[:40])
    pages = tree.read_text("pci", place + "/ras/gpu_vram_bad_pages", optional=True)
    return {
        "features": tree.read_line("pci", place + "/ras/features", optional=True),
        "blocks": blocks,
        # One line a page: address : size : R(etired), P(ending) or F(ailed to retire)
        "bad_pages": None if pages is None else sum(" : " in line for line in pages.splitlines()),
    }


def _links(tree: Tree, place: str) -> Optional[List[int]]:
    """Return the number of direct links to each GPU of the hive, in the hive's order."""
    text = tree.read_line("pci", place + "/xgmi_num_links", optional=True)
    if text is None:
        return None
    numbers = [to_int(field, 16) for field in text.split()]
    known = [number for number in numbers if number is not None]
    if len(known) != len(numbers):
        tree.problem("pci", place + "/xgmi_num_links", "not a list of hexadecimal numbers: %r" % text[:40])
        return None
    return known
