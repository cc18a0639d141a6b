# SPDX-License-Identifier: Apache-2.0
"""Read what the running services allow the jobs that they start: the limit of locked memory."""

from __future__ import annotations

import os
import re
from typing import Any, Dict, List, Optional

from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree, to_int

PROC = "/proc"
# Jobs inherit from these; PAM's limits do not reach a service.
NAMES = ("slurmd", "pbs_mom", "sge_execd", "containerd", "dockerd", "crio", "kubelet", "sshd")
UNIT_FOLDERS = ("/etc/systemd/system", "/run/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system")
_LOCKED = re.compile(r"^Max locked memory\s+(\S+)\s+(\S+)", re.MULTILINE)

Json = Dict[str, Any]


def read_services(tree: Tree) -> List[Json]:
    """Return [{"name", "pid", "memlock_soft", "memlock_hard"}] of the services that start jobs.

    Of each name the process with the lowest number, which is the service itself. Limits are in bytes, "unlimited",
    or None with a problem.
    """
    found: Dict[str, int] = {}
    proc = tree.root.rstrip("/") + PROC
    names = tree.list_folder("services", PROC) or []
    for pid in sorted(int(name) for name in names if name.isdigit()):
        try:
            with open("%s/%d/comm" % (proc, pid), "rb") as stream:
                name = stream.read(64).strip().decode("utf-8", "replace")
        except OSError:
            # It ended while we looked.
            continue
        if name in NAMES:
            found.setdefault(name, pid)
    return [_service(tree, name, pid) for name, pid in sorted(found.items())]


def _service(tree: Tree, name: str, pid: int) -> Json:
    path = "%s/%d/limits" % (PROC, pid)
    limits = parse_memlock(tree.read_text("services", path) or "")
    return {"name": name, "pid": pid, "memlock_soft": limits[0], "memlock_hard": limits[1]}


def parse_memlock(text: str) -> List[Any]:
    """Return the soft and the hard limit of a /proc/PID/limits text: bytes, "unlimited" or None."""
    found = _LOCKED.search(text)
    return [_limit(found.group(index)) if found else None for index in (1, 2)]


def _limit(word: str) -> Any:
    return word if word == "unlimited" else to_int(word)


def read_loaders(tree: Tree, module: str) -> List[str]:
    """Return the files that load a module on purpose at boot: units, modules-load.d, rc.local."""
    asks = re.compile(r"\bmodprobe\b[^\n;&|]*\s%s\b" % re.escape(module))
    found: List[str] = []
    for path in _unit_files(tree) + ["/etc/rc.local"]:
        text = tree.read_text("modules", path, optional=True)
        if text and any(asks.search(line) for line in text.splitlines() if not line.lstrip().startswith(("#", ";"))):
            found.append(path)
    for folder in ("/etc/modules-load.d", "/run/modules-load.d", "/usr/lib/modules-load.d"):
        for name in tree.list_folder("modules", folder, optional=True) or []:
            path = "%s/%s" % (folder, name)
            if name.endswith(".conf") and module in _listed(tree.read_text("modules", path, optional=True)):
                found.append(path)
    if module in _listed(tree.read_text("modules", "/etc/modules", optional=True)):
        found.append("/etc/modules")
    return found


def _unit_files(tree: Tree) -> List[str]:
    """Return the site's own units. Those of packages are read only where one is named after the driver."""
    own = UNIT_FOLDERS[0]
    found = [
        "%s/%s" % (own, name)
        for name in tree.list_folder("modules", own, optional=True) or []
        if name.endswith(".service") and _is_file(tree, "%s/%s" % (own, name))
    ]
    for folder in UNIT_FOLDERS[1:3]:
        found += [
            "%s/%s" % (folder, name)
            for name in tree.list_folder("modules", folder, optional=True) or []
            if name.endswith(".service") and "amdgpu" in name
        ]
    return found


def _is_file(tree: Tree, path: str) -> bool:
    # Most entries are links to packages' units, which are not the site's.
    try:
        return not os.path.islink(tree.host_path(path, follow=False))
    except OSError:
        return False


def _listed(text: Optional[str]) -> List[str]:
    lines = [line.strip() for line in (text or "").splitlines()]
    return [line.split()[0].replace("-", "_") for line in lines if line and line[0] not in "#;"]
