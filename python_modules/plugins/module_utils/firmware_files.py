# SPDX-License-Identifier: Apache-2.0
"""Read which firmware files of Instinct cards the kernel can find, and which of them a package has lost."""

from __future__ import annotations

from typing import Any, Dict, List

from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

PARAMETER = "/sys/module/firmware_class/parameters/path"
DPKG_LISTS = "/var/lib/dpkg/info"
# The names that begin the files of MI100, MI200 and MI300 cards.
STEMS = ("aldebaran_", "arcturus_", "gc_9_4_", "psp_13_0_6", "sdma_4_4_2", "vcn_4_0_3", "smu_13_0_6")
_PACKAGES = ("linux-firmware", "firmware-amd-graphics", "amdgpu-dkms-firmware")
_COMPRESSED = (".zst", ".xz")

Json = Dict[str, Any]


def read_firmware_files(tree: Tree, release: str) -> Json:
    """Return the snapshot's "firmware_files".

    found: {file such as "aldebaran_mec.bin": the first place in the kernel's own order}. missing: what a
    package put there and is gone: [{"package", "path"}].
    """
    found: Dict[str, str] = {}
    for folder in search_folders(tree, release):
        for name in tree.list_folder("firmware_files", folder + "/amdgpu", optional=True) or []:
            if name.startswith(STEMS):
                found.setdefault(plain_name(name), "%s/amdgpu/%s" % (folder, name))
    return {"found": found, "missing": _lost(tree)}


def search_folders(tree: Tree, release: str) -> List[str]:
    """Return where the kernel looks for firmware, in its order."""
    own = tree.read_line("firmware_files", PARAMETER, optional=True)
    folders = [own] if own and own.startswith("/") else []
    if release:
        folders.append("/lib/firmware/updates/" + release)
    folders.append("/lib/firmware/updates")
    if release:
        folders.append("/lib/firmware/" + release)
    return folders + ["/lib/firmware"]


def plain_name(name: str) -> str:
    """Return a firmware file's name as the driver asks for it, without what compressed it."""
    for suffix in _COMPRESSED:
        if name.endswith(suffix):
            return name[: -len(suffix)]
    return name


def _lost(tree: Tree) -> List[Json]:
    lost: List[Json] = []
    for package in _PACKAGES:
        text = tree.read_text("firmware_files", "%s/%s.list" % (DPKG_LISTS, package), optional=True)
        for path in (text or "").splitlines():
            folder, _, name = path.rpartition("/")
            if folder.endswith("/amdgpu") and name.startswith(STEMS) and tree.presence(path) is False:
                lost.append({"package": package, "path": path})
    return lost
