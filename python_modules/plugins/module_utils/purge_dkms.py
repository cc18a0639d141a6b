# SPDX-License-Identifier: Apache-2.0
"""Remove what is left of a dkms module: its tree, and the built modules that belong to that tree."""

from __future__ import annotations

import glob
import os
import shutil
from typing import NamedTuple, Sequence

from ansible_collections.instinct.bringup.plugins.module_utils.command_runner import NOT_FOUND, last_words
from ansible_collections.instinct.bringup.plugins.module_utils.purge_request import Node, PurgeFailed

_STATE = "/var/lib/dkms"

# What AMD's source builds beside the module that names it (packages of ROCm 5.x to 6.x).
_FAMILY = {"amdgpu": ("amdgpu", "amdttm", "amdkcl", "amd-sched", "amd_sched", "amddrm_*", "amdxcp")}


class DkmsTree(NamedTuple):
    """One version of a dkms module. has_source: dkms can still work with it; built: paths of its modules."""

    module: str
    version: str
    has_source: bool
    links: Sequence[str]
    built: Sequence[str]

    @property
    def name(self) -> str:
        """Return the name that dkms takes."""
        return f"{self.module}/{self.version}"

    @property
    def path(self) -> str:
        """Return the path of the tree."""
        return f"{_STATE}/{self.name}"

    @property
    def kernels(self) -> list[str]:
        """Return the kernels that have a module of this tree."""
        return sorted({path.split("/")[3] for path in self.built})


def find_dkms_trees(node: Node, wanted: Sequence[tuple[str, str]]) -> list[DkmsTree]:
    """Return the trees that are there, with what of /lib/modules belongs to each."""
    found = []
    for module, version in wanted:
        path = node.at(f"{_STATE}/{module}/{version}")
        if not os.path.lexists(path):
            continue
        links = _installed_links(node, module, version)
        built = _built(node, module, version, links)
        if not _others(node, module, [item[1] for item in wanted if item[0] == module]):
            # No version stays, so a module that no link speaks of can only be an orphan of these.
            built.extend(_pattern(node, "*", module))
        has_source = os.path.isfile(os.path.join(path, "source", "dkms.conf"))
        found.append(DkmsTree(module, version, has_source, links, sorted(set(built))))
    return found


def remove_dkms_tree(node: Node, tree: DkmsTree) -> None:
    """Remove the tree with dkms where dkms can, then whatever it left. PurgeFailed names what stays."""
    if tree.has_source:
        # Its answer does not matter: what it leaves, or cannot do, is removed below.
        node.run(["dkms", "remove", tree.name, "--all"])
    try:
        for path in [*tree.built, *tree.links]:
            if os.path.lexists(node.at(path)):
                os.unlink(node.at(path))
        if os.path.lexists(node.at(tree.path)):
            shutil.rmtree(node.at(tree.path))
        parent = os.path.dirname(node.at(tree.path))
        if os.path.isdir(parent) and not os.listdir(parent):
            os.rmdir(parent)
    except OSError as error:
        raise PurgeFailed(
            f"cannot remove {error.filename or tree.path}: {error.strerror} (errno {error.errno})"
        ) from error


def refresh_kernels(node: Node, kernels: Sequence[str]) -> None:
    """Make the module index and the initial RAM disk of kernels forget modules that are gone."""
    for kernel in kernels:
        commands = []
        if os.path.isdir(node.at(f"/lib/modules/{kernel}")):
            commands.append(["depmod", kernel])
        if os.path.exists(node.at(f"/boot/initrd.img-{kernel}")):
            commands.append(["update-initramfs", "-u", "-k", kernel])
        for argv in commands:
            result = node.run(argv)
            if result.rc not in (0, NOT_FOUND):
                raise PurgeFailed(f"{' '.join(argv)} failed (exit {result.rc}): {last_words(result)}")


def _installed_links(node: Node, module: str, version: str) -> list[str]:
    """Return the links kernel-KERNEL-ARCH by which dkms says that this version is the installed one."""
    folder = f"{_STATE}/{module}"
    return [
        f"{folder}/{name}"
        for name in _names(node.at(folder))
        if name.startswith("kernel-") and _target(node.at(f"{folder}/{name}")).startswith(f"{version}/")
    ]


def _built(node: Node, module: str, version: str, links: Sequence[str]) -> list[str]:
    built: list[str] = []
    for link in links:
        # VERSION/KERNEL/ARCH
        _version, kernel, architecture = (*_target(node.at(link)).split("/"), "", "")[:3]
        if not kernel or kernel in (".", ".."):
            continue
        names = _names(node.at(f"{_STATE}/{module}/{version}/{kernel}/{architecture}/module"))
        paths = [f"/lib/modules/{kernel}/updates/dkms/{name}" for name in names]
        built.extend(paths or _pattern(node, kernel, module))
    return [path for path in built if os.path.lexists(node.at(path))]


def _pattern(node: Node, kernel: str, module: str) -> list[str]:
    chosen = kernel if kernel == "*" else glob.escape(kernel)
    root = node.root.rstrip("/")
    paths: list[str] = []
    for name in _FAMILY.get(module, (glob.escape(module),)):
        paths.extend(glob.glob(f"{glob.escape(root)}/lib/modules/{chosen}/updates/dkms/{name}.ko*"))
    return [path[len(root) :] for path in paths]


def _others(node: Node, module: str, versions: Sequence[str]) -> list[str]:
    names = _names(node.at(f"{_STATE}/{module}"))
    return [name for name in names if not name.startswith("kernel-") and name not in versions]


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _target(link: str) -> str:
    try:
        return os.readlink(link)
    except OSError:
        return ""
