# SPDX-License-Identifier: Apache-2.0
"""Read processors and memory."""

from __future__ import annotations

from typing import Any, Dict, List, Optional

from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree, parse_cpulist, to_int

# What limits a container, and what limits people's sessions: of both versions of control groups.
GROUP_LIMITS = (
    "/sys/fs/cgroup/memory.max",
    "/sys/fs/cgroup/user.slice/memory.max",
    "/sys/fs/cgroup/memory/memory.limit_in_bytes",
    "/sys/fs/cgroup/memory/user.slice/memory.limit_in_bytes",
)
NO_LIMIT = 1 << 62
CPU_ROOT = "/sys/devices/system/cpu"
CPUINFO = "/proc/cpuinfo"
# The first processor's paragraph; the whole file takes the kernel milliseconds on a large node.
_FIRST_PARAGRAPH = 4096


def parse_cpuinfo(text: str) -> List[Dict[str, str]]:
    """Return the paragraphs of /proc/cpuinfo, one a processor, as {key: value}."""
    processors: List[Dict[str, str]] = []
    current: Dict[str, str] = {}
    for line in text.splitlines():
        key, colon, value = line.partition(":")
        if colon:
            current[key.strip()] = value.strip()
        elif current:
            processors.append(current)
            current = {}
    if current:
        processors.append(current)
    return processors


def read_cpu(tree: Tree) -> Dict[str, Any]:
    """Return the snapshot's "cpu": logical processors that are online, sockets, vendor and model."""
    head = tree.read_bytes("cpu", CPUINFO, limit=_FIRST_PARAGRAPH, whole=False) or b""
    first = (parse_cpuinfo(head.decode("utf-8", "replace")) or [{}])[0]
    online = tree.read_line("cpu", CPU_ROOT + "/online", optional=True)
    numbers = parse_cpulist(online) if online is not None else None
    if online is not None and numbers is None:
        tree.problem("cpu", CPU_ROOT + "/online", "not a list of CPUs: %r" % online[:40])
    packages = _packages(tree, numbers or [])
    if not numbers or packages is None:
        everyone = parse_cpuinfo(tree.read_text("cpu", CPUINFO, optional=True, limit=64 * 1024 * 1024) or "")
        numbers = numbers or list(range(len(everyone)))
        named = {processor["physical id"] for processor in everyone if "physical id" in processor}
        packages = packages or (len(named) or None)
    active = tree.read_line("cpu", CPU_ROOT + "/smt/active", optional=True)
    return {
        "logical": len(numbers) or None,
        "sockets": packages,
        "vendor": first.get("vendor_id"),
        "family": to_int(first.get("cpu family", "")),
        "model": to_int(first.get("model", "")),
        "smt_active": {"0": False, "1": True}.get(active or ""),
    }


def _packages(tree: Tree, numbers: List[int]) -> Optional[int]:
    """Return the number of sockets, None when sysfs does not tell it of every processor."""
    seen = set()
    for number in numbers:
        path = "%s/cpu%d/topology/physical_package_id" % (CPU_ROOT, number)
        package = tree.read_line("cpu", path, optional=True)
        if package is None:
            return None
        seen.add(package)
    return len(seen) or None


def read_memory(tree: Tree) -> Dict[str, Optional[int]]:
    """Return the snapshot's "memory": what the kernel manages, and the least limit of the groups of jobs, in bytes."""
    return {"total_bytes": _memory_total(tree), "group_limit_bytes": _group_limit(tree)}


def _memory_total(tree: Tree) -> Optional[int]:
    text = tree.read_text("memory", "/proc/meminfo")
    for line in (text or "").splitlines():
        fields = line.split()
        if len(fields) == 3 and fields[0] == "MemTotal:" and fields[2] == "kB":
            kilobytes = to_int(fields[1])
            return kilobytes * 1024 if kilobytes is not None else None
    if text is not None:
        tree.problem("memory", "/proc/meminfo", "no MemTotal in it")
    return None


def _group_limit(tree: Tree) -> Optional[int]:
    """Return the least limit, None where no group that jobs run in has one."""
    limits = [to_int(tree.read_line("memory", path, optional=True) or "") for path in GROUP_LIMITS]
    # "max" is no number; the first version's word for no limit is the largest number of whole pages.
    known = [limit for limit in limits if limit is not None and limit < NO_LIMIT]
    return min(known) if known else None
