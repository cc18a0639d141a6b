# SPDX-License-Identifier: Apache-2.0
"""Check the settings of the running system that collectives depend on."""

from __future__ import annotations

import collections.abc as c

from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.hardware import Json, pci_gpus
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

BALANCING = "kernel.numa_balancing"
BALANCING_FILE = "/proc/sys/kernel/numa_balancing"
# They start jobs themselves, and what they allow is what the job has.
JOB_DAEMONS = ("slurmd", "pbs_mom", "sge_execd")
_GIB = 1 << 30
SHM_FOR_EACH_GPU = _GIB


@check(
    "sys.numa_balancing",
    "The kernel does not move memory between NUMA nodes by itself",
    areas=("sysctl", "numa.nodes"),
    required=False,
    remedy=(
        "sysctl kernel.numa_balancing=0, and the same line in a file of /etc/sysctl.d that comes last. Any value but 0 "
        "runs the scanner, 2 and 3 too."
    ),
)
def numa_balancing(context: CheckContext) -> c.Iterator[Finding]:
    """Read kernel.numa_balancing: any value but 0 fails. A machine with one node does not scan."""
    if len(context.snapshot["numa"]["nodes"]) == 1:
        yield skipped("the machine has one NUMA node")
        return
    entry = context.snapshot["sysctl"].get(BALANCING) or {}
    now = entry.get("now")
    if now is None:
        why = context.unreadable(BALANCING_FILE)
        if why:
            yield unknown(why, BALANCING_FILE, BALANCING, "0")
        else:
            yield skipped("this kernel has no NUMA balancing", BALANCING)
    elif now == "0":
        yield Finding(OK, BALANCING, "0", now, "", BALANCING_FILE)
    elif now.isdigit():
        reason = f"the kernel scans and moves memory (value {now}): collectives stall at random"
        yield Finding(FAIL, BALANCING, "0", now, reason, BALANCING_FILE)
    else:
        yield unknown(f"the value is {now[:20]!r}", BALANCING_FILE, BALANCING, "0")


@check(
    "sys.numa_balancing_persistent",
    "NUMA balancing stays off after a reboot",
    areas=("sysctl", "numa.nodes"),
    required=False,
    remedy=(
        "Put kernel.numa_balancing=0 into a file of /etc/sysctl.d whose name sorts after the one that the reason names, "
        "or numa_balancing=disable on the kernel's command line."
    ),
)
def numa_balancing_persistent(context: CheckContext) -> c.Iterator[Finding]:
    """Follow the order of sysctl.d: which file has the last word, and what it says."""
    if len(context.snapshot["numa"]["nodes"]) == 1:
        yield skipped("the machine has one NUMA node")
        return
    entry = context.snapshot["sysctl"].get(BALANCING) or {}
    if entry.get("now") is None and not context.unreadable(BALANCING_FILE):
        yield skipped("this kernel has no NUMA balancing", BALANCING)
        return
    value, place = entry.get("next"), str(entry.get("next_from") or "/etc/sysctl.d")
    earlier = [str(where["path"]) for where in entry.get("set_by") or [] if where["value"] == "0"]
    if value == "0":
        yield Finding(OK, BALANCING, "0 at boot", "0", "", place)
    elif value is None:
        reason = "no file sets it, and most kernels switch it on by default"
        yield Finding(WARN, BALANCING, "0 at boot", "the kernel's default", reason, place)
    else:
        reason = f"{place} sets it to {value}" + (f", after {earlier[-1]} set it to 0" if earlier else "")
        yield Finding(FAIL, BALANCING, "0 at boot", str(value), reason, place)


@check(
    "limits.memlock_effective",
    "The services that start jobs let them lock memory",
    areas=("services",),
    required=False,
    remedy=(
        "Create /etc/systemd/system/SERVICE.service.d/memlock.conf with [Service] and LimitMEMLOCK=infinity, then "
        "systemctl daemon-reload and restart the service. limits.conf does not reach a service."
    ),
)
def memlock_effective(context: CheckContext) -> c.Iterator[Finding]:
    """Read the limit of locked memory of the running daemons from /proc, not from limits.conf.

    A batch system's daemon must be unlimited; of others, whose sessions and containers set their own, it is told.
    """
    found: list[Json] = context.snapshot["services"]
    if not found:
        yield skipped("no service that starts jobs is running")
    for service in found:
        yield _judge_memlock(context, service)


def _judge_memlock(context: CheckContext, service: Json) -> Finding:
    name, limit = str(service["name"]), service.get("memlock_hard")
    soft = service.get("memlock_soft")
    evidence = f"/proc/{service['pid']}/limits"
    if soft is None or limit is None:
        return unknown(context.problem(evidence, "services"), evidence, name, "unlimited")
    lowest = limit if soft == "unlimited" else soft
    if lowest == "unlimited":
        return Finding(OK, name, "unlimited", "unlimited", "", evidence)
    observed = f"{int(lowest) // 1024} KiB"
    if name in JOB_DAEMONS:
        reason = f"jobs of {name} may lock {observed} only: RDMA registration fails"
        remedy = (
            f"Create /etc/systemd/system/{name}.service.d/memlock.conf with [Service] and LimitMEMLOCK=infinity, "
            f"systemctl daemon-reload, restart {name}. limits.conf does not reach a service."
        )
        return Finding(FAIL, name, "unlimited", observed, reason, evidence, remedy)
    reason = f"{name} itself may lock {observed}; what its sessions or containers may, they set themselves"
    return Finding(OK, name, "told only", observed, reason, evidence)


@check(
    "shm.total",
    "/dev/shm is large enough for the collectives of all GPUs",
    areas=("shm",),
    required=False,
    remedy=(
        "Mount it larger: mount -o remount,size=50% /dev/shm; a container needs --shm-size or --ipc=host. RCCL and "
        "data loaders fail there with No space left on device or a bus error."
    ),
)
def shm_total(context: CheckContext) -> c.Iterator[Finding]:
    """Compare the size of /dev/shm, not what is free of it, with 1 GiB for each GPU."""
    total = int(context.snapshot["shm"]["total_bytes"])
    count = max(len(pci_gpus(context)), 1)
    wanted = count * SHM_FOR_EACH_GPU
    expected, observed = f"{wanted // _GIB} GiB", f"{total / _GIB:.1f} GiB"
    if total >= wanted:
        yield Finding(OK, "/dev/shm", expected, observed, "", "/dev/shm")
    else:
        reason = f"smaller than 1 GiB for each of {count} GPUs"
        yield Finding(WARN, "/dev/shm", expected, observed, reason, "/dev/shm")
