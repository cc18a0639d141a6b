# SPDX-License-Identifier: Apache-2.0
"""Write a machine's files as one text, and lay them out again.

    # instinct-bringup manifest 1
    folder PATH
    name PATH                    something is there, its content is not kept
    link PATH -> TARGET
    owner PATH MODE UID GID      of a device node
    file PATH                    the lines follow, each behind "|"; behind ":" one without an end of line
    bytes PATH BASE64            compressed with zlib

A text like this can be read, compared and mailed; a tar of sysfs cannot.
"""

from __future__ import annotations

import base64
import binascii
import os
import zlib
from typing import Dict, List, Optional

from ansible_collections.instinct.bringup.plugins.module_utils.recording import Owner, Recording
from ansible_collections.instinct.bringup.plugins.module_utils.scrub import Scrubber
from ansible_collections.instinct.bringup.plugins.module_utils.text import as_text

HEAD = "# instinct-bringup manifest 1"
# What a manifest may unfold to.
MAX_FILES = 200000
MAX_BYTES = 256 * 1024 * 1024
_ESCAPED = {"%": "%25", "\n": "%0A", "\r": "%0D", " ": "%20"}


class ManifestError(ValueError):
    """The text is not a manifest, or would write outside its folder; the message names the line."""


def render_manifest(recording: Recording, scrubber: Scrubber) -> str:
    """Return the manifest of a recording, scrubbed, in the order of the paths."""
    lines: List[str] = [HEAD, "# Serial numbers, addresses and people's names are replaced."]
    entries: Dict[str, List[str]] = {}
    for path in recording.folders:
        entries.setdefault(path, []).append("folder " + escape(path))
    for path in recording.names:
        entries.setdefault(path, []).append("name " + escape(path))
    for path, target in recording.links.items():
        entries.setdefault(path, []).append("link %s -> %s" % (escape(path), escape(target)))
    for path, data in recording.files.items():
        entries.setdefault(path, []).extend(_file(path, data, scrubber))
    for path, owner in recording.owners.items():
        entries.setdefault(path, []).append("owner %s %04o %d %d" % (escape(path), owner.mode, owner.uid, owner.gid))
    for path in sorted(entries):
        lines += entries[path]
    return "\n".join(lines) + "\n"


def _file(path: str, data: bytes, scrubber: Scrubber) -> List[str]:
    text = as_text(data)
    # A lone carriage return, or one of the ends of line that only Python knows, would not come back.
    if text is None or len(text.splitlines()) != text.count("\n") + (not text.endswith("\n") and text != ""):
        return ["bytes %s %s" % (escape(path), base64.b64encode(zlib.compress(data, 9)).decode("ascii"))]
    text = scrubber.text(path, text)
    *whole, rest = text.split("\n")
    return ["file " + escape(path)] + ["|" + line for line in whole] + ([":" + rest] if rest else [])


def escape(path: str) -> str:
    """Return a path as one word of a line."""
    printable = path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return "".join(_ESCAPED.get(letter, letter) for letter in printable)


def _unescape(word: str) -> str:
    for letter, escaped in list(_ESCAPED.items())[::-1]:
        word = word.replace(escaped, letter)
    return word


def is_manifest(path: str) -> bool:
    """Say whether a file begins as a manifest does."""
    try:
        with open(path, "rb") as stream:
            return stream.read(len(HEAD)) == HEAD.encode("ascii")
    except OSError:
        return False


def parse_manifest(text: str) -> Recording:
    """Return the recording that a manifest holds. Raises ManifestError."""
    lines = text.split("\n")
    if lines[0] != HEAD:
        raise ManifestError("the first line is not %r" % HEAD)
    kept = Recording({}, {}, set(), set(), {})
    open_file: Optional[str] = None
    parts: List[bytes] = []
    size = 0
    for number, line in enumerate(lines[1:], 2):
        if open_file is not None and line[:1] in ("|", ":"):
            parts.append(line[1:].encode("utf-8") + (b"\n" if line[0] == "|" else b""))
            size += len(parts[-1])
        else:
            if open_file is not None:
                kept.files[open_file], open_file, parts = b"".join(parts), None, []
            if line and not line.startswith("#"):
                open_file = _entry(line, number, kept)
        if size > MAX_BYTES or len(kept.files) + len(kept.links) + len(kept.names) > MAX_FILES:
            raise ManifestError("line %d: larger than any machine" % number)
    if open_file is not None:
        kept.files[open_file] = b"".join(parts)
    return kept


def _entry(line: str, number: int, kept: Recording) -> Optional[str]:
    """Take one entry; return the path of a file whose lines follow."""
    kind, _, rest = line.partition(" ")
    words = rest.split(" ")
    path = _path(words[0], number)
    try:
        if kind == "file" and len(words) == 1:
            return path
        if kind == "folder" and len(words) == 1:
            kept.folders.add(path)
        elif kind == "name" and len(words) == 1:
            kept.names.add(path)
        elif kind == "link" and len(words) == 3 and words[1] == "->":
            kept.links[path] = _unescape(words[2])
        elif kind == "owner" and len(words) == 4:
            kept.owners[path] = Owner(int(words[1], 8), int(words[2]), int(words[3]))
        elif kind == "bytes" and len(words) == 2:
            kept.files[path] = _inflate(words[1], number)
        else:
            raise ManifestError("line %d is no entry of a manifest: %r" % (number, line[:60]))
    except ManifestError:
        raise
    except ValueError as error:
        raise ManifestError("line %d: %s" % (number, error)) from None
    return None


def _inflate(word: str, number: int) -> bytes:
    try:
        worker = zlib.decompressobj()
        data = worker.decompress(base64.b64decode(word, validate=True), MAX_BYTES)
    except (binascii.Error, zlib.error) as error:
        raise ManifestError("line %d: %s" % (number, error)) from None
    if worker.unconsumed_tail or not worker.eof:
        raise ManifestError("line %d: cut short, or larger than any machine" % number)
    return data


def _path(word: str, number: int) -> str:
    path = _unescape(word)
    if path != "/" and (not path.startswith("/") or "\0" in path or os.path.normpath(path) != path or path[:2] == "//"):
        raise ManifestError("line %d: %r is not a plain absolute path" % (number, path[:60]))
    return path


def lay_out(recording: Recording, folder: str) -> None:
    """Write a recording below an empty folder. Raises ManifestError, OSError.

    Links come last and nothing is written through one, so that nothing is written outside the folder.
    """
    for path in sorted(recording.folders):
        os.makedirs(folder + path, mode=0o755, exist_ok=True)
    for path in sorted(recording.names | set(recording.files)):
        place = folder + path
        if os.path.isdir(place):
            continue
        try:
            os.makedirs(os.path.dirname(place), mode=0o755, exist_ok=True)
            with open(place, "xb") as stream:
                stream.write(recording.files.get(path, b""))
        except (NotADirectoryError, FileExistsError) as error:
            raise ManifestError("%s is both a file and a folder: %s" % (path, error)) from None
    for path, target in sorted(recording.links.items()):
        place = folder + path
        if os.path.lexists(place) or not _is_inside(folder, os.path.dirname(place)):
            continue
        os.makedirs(os.path.dirname(place), mode=0o755, exist_ok=True)
        os.symlink(target, place)


def _is_inside(folder: str, parent: str) -> bool:
    """Say whether a folder to be made leads through no link."""
    while len(parent) > len(folder):
        if os.path.islink(parent):
            return False
        parent = os.path.dirname(parent)
    return True
