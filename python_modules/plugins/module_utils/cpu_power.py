# SPDX-License-Identifier: Apache-2.0
"""Read how the processors are allowed to slow down and to sleep."""

from __future__ import annotations

from typing import Any, Dict, List, Optional

from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

CPU_ROOT = "/sys/devices/system/cpu"


def read_cpu_power(tree: Tree) -> Dict[str, Any]:
    """Return the snapshot's "cpu_power".

    governors: {governor: number of processors}. idle_states: [{"name", "disabled", "processors"}], the numbers of
    processors that have the state and on which it is switched off. Both empty where the kernel has no such driver.
    """
    names = tree.list_folder("cpu_power", CPU_ROOT)
    numbers = [name for name in names or [] if name.startswith("cpu") and name[3:].isdigit()]
    governors: Dict[str, int] = {}
    for name in numbers:
        governor = tree.read_line("cpu_power", "%s/%s/cpufreq/scaling_governor" % (CPU_ROOT, name), optional=True)
        if governor is not None:
            governors[governor] = governors.get(governor, 0) + 1
    return {
        "governors": governors,
        "idle_driver": tree.read_line("cpu_power", CPU_ROOT + "/cpuidle/current_driver", optional=True),
        "idle_states": _idle_states(tree, numbers),
    }


def _idle_states(tree: Tree, numbers: List[str]) -> List[Dict[str, Any]]:
    """Count the deep states: the first is polling and the second the halt that every processor needs."""
    first = numbers[0] if numbers else "cpu0"
    names = tree.list_folder("cpu_power", "%s/%s/cpuidle" % (CPU_ROOT, first), optional=True) or []
    states: List[Dict[str, Any]] = []
    for state in names:
        if not state.startswith("state") or state in ("state0", "state1"):
            continue
        place = "%s/%s/cpuidle/%s" % (CPU_ROOT, first, state)
        seen: List[Optional[int]] = [
            tree.read_int("cpu_power", "%s/%s/cpuidle/%s/disable" % (CPU_ROOT, name, state), optional=True)
            for name in numbers
        ]
        known = [number for number in seen if number is not None]
        states.append(
            {
                "state": state,
                "name": tree.read_line("cpu_power", place + "/name", optional=True),
                "processors": len(known),
                "disabled": sum(number != 0 for number in known),
            }
        )
    return states
