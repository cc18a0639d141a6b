# SPDX-License-Identifier: Apache-2.0
"""Read whether Secure Boot is on and whose keys the machine trusts for kernel modules."""

from __future__ import annotations

import struct
from typing import Any, Dict, List, Optional

from ansible_collections.instinct.bringup.plugins.module_utils.der import DerError, certificate_subject
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

EFI = "/sys/firmware/efi"
VARIABLES = EFI + "/efivars"
_GLOBAL = "8be4df61-93ca-11d2-aa0d-00e098032b8c"
_SECURITY = "d719b2cb-3d3a-4596-a3bc-dad00e67656f"
_SHIM = "605dab50-e046-4300-abb6-3dd810dd8b23"
# Variables with lists of certificates: the machine owner's own, and the firmware's.
_LISTS = ("MokListRT-" + _SHIM, "db-" + _SECURITY)
# EFI_CERT_X509_GUID a5c059a1-94e4-4aa7-87b5-ab155c2bf072, as its bytes lie in a list.
_X509 = bytes.fromhex("a159c0a5e494a74a87b5ab155c2bf072")
_LIST_HEADER = struct.Struct("<16sIII")
_OWNER_BYTES = 16
# The first four bytes of a variable's file are its attributes.
_ATTRIBUTES = 4
LOCKDOWN = "/sys/kernel/security/lockdown"
KEYS = "/proc/keys"

Json = Dict[str, Any]


def read_secure_boot(tree: Tree) -> Json:
    """Return the snapshot's "secure_boot".

    efi: whether the machine was started by EFI at all. enabled: None where it cannot be told. enrolled: names of the
    certificates in the firmware's and the owner's lists. kernel_keys: names of the keys that the kernel itself
    holds, None where they may not be read. lockdown: "none", "integrity" or "confidentiality".
    """
    efi = tree.presence(EFI)
    there = tree.presence(VARIABLES) if efi else False
    return {
        "efi": efi,
        "enabled": _flag(tree, "SecureBoot-" + _GLOBAL) if there else (False if efi is False else None),
        "setup_mode": _flag(tree, "SetupMode-" + _GLOBAL) if there else None,
        "enrolled": _enrolled(tree) if there else None,
        "kernel_keys": _kernel_keys(tree),
        "lockdown": _lockdown(tree),
    }


def _variable(tree: Tree, name: str) -> Optional[bytes]:
    data = tree.read_bytes("secure_boot", "%s/%s" % (VARIABLES, name), optional=True)
    return data[_ATTRIBUTES:] if data is not None and len(data) > _ATTRIBUTES else None


def _flag(tree: Tree, name: str) -> Optional[bool]:
    data = _variable(tree, name)
    if data is None or data[0] > 1:
        tree.problem("secure_boot", "%s/%s" % (VARIABLES, name), "it does not say 0 or 1")
        return None
    return data[0] == 1


def _enrolled(tree: Tree) -> List[str]:
    names: List[str] = []
    for variable in _LISTS:
        data = _variable(tree, variable)
        if data is None:
            continue
        try:
            names += [subject for subject in list_subjects(data) if subject not in names]
        except (DerError, ValueError) as error:
            tree.problem("secure_boot", "%s/%s" % (VARIABLES, variable), str(error))
    return names


def list_subjects(data: bytes) -> List[str]:
    """Return the names of the certificates in EFI signature lists; hashes have none. Raises ValueError."""
    names: List[str] = []
    at = 0
    while at + _LIST_HEADER.size <= len(data):
        kind, size, header, each = _LIST_HEADER.unpack_from(data, at)
        if size < _LIST_HEADER.size + header or at + size > len(data) or each <= _OWNER_BYTES:
            raise ValueError("a signature list of %d bytes at %d, of %d" % (size, at, len(data)))
        if kind == _X509:
            first = at + _LIST_HEADER.size + header
            for start in range(first, at + size - each + 1, each):
                subject = certificate_subject(data[start + _OWNER_BYTES : start + each])
                if subject is not None:
                    names.append(subject)
        at += size
    return names


def _kernel_keys(tree: Tree) -> Optional[List[str]]:
    text = tree.read_text("secure_boot", KEYS, optional=True)
    return parse_keys(text) if text is not None else None


def parse_keys(text: str) -> List[str]:
    """Return the names of the asymmetric keys of a /proc/keys text."""
    names: List[str] = []
    for line in text.splitlines():
        fields = line.split(None, 8)
        if len(fields) == 9 and fields[7] == "asymmetri":
            # "Canonical Ltd. Master Certificate Authority: ad91990bc22ab1f517048c23b6655a268e345a63: X509.rsa … []"
            names.append(fields[8].partition(": ")[0])
    return names


def _lockdown(tree: Tree) -> Optional[str]:
    text = tree.read_text("secure_boot", LOCKDOWN, optional=True) or ""
    return next((word[1:-1] for word in text.split() if word.startswith("[") and word.endswith("]")), None)
