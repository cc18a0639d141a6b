# SPDX-License-Identifier: Apache-2.0
"""Ask the vendor's tools what they see. What they say is kept as it is: the controller reads it.

They are programs of their own, slower than everything else here together: a snapshot asks them only on request.
"""

from __future__ import annotations

from typing import Any, Dict, Optional, Sequence

from ansible_collections.instinct.bringup.plugins.module_utils.probe import Probe, ProbeError
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

# Tables and lists that every release of the tools has.
COMMANDS: Dict[str, Sequence[str]] = {
    "rocm_smi_hw": ("/opt/rocm/bin/rocm-smi", "--showhw"),
    "rocm_smi_topo": ("/opt/rocm/bin/rocm-smi", "--showtopo"),
    "amd_smi_list": ("/opt/rocm/bin/amd-smi", "list"),
    "amd_smi_topology": ("/opt/rocm/bin/amd-smi", "topology"),
}
MAX_CHARACTERS = 65536

Json = Dict[str, Any]


def run_tools(tree: Tree, probe: Optional[Probe]) -> Optional[Dict[str, Optional[Json]]]:
    """Return {command: {"rc", "out", "err"}}, None for a tool that is not installed or gave no answer."""
    if probe is None:
        return None
    answers: Dict[str, Optional[Json]] = {}
    for name, argv in COMMANDS.items():
        answers[name] = None
        if not tree.exists(argv[0]):
            continue
        try:
            done = probe(argv)
        except ProbeError as error:
            tree.problem("tools", argv[0], str(error))
            continue
        answers[name] = {"rc": done.rc, "out": done.out[:MAX_CHARACTERS], "err": done.err[:MAX_CHARACTERS]}
    return answers
