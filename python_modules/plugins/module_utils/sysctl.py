# SPDX-License-Identifier: Apache-2.0
"""Read the kernel's tunables as they are, and as the next boot would set them."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence, Tuple

from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

# sysctl.d(5): a file in an earlier folder hides those of the same name in later ones.
FOLDERS = ("/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d", "/usr/lib/sysctl.d", "/lib/sysctl.d")
# systemd does not read it, but Debian and Ubuntu link it into /etc/sysctl.d as 99-sysctl.conf.
OLD_FILE = "/etc/sysctl.conf"
KEYS = ("kernel.numa_balancing", "vm.zone_reclaim_mode", "vm.max_map_count", "kernel.modules_disabled")

Json = Dict[str, Any]


def parse_sysctl(text: str) -> List[Tuple[str, str]]:
    """Return the (key, value) lines of a sysctl.d text, keys with dots. The "-" that hides errors is dropped."""
    found: List[Tuple[str, str]] = []
    for line in text.splitlines():
        line = line.strip()
        if not line or line[0] in "#;":
            continue
        key, equals, value = line.partition("=")
        if equals:
            found.append((normal_key(key.strip().lstrip("-")), value.strip()))
    return found


def normal_key(key: str) -> str:
    """Return kernel.numa_balancing of kernel/numa_balancing: the first separator tells which is meant."""
    slash, dot = key.find("/"), key.find(".")
    return key.replace("/", ".") if slash >= 0 and (dot < 0 or slash < dot) else key


def read_sysctl(tree: Tree, keys: Sequence[str] = KEYS) -> Dict[str, Json]:
    """Return the snapshot's "sysctl": {key: {"now", "next", "next_from", "set_by"}}.

    now: the value at work, None where this kernel has no such tunable. next: what the last file sets, None
    where none does, and then the kernel's own default comes. set_by: every file that sets it, in order.
    """
    settings: Dict[str, List[Json]] = {key: [] for key in keys}
    for path in _files(tree):
        text = tree.read_text("sysctl", path, optional=True)
        for key, value in parse_sysctl(text or ""):
            if key in settings:
                settings[key].append({"path": path, "value": value})
    for word in (tree.read_text("sysctl", "/proc/cmdline", optional=True) or "").split():
        key, equals, value = word.partition("=")
        # The kernel sets these before any file is read: the files win.
        if equals and key.startswith("sysctl.") and normal_key(key[7:]) in settings:
            settings[normal_key(key[7:])].insert(0, {"path": "/proc/cmdline", "value": value})
        elif key == "numa_balancing" and "kernel.numa_balancing" in settings:
            value = {"disable": "0", "enable": "1"}.get(value, value)
            settings["kernel.numa_balancing"].insert(0, {"path": "/proc/cmdline", "value": value})
    return {key: _entry(tree, key, places) for key, places in settings.items()}


def _entry(tree: Tree, key: str, places: List[Json]) -> Json:
    last: Optional[Json] = places[-1] if places else None
    return {
        "now": tree.read_line("sysctl", "/proc/sys/" + key.replace(".", "/"), optional=True),
        "next": last["value"] if last else None,
        "next_from": last["path"] if last else None,
        "set_by": places,
    }


def _files(tree: Tree) -> List[str]:
    files: Dict[str, str] = {}
    for folder in FOLDERS:
        for name in tree.list_folder("sysctl", folder, optional=True) or []:
            if name.endswith(".conf"):
                files.setdefault(name, "%s/%s" % (folder, name))
    return [path for _name, path in sorted(files.items())]
