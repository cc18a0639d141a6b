# SPDX-License-Identifier: Apache-2.0
"""Check the firmware of the cards against each other.

Board vendors ship VBIOS names of their own, so cards are compared within one board only.
"""

from __future__ import annotations

import collections
import collections.abc as c

from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.hardware import PCI_ROOT, Json, pci_gpus, pci_id
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.model import (
    FAIL,
    OK,
    CheckContext,
    Finding,
    skipped,
    unknown,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.registry import check


def by_board(context: CheckContext) -> dict[str, list[Json]]:
    """Return the GPUs by device and subsystem id: board vendors number their firmware each for itself."""
    boards: dict[str, list[Json]] = {}
    for gpu in pci_gpus(context):
        board = f"{pci_id(gpu)} board {gpu.get('subsystem_vendor')}:{gpu.get('subsystem_device')}"
        boards.setdefault(board, []).append(gpu)
    return boards


@check(
    "fw.vbios_uniform",
    "Cards of one board have one VBIOS",
    areas=("pci.gpus",),
    remedy="Ask the server's vendor for the firmware of this board and flash the cards that differ.",
)
def vbios_uniform(context: CheckContext) -> c.Iterator[Finding]:
    """Group the GPUs by device and subsystem id and require one VBIOS within each group."""
    boards = by_board(context)
    if not boards:
        yield skipped(f"no {context.model['title']} on PCI")
    for board, gpus in sorted(boards.items()):
        unread = [gpu for gpu in gpus if gpu.get("vbios") is None]
        names = collections.Counter(str(gpu["vbios"]) for gpu in gpus if gpu.get("vbios") is not None)
        if len(names) > 1:
            yield _mixed(board, gpus, names)
        elif unread:
            path = f"{PCI_ROOT}/{unread[0]['bdf']}/vbios_version"
            why = "without a driver there is none" if not unread[0].get("driver") else context.problem(path, "pci")
            yield unknown(why, path, board, "one VBIOS")
        else:
            yield Finding(OK, board, "one VBIOS", next(iter(names)), "", f"{PCI_ROOT}/{gpus[0]['bdf']}/vbios_version")


def _mixed(board: str, gpus: list[Json], names: collections.Counter[str]) -> Finding:
    usual = names.most_common(1)[0][0]
    odd = [gpu for gpu in gpus if gpu.get("vbios") not in (None, usual)]
    reason = "; ".join(f"{gpu['bdf']} has {gpu['vbios']}" for gpu in odd) + f"; the others have {usual}"
    observed = ", ".join(f"{number} x {name}" for name, number in sorted(names.items()))
    return Finding(FAIL, board, "one VBIOS", observed, reason, f"{PCI_ROOT}/{odd[0]['bdf']}/vbios_version")
