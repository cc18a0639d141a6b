# SPDX-License-Identifier: Apache-2.0
"""A tree of files and links in memory, and how it is laid on a disk."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path, PurePosixPath


class Tree:
    """Files, links and empty folders by path relative to the root, without a leading slash."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.links: dict[str, str] = {}
        self.folders: set[str] = set()

    def text(self, path: str, value: object) -> None:
        """Put a text file with one line end, as sysfs gives it."""
        self.files[path] = f"{value}\n".encode()

    def texts(self, folder: str, values: dict[str, object]) -> None:
        """Put several one-line text files into a folder."""
        for name, value in values.items():
            self.text(f"{folder}/{name}", value)

    def data(self, path: str, value: bytes) -> None:
        """Put a file with exactly these bytes."""
        self.files[path] = value

    def link(self, path: str, target: str) -> None:
        """Put a link at `path` that leads to `target`, both counted from the root."""
        self.links[path] = os.path.relpath(target, os.path.dirname(path))

    def folder(self, path: str) -> None:
        """Put a folder that exists even when nothing is in it."""
        self.folders.add(path)

    def read(self, path: str) -> str:
        """Return the text of a file without its line end; KeyError when there is none."""
        return self.files[path].decode().rstrip("\n")


_NOTHING = re.compile(r"(?!)")


def sync(tree: Tree, destination: Path, keep: frozenset[str] = frozenset(), live: re.Pattern[str] = _NOTHING) -> None:
    """Make a folder hold exactly the tree, changing only what differs.

    The folder itself and unchanged files stay the same inodes, so that a node
    which has the folder mounted sees the change at once.

    Args:
        destination: created when it is not there.
        keep: folders (relative) that are left alone together with their content.
        live: files that belong to the running node once they are there: neither written again nor removed.
    """
    wanted_folders = {""} | set(keep)
    for name in (*tree.files, *tree.links):
        wanted_folders.update(_parents(name))
    for name in (*tree.folders, *keep):
        wanted_folders.update((name, *_parents(name)))
    for name in sorted(wanted_folders):
        folder = destination / name
        if folder.is_symlink() or folder.is_file():
            folder.unlink()
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    _remove_surplus(tree, destination, wanted_folders, keep, live)
    for name, content in tree.files.items():
        path = destination / name
        if path.is_symlink():
            path.unlink()
        if not path.exists() or (not live.fullmatch(name) and path.read_bytes() != content):
            path.write_bytes(content)
    for name, target in tree.links.items():
        place = destination / name
        if place.is_symlink() and os.readlink(place) == target:
            continue
        if place.is_symlink() or place.exists():
            place.unlink()
        place.symlink_to(target)


def _parents(name: str) -> list[str]:
    return [str(parent) for parent in PurePosixPath(name).parents if str(parent) != "."]


def _remove_surplus(
    tree: Tree, destination: Path, folders: set[str], keep: frozenset[str], live: re.Pattern[str]
) -> None:
    for current, names, files in os.walk(destination):
        here = os.path.relpath(current, destination)
        here = "" if here == "." else here
        for name in list(names):
            path = f"{here}/{name}".lstrip("/")
            full = Path(current) / name
            if path in keep:
                names.remove(name)
            elif full.is_symlink():
                if path not in tree.links:
                    full.unlink()
            elif path not in folders:
                shutil.rmtree(full)
                names.remove(name)
        for name in files:
            path = f"{here}/{name}".lstrip("/")
            if path not in tree.files and path not in tree.links and not live.fullmatch(path):
                (Path(current) / name).unlink()
