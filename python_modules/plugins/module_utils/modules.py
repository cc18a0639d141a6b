# SPDX-License-Identifier: Apache-2.0
"""Read the state of the amdgpu kernel module, and what keeps it from loading by itself."""

from __future__ import annotations

import re
from typing import Any, Dict, List, Optional

from ansible_collections.instinct.bringup.plugins.module_utils.module_file import read_module_file
from ansible_collections.instinct.bringup.plugins.module_utils.probe import Probe
from ansible_collections.instinct.bringup.plugins.module_utils.services import read_loaders
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

MODULE = "amdgpu"
MODULE_ROOT = "/sys/module"
# modprobe.d(5): a file in an earlier folder hides those of the same name in later ones.
CONFIG_FOLDERS = (
    "/etc/modprobe.d",
    "/run/modprobe.d",
    "/usr/local/lib/modprobe.d",
    "/usr/lib/modprobe.d",
    "/lib/modprobe.d",
)
_CMDLINE_KEYS = ("modprobe.blacklist", "module_blacklist")
_REFUSES = re.compile(r"^(/usr)?/?s?bin/(false|true)\b|^(false|true)\b")


def read_modules(tree: Tree, probe: Optional[Probe] = None) -> Dict[str, Any]:
    """Return the snapshot's "modules".

    version is None for the kernel's own amdgpu: only a dkms build carries one. A module built into
    the kernel has a folder in /sys/module, but no initstate. file: what modprobe would load on the running
    kernel. loaders: what loads the module on purpose although it is blacklisted.
    """
    release = tree.read_line("modules", "/proc/sys/kernel/osrelease", optional=True)
    folder = "%s/%s" % (MODULE_ROOT, MODULE)
    return {
        MODULE: {
            "loaded": tree.is_folder(folder),
            "version": tree.read_line("modules", folder + "/version", optional=True),
            "initstate": tree.read_line("modules", folder + "/initstate", optional=True),
            "refcount": tree.read_int("modules", folder + "/refcnt", optional=True),
        },
        "blacklisted_by": _blacklisted_by(tree),
        "file": read_module_file(tree, release, MODULE, probe) if release else None,
        "loaders": read_loaders(tree, MODULE),
    }


def _blacklisted_by(tree: Tree) -> List[str]:
    files: Dict[str, str] = {}
    for folder in CONFIG_FOLDERS:
        for name in tree.list_folder("modules", folder, optional=True) or []:
            if name.endswith(".conf"):
                files.setdefault(name, "%s/%s" % (folder, name))
    found = [path for _name, path in sorted(files.items()) if blacklists(tree.read_text("modules", path) or "", MODULE)]
    cmdline = tree.read_text("modules", "/proc/cmdline", optional=True) or ""
    return found + (["cmdline"] if cmdline_blacklists(cmdline, MODULE) else [])


def blacklists(text: str, module: str) -> bool:
    """Say whether a modprobe.d text keeps a module from loading: blacklist, or install with /bin/false."""
    for line in text.replace("\\\n", " ").splitlines():
        fields = line.split(None, 2)
        # modprobe takes - and _ for the same.
        if len(fields) < 2 or fields[1].replace("-", "_") != module:
            continue
        if fields[0] == "blacklist" or (fields[0] == "install" and _REFUSES.match(fields[-1])):
            return True
    return False


def cmdline_blacklists(cmdline: str, module: str) -> bool:
    """Say whether a kernel command line keeps a module from loading."""
    for word in cmdline.split():
        key, _, value = word.partition("=")
        if key.replace("-", "_") in _CMDLINE_KEYS and module in value.replace("-", "_").split(","):
            return True
    return False
