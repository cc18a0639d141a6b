# SPDX-License-Identifier: Apache-2.0
"""Follow a snapshot's readers and keep what they read: the files, links and lists that make up a machine."""

from __future__ import annotations

import os
import stat
from typing import Dict, List, NamedTuple, Optional, Set

from ansible_collections.instinct.bringup.plugins.module_utils.text import MAX_BYTES, Tree

_MAX_LINKS = 40
# Processes and sockets belong to the moment, not to the machine.
_NOT_KEPT = ("/proc/self/mountinfo", "/proc/keys")


class Owner(NamedTuple):
    """Mode and numbers of who owns a device node."""

    mode: int
    uid: int
    gid: int


class Recording(NamedTuple):
    """What was read, by the path without links. names: what is only known to be there."""

    files: Dict[str, bytes]
    links: Dict[str, str]
    folders: Set[str]
    names: Set[str]
    owners: Dict[str, Owner]


class RecordingTree(Tree):
    """A Tree that remembers. Its readers see no difference."""

    def __init__(self, root: str) -> None:
        super().__init__(root)
        self._contents: Dict[str, bytes] = {}
        self._listed: Dict[str, List[str]] = {}
        self._visited: Set[str] = set()

    def resolve(self, path: str, follow: bool = True) -> str:
        """Return the path as Tree does, and remember that somebody asked for it."""
        self._visited.add(path)
        return super().resolve(path, follow)

    def read_bytes(
        self, area: str, path: str, optional: bool = False, limit: int = MAX_BYTES, whole: bool = True
    ) -> Optional[bytes]:
        """Return the bytes as Tree does, and remember them, or that somebody asked for them."""
        self._visited.add(path)
        data = super().read_bytes(area, path, optional, limit, whole)
        if data is not None:
            self._contents[path] = data
        return data

    def list_folder(self, area: str, path: str, optional: bool = False, ordered: bool = True) -> Optional[List[str]]:
        """Return the names as Tree does, and remember them."""
        names = super().list_folder(area, path, optional, ordered)
        if names is not None:
            self._listed[path] = names
        return names

    def keep_piece(self, path: str, data: bytes) -> None:
        """Remember the end of a file in the place of all of it."""
        self._contents.setdefault(path, data)

    def recording(self) -> Recording:
        """Return everything that was read, with the links on the way to it."""
        kept = Recording({}, {}, set(), set(), {})
        for path in sorted(self._visited):
            self._trace(path, kept)
        for path, names in sorted(self._listed.items()):
            place = self._trace(path, kept)
            if place is None:
                continue
            kept.folders.add(place)
            for name in names:
                self._child(place.rstrip("/") + "/" + name, kept)
        for path, data in sorted(self._contents.items()):
            place = self._trace(path, kept)
            if place is not None and path not in _NOT_KEPT:
                kept.files[place] = data
        kept.names.difference_update(kept.files, kept.folders, kept.links)
        return kept

    def _child(self, place: str, kept: Recording) -> None:
        info = self._lstat(place)
        if info is None:
            return
        if stat.S_ISLNK(info.st_mode):
            kept.links[place] = os.readlink(self._prefix + place)
        elif stat.S_ISDIR(info.st_mode):
            kept.folders.add(place)
        else:
            kept.names.add(place)
            self._owner(place, info, kept)

    def _trace(self, path: str, kept: Recording) -> Optional[str]:
        """Keep the links on the way to a path and return where it leads, None where to nothing."""
        todo = [part for part in reversed(path.split("/")) if part not in ("", ".")]
        done, followed = "", 0
        while todo:
            part = todo.pop()
            if part == "..":
                done = done.rpartition("/")[0]
                continue
            here = done + "/" + part
            info = None if here in self.far else self._lstat(here)
            if info is None:
                return None
            if not stat.S_ISLNK(info.st_mode):
                done = here
                continue
            followed += 1
            if followed > _MAX_LINKS:
                return None
            target = os.readlink(self._prefix + here)
            kept.links[here] = target
            done = "" if target.startswith("/") else done
            todo.extend(part for part in reversed(target.split("/")) if part not in ("", "."))
        place = done or "/"
        info = self._lstat(place)
        if info is not None and stat.S_ISDIR(info.st_mode):
            kept.folders.add(place)
        elif info is not None:
            kept.names.add(place)
            self._owner(place, info, kept)
        return place

    def _lstat(self, place: str) -> Optional[os.stat_result]:
        try:
            return os.lstat(self._prefix + place)
        except (OSError, ValueError):
            return None

    @staticmethod
    def _owner(place: str, info: os.stat_result, kept: Recording) -> None:
        if place.startswith("/dev/"):
            kept.owners[place] = Owner(stat.S_IMODE(info.st_mode), info.st_uid, info.st_gid)
