# SPDX-License-Identifier: Apache-2.0
"""Check how the processors are set up: threads, sleep, speed, and NUMA nodes of a socket."""

from __future__ import annotations

import collections.abc as c

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

CPU_ROOT = "/sys/devices/system/cpu"


@check(
    "cpu.governor",
    "The processors run at their full speed",
    areas=("cpu_power",),
    required=False,
    remedy="cpupower frequency-set -g performance, and a unit or tuned profile that does so at every boot.",
)
def governor(context: CheckContext) -> c.Iterator[Finding]:
    """Count the frequency governors: any but performance is warned of. AMD's guide does not name one."""
    governors: dict[str, int] = context.snapshot["cpu_power"]["governors"]
    evidence = f"{CPU_ROOT}/cpu0/cpufreq/scaling_governor"
    if not governors:
        yield skipped("the kernel does not scale the frequency here")
        return
    observed = ", ".join(f"{number} x {name}" for name, number in sorted(governors.items()))
    if set(governors) == {"performance"}:
        yield Finding(OK, "", "performance", observed, "", evidence)
    else:
        reason = "a processor that has to speed up first delays short collectives"
        yield Finding(WARN, "", "performance", observed, reason, evidence)


@check(
    "cpu.idle_states",
    "The processors do not fall into deep sleep",
    areas=("cpu_power",),
    required=False,
    remedy="cpupower idle-set -d 2, at every boot, as AMD's MI200 guide says. The BIOS keeps Global C-state on Auto.",
)
def idle_states(context: CheckContext) -> c.Iterator[Finding]:
    """Count on how many processors the idle states from C2 on are switched off."""
    states = context.snapshot["cpu_power"]["idle_states"]
    if not states:
        yield skipped("the kernel shows no deep idle states here")
    for state in states:
        name = str(state.get("name") or state["state"])
        total, off = int(state["processors"]), int(state["disabled"])
        evidence = f"{CPU_ROOT}/cpu0/cpuidle/{state['state']}/disable"
        if not total:
            yield unknown(context.problem(evidence, "cpu_power"), evidence, name, "disabled")
        elif off == total:
            yield Finding(OK, name, "disabled", "disabled", "", evidence)
        else:
            reason = f"on {total - off} of {total} processors: waking up delays the network and the GPUs"
            yield Finding(WARN, name, "disabled", "enabled", reason, evidence)


@check(
    "cpu.smt",
    "Each core runs one thread",
    areas=("cpu",),
    required=False,
    remedy="Disable SMT Control in the BIOS, or boot with nosmt. A site whose jobs use the threads leaves it.",
)
def smt(context: CheckContext) -> c.Iterator[Finding]:
    """Read smt/active where the model's guide asks for one thread a core."""
    active, evidence = context.snapshot["cpu"].get("smt_active"), f"{CPU_ROOT}/smt/active"
    if not context.model.get("smt_off"):
        yield skipped(f"the guide of {context.model['title']} does not ask for it")
    elif active is None:
        yield unknown(context.problem(evidence, "cpu"), evidence, "", "off")
    elif active:
        yield Finding(WARN, "", "off", "on", "two threads share a core; AMD's guide says to disable SMT", evidence)
    else:
        yield Finding(OK, "", "off", "off", "", evidence)


@check(
    "numa.nps",
    "Each socket has as many NUMA nodes as the site or the model's guide wants",
    areas=("numa.nodes", "cpu"),
    required=False,
    remedy=(
        "Set NUMA nodes per socket (NPS) in the BIOS: NPS4 for most HPC on MI200, NPS1 on MI300X. A site with another "
        "setting declares it: numa_per_socket."
    ),
)
def nps(context: CheckContext) -> c.Iterator[Finding]:
    """Divide the NUMA nodes that have processors by the sockets, and compare with numa_per_socket or the catalog."""
    nodes = [node for node in context.snapshot["numa"]["nodes"] if node.get("cpulist")]
    sockets = context.snapshot["cpu"].get("sockets")
    evidence = "/sys/devices/system/node"
    declared = context.option("numa_per_socket")
    allowed = [int(declared)] if declared else [int(number) for number in context.model.get("nps") or []]
    expected = " or ".join(f"NPS{number}" for number in allowed)
    if not allowed:
        yield skipped(f"nobody says what {context.model['title']} wants")
        return
    if not sockets or not nodes:
        yield unknown(context.problem("", "cpu"), evidence, "", expected)
        return
    count, rest = divmod(len(nodes), int(sockets))
    observed = f"NPS{count}" if not rest else f"{len(nodes)} nodes on {sockets} sockets"
    if not rest and count in allowed:
        yield Finding(OK, "", expected, observed, "", evidence)
    else:
        reason = f"{len(nodes)} NUMA nodes on {sockets} sockets"
        yield Finding(FAIL if declared else WARN, "", expected, observed, reason, evidence)


@check(
    "bios.settings",
    "The BIOS is set as AMD's guide says",
    required=False,
    remedy="Look at the named setting in the BIOS or through the server's management controller: no host can read it.",
)
def bios_settings(context: CheckContext) -> c.Iterator[Finding]:
    """List the settings of the model's guide that no host can read, each with its value: never ok, always skipped."""
    for entry in context.model.get("bios") or []:
        found = skipped("no host can read it", str(entry["setting"]))
        yield Finding(found.outcome, found.subject, str(entry["value"]), "", found.reason, "BIOS")
