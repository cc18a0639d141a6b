# SPDX-License-Identifier: Apache-2.0
"""Read AMD's trees of dkms from its folder, as `dkms status` does, but without running it.

dkms itself stops at the first tree whose source is gone, and that is a tree we look for.
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional

from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

DKMS_ROOT = "/var/lib/dkms"
# amdgpu, and the companions that older drivers registered.
_FAMILY = "amd"
# Where dkms puts a module: Debian and Ubuntu, then Red Hat and SUSE.
_DESTINATIONS = ("updates/dkms", "updates", "extra", "weak-updates")


def read_dkms(tree: Tree) -> Dict[str, List[Dict[str, Any]]]:
    """Return the snapshot's "dkms". Without /var/lib/dkms there are no trees, and that is no problem."""
    trees: List[Dict[str, Any]] = []
    for module in tree.list_folder("dkms", DKMS_ROOT, optional=True) or []:
        if not module.startswith(_FAMILY):
            continue
        folder = "%s/%s" % (DKMS_ROOT, module)
        for version in tree.list_folder("dkms", folder) or []:
            place = "%s/%s" % (folder, version)
            # kernel-RELEASE-ARCH links lie beside the versions; original_module keeps replaced ones.
            if version == "original_module" or version.startswith("kernel-") or not tree.is_folder(place):
                continue
            trees.append(
                {
                    "module": module,
                    "version": version,
                    "path": place,
                    "has_source": tree.exists(place + "/source/dkms.conf"),
                    "kernels": _kernels(tree, module, place),
                }
            )
    return {"trees": trees}


def _kernels(tree: Tree, module: str, place: str) -> Dict[str, str]:
    kernels: Dict[str, str] = {}
    for kernel in tree.list_folder("dkms", place) or []:
        if not kernel[:1].isdigit() or not tree.is_folder("%s/%s" % (place, kernel)):
            continue
        for arch in tree.list_folder("dkms", "%s/%s" % (place, kernel)) or []:
            built = "%s/%s/%s" % (place, kernel, arch)
            names = tree.list_folder("dkms", built + "/module", optional=True) or []
            names = [name for name in names if ".ko" in name]
            if not names:
                continue
            if _is_installed(tree, module, kernel, arch, built, names):
                kernels[kernel] = "installed"
            else:
                kernels.setdefault(kernel, "built")
    return kernels


def _is_installed(tree: Tree, module: str, kernel: str, arch: str, built: str, names: List[str]) -> bool:
    """Say whether dkms installed this build, and its modules are still there for modprobe."""
    link = "%s/%s/kernel-%s-%s" % (DKMS_ROOT, module, kernel, arch)
    if _resolved(tree, link) != _resolved(tree, built):
        return False
    there = {
        name.partition(".ko")[0]
        for destination in _DESTINATIONS
        for name in tree.list_folder("dkms", "/lib/modules/%s/%s" % (kernel, destination), optional=True) or []
    }
    return all(name.partition(".ko")[0] in there for name in names)


def _resolved(tree: Tree, path: str) -> Optional[str]:
    try:
        return tree.resolve(path)
    except OSError:
        return None
