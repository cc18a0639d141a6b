# SPDX-License-Identifier: Apache-2.0
"""Write the report's files whole or not at all, under names that no node can choose."""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import re
import tempfile
import typing as t

# Longest name that every usual file system takes, less room for a suffix and a temporary name.
MAX_NAME = 180


def safe_name(host: str) -> str:
    """Return a file name for a host: one of its own for every host, and never a path.

    Letters, digits, dot, dash and underscore stay, anything else becomes %XX of its UTF-8 bytes; so
    does a leading dot. A long name is cut and ends with its digest.
    """
    name = re.sub(rb"[^A-Za-z0-9._-]", lambda found: b"%%%02X" % found.group()[0], _utf8(host)).decode("ascii")
    if name.startswith("."):
        name = f"%2E{name[1:]}"
    if len(name) > MAX_NAME:
        return f"{name[: MAX_NAME - 65]}%{hashlib.sha256(_utf8(host)).hexdigest()}"
    return name or "%"


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def write_text(path: pathlib.Path, text: str, mode: int = 0o640) -> None:
    """Replace a file at once: a reader sees the old text or the new one.

    :raises OSError: the folder is not there or not writable, or the disk is full; nothing is left behind.
    """
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:40]}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="surrogateescape") as stream:
            stream.write(text)
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def write_json(path: pathlib.Path, value: t.Any) -> None:
    """Replace a file by a value as JSON, in ASCII so that no reader's encoding matters."""
    write_text(path, json.dumps(value, separators=(",", ":"), default=str) + "\n")


def read_json(path: pathlib.Path) -> dict[str, t.Any]:
    """Return the object that a file holds.

    :raises OSError: it cannot be read. :raises ValueError: it holds no JSON object.
    """
    value = json.loads(path.read_text(encoding="utf-8", errors="surrogateescape"))
    if not isinstance(value, dict):
        raise ValueError(f"{path} holds no JSON object")
    return value


def replace_link(link: pathlib.Path, target: str) -> None:
    """Let a symbolic link lead to target at once, also where another one stands.

    :raises OSError: the folder is not writable, or something else than a link has the name.
    """
    temporary = link.with_name(f".{link.name}.{os.getpid()}")
    temporary.unlink(missing_ok=True)
    temporary.symlink_to(target)
    try:
        os.replace(temporary, link)
    except OSError:
        temporary.unlink()
        raise
