# SPDX-License-Identifier: Apache-2.0
"""Read the keyrings that apt trusts: which keys they hold and until when."""

from __future__ import annotations

import time
from typing import Any, Dict, List, Optional, Sequence

from ansible_collections.instinct.bringup.plugins.module_utils.openpgp import Key, NotOpenPgp, read_keys
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

TRUSTED = "/etc/apt/trusted.gpg"
TRUSTED_FOLDER = "/etc/apt/trusted.gpg.d"
KEYRING_FOLDER = "/etc/apt/keyrings"

Json = Dict[str, Any]


def read_keyrings(tree: Tree, named: Sequence[str]) -> List[Json]:
    """Return the snapshot's apt "keyrings": those trusted for everything, and those that sources name.

    named: files from the sources' signed-by. A keyring that cannot be read is listed with a problem
    of its own, since apt cannot read it either.
    """
    paths = [TRUSTED] if tree.exists(TRUSTED) else []
    for folder in (TRUSTED_FOLDER, KEYRING_FOLDER):
        names = tree.list_folder("apt", folder, optional=True) or []
        paths.extend("%s/%s" % (folder, name) for name in names if name.endswith((".gpg", ".asc", ".pgp")))
    return [_keyring(tree, path) for path in dict.fromkeys([*paths, *named])]


def _keyring(tree: Tree, path: str) -> Json:
    data = tree.read_bytes("apt", path)
    if data is None:
        return {"path": path, "keys": [], "problem": "cannot be read"}
    try:
        keys = read_keys(data)
    except NotOpenPgp as error:
        return {"path": path, "keys": [], "problem": str(error)}
    return {"path": path, "keys": [key_as_json(key) for key in keys], "problem": None}


def key_as_json(key: Key) -> Json:
    """Return a key with its times in UTC, as the snapshot has it."""
    return {"fingerprint": key.fingerprint, "created": utc(key.created), "expires": utc(key.expires)}


def utc(seconds: Optional[int]) -> Optional[str]:
    """Return seconds since 1970 as "2026-12-01T08:00:00Z", None for None."""
    return None if seconds is None else time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
