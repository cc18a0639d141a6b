# SPDX-License-Identifier: Apache-2.0
"""Fetch a file of environment variables, and what its values may refer to on the same machine."""

from __future__ import annotations

import errno
import os
import re
import stat
from typing import Any, Dict, List, Optional

from ansible_collections.instinct.bringup.plugins.module_utils import gpu, kfd, network
from ansible_collections.instinct.bringup.plugins.module_utils.pci import PciBus
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree, as_text

MAX_BYTES = 16 * 1024 * 1024
# Files that values name: topologies and rings. RCCL's own are some 20 kB.
MAX_REFERENCED = 1024 * 1024
MAX_FILES = 8
_REFERENCE = re.compile(rb"NCCL_(?:TOPO|GRAPH)_FILE[ \t]*[=,][ \t]*[\"']?(/[^\s\"';|&)\0]+)")

Json = Dict[str, Any]


def read_source(path: str, root: str) -> bytes:
    """Return a file's bytes. A path that does not exist as it stands is looked for below root.

    :raises OSError: it cannot be read, is no regular file, or is larger than MAX_BYTES.
    """
    if not os.path.exists(path) and root != "/":
        path = Tree(root).host_path(path)
    # A pipe or a terminal would block the open itself.
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as stream:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", path)
        data = stream.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise OSError(errno.EFBIG, "more than %d MiB, which no file of settings is" % (MAX_BYTES >> 20), path)
    return data


def read_host(root: str, data: bytes) -> Json:
    """Return interfaces, adapters, GPUs and the files that values in data name, in the snapshot's form.

    files: path to text, None for one that is not there, too large or no text.
    """
    tree = Tree(root)
    bus = PciBus(tree)
    addresses = bus.addresses()
    cards = None if addresses is None else gpu.read_gpus(tree, bus, addresses)
    net = network.read_net(tree) if tree.exists(network.NET_ROOT) else None
    if net is not None and not tree.exists(network.HCA_ROOT):
        net["hcas"] = []
    return {
        "net": net,
        "kfd": kfd.read_kfd(tree) if tree.exists(kfd.TOPOLOGY) else None,
        "pci": None if cards is None else {"gpus": [{"bdf": card["bdf"], "class": card["class"]} for card in cards]},
        "files": {path: _referenced(tree, path) for path in referenced_paths(data)},
    }


def referenced_paths(data: bytes) -> List[str]:
    """Return the absolute paths that NCCL_TOPO_FILE and NCCL_GRAPH_FILE name, the first few."""
    found: List[str] = []
    for path in _REFERENCE.findall(data):
        name = path.decode("utf-8", "replace")
        if name not in found and len(found) < MAX_FILES:
            found.append(name)
    return found


def _referenced(tree: Tree, path: str) -> Optional[str]:
    data = tree.read_bytes("env", path, optional=True, limit=MAX_REFERENCED)
    if data is None and tree.root != "/":
        data = Tree().read_bytes("env", path, optional=True, limit=MAX_REFERENCED)
    return None if data is None else as_text(data)
