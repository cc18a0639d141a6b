# SPDX-License-Identifier: Apache-2.0
"""Read a kernel module's file: where it is, and who signed it."""

from __future__ import annotations

import struct
from typing import Any, Dict, Optional

from ansible_collections.instinct.bringup.plugins.module_utils.der import DerError, signature_issuer
from ansible_collections.instinct.bringup.plugins.module_utils.file_piece import read_at
from ansible_collections.instinct.bringup.plugins.module_utils.probe import Probe, ask
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

# Where modprobe finds amdgpu: depmod prefers updates to the kernel's own.
_FOLDERS = ("updates/dkms", "updates", "extra", "weak-updates", "kernel/drivers/gpu/drm/amd/amdgpu")
_SUFFIXES = (".ko", ".ko.zst", ".ko.xz", ".ko.gz")
_MAGIC = b"~Module signature appended~\n"
# include/linux/module_signature.h: algorithm, hash, id type, two lengths, padding, length of the signature.
_TRAILER = struct.Struct(">BBBBB3xI")
_PKCS7 = 2
# No signature is longer.
_TAIL_BYTES = 8192

Json = Dict[str, Any]


def read_module_file(tree: Tree, release: str, module: str, probe: Optional[Probe]) -> Json:
    """Return {"path", "signed", "signer"} of the module that modprobe takes on a kernel.

    signed: None where it cannot be told. A compressed module is only read by modinfo, on the machine itself.
    """
    path = find_module(tree, release, module)
    if path is None:
        return {"path": None, "signed": None, "signer": None}
    if not path.endswith(".ko"):
        if probe is None:
            tree.problem("modules", path, "compressed: its signature is read on the machine itself only")
            return {"path": path, "signed": None, "signer": None}
        said = ask(tree, "modules", probe, ["modinfo", "-F", "signer", tree.root.rstrip("/") + path])
        name = said.strip() if said is not None else None
        return {"path": path, "signed": bool(name) if name is not None else None, "signer": name or None}
    tail = read_at(tree, "modules", path, -_TAIL_BYTES, _TAIL_BYTES)
    if tail is None:
        return {"path": path, "signed": None, "signer": None}
    if not tail.endswith(_MAGIC):
        return {"path": path, "signed": False, "signer": None}
    try:
        return {"path": path, "signed": True, "signer": signer_of(tail)}
    except (DerError, ValueError) as error:
        tree.problem("modules", path, "its signature cannot be read: %s" % error)
        return {"path": path, "signed": True, "signer": None}


def find_module(tree: Tree, release: str, module: str) -> Optional[str]:
    """Return the path of a module's file on a kernel, None where there is none."""
    for folder in _FOLDERS:
        for suffix in _SUFFIXES:
            path = "/lib/modules/%s/%s/%s%s" % (release, folder, module, suffix)
            if tree.exists(path):
                return path
    return None


def signer_of(tail: bytes) -> Optional[str]:
    """Return who signed a module, from the end of its file. Raises DerError, ValueError."""
    body = tail[: -len(_MAGIC)]
    if len(body) < _TRAILER.size:
        raise ValueError("cut short")
    _algorithm, _hash, kind, _signer, _key, size = _TRAILER.unpack_from(body, len(body) - _TRAILER.size)
    end = len(body) - _TRAILER.size
    if kind != _PKCS7 or size > end:
        raise ValueError("a signature of type %d and %d bytes" % (kind, size))
    return signature_issuer(body[end - size : end])
