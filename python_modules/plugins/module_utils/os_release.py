# SPDX-License-Identifier: Apache-2.0
"""Read which distribution, processor architecture and kind of machine this is."""

from __future__ import annotations

import re
from typing import Dict, Optional

from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

_ASSIGNMENT = re.compile(r"^([A-Z][A-Z0-9_]*)=(.*)$")
_UNESCAPE = re.compile(r"\\([\"'$`\\])")

# Files that container engines put into every container, and the engine.
_ENGINE_FILES = (("/run/.containerenv", "podman"), ("/.dockerenv", "docker"))
# sys_vendor as the firmware of virtual machines writes it.
_HYPERVISORS = {
    "qemu": "kvm",
    "vmware, inc.": "vmware",
    "innotek gmbh": "oracle",
    "xen": "xen",
    "microsoft corporation": "microsoft",
    "amazon ec2": "amazon",
    "google": "google",
    "openstack foundation": "kvm",
}
# ELF header: machine number at byte 18.
_MACHINES = {62: "x86_64", 183: "aarch64", 21: "ppc64le"}


def parse_os_release(text: str) -> Dict[str, str]:
    """Return the assignments of an os-release text, quotes removed. Other lines are dropped."""
    values: Dict[str, str] = {}
    for line in text.splitlines():
        found = _ASSIGNMENT.match(line.strip())
        if not found:
            continue
        name, value = found.groups()
        if len(value) >= 2 and value[0] in "\"'" and value[-1] == value[0]:
            value = value[1:-1]
        values[name] = _UNESCAPE.sub(r"\1", value)
    return values


def read_os(tree: Tree) -> Dict[str, Optional[str]]:
    """Return the snapshot's "os". Without /etc/os-release, /usr/lib/os-release is read."""
    text = tree.read_text("os", "/etc/os-release", optional=True)
    if text is None:
        text = tree.read_text("os", "/usr/lib/os-release")
    values = parse_os_release(text or "")
    return {
        "id": values.get("ID"),
        "id_like": values.get("ID_LIKE"),
        "version_id": values.get("VERSION_ID"),
        "codename": values.get("VERSION_CODENAME") or values.get("UBUNTU_CODENAME"),
        "pretty_name": values.get("PRETTY_NAME"),
        "machine": _machine(tree),
    }


def _machine(tree: Tree) -> Optional[str]:
    # The dynamic loader's own header tells what the programs below this root are built for.
    for path in ("/bin/sh", "/usr/bin/env"):
        header = tree.read_bytes("os", path, optional=True, limit=20, whole=False)
        if header and len(header) == 20 and header[:4] == b"\x7fELF" and header[5] == 1:
            return _MACHINES.get(int.from_bytes(header[18:20], "little"))
    tree.problem("os", "/bin/sh", "no ELF program to tell the architecture by")
    return None


def read_virtualization(tree: Tree) -> Optional[str]:
    """Return the container engine or hypervisor, None on bare metal (or when nothing tells)."""
    engine = tree.read_line("system", "/run/systemd/container", optional=True)
    if engine:
        return engine
    for path, name in _ENGINE_FILES:
        if tree.exists(path):
            return name
    vendor = (tree.read_line("system", "/sys/class/dmi/id/sys_vendor", optional=True) or "").lower()
    if vendor == "microsoft corporation":
        # The same vendor sells bare machines.
        product = tree.read_line("system", "/sys/class/dmi/id/product_name", optional=True) or ""
        return "microsoft" if product == "Virtual Machine" else None
    return _HYPERVISORS.get(vendor)
