# SPDX-License-Identifier: Apache-2.0
"""Read small files below a root, and keep a list of everything that could not be read.

Every reader of the snapshot goes through a Tree. Links are resolved as chroot would do it, so
that nothing outside the root is read, and a path that leads onto a network file system is
refused before the kernel is asked about it: a dead server would block the whole run.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from typing import Dict, List, Mapping, Optional, Tuple, Union

Error = Union[OSError, ValueError, str]

# What is read here is kernel attributes and configuration; more than this is not one of them.
MAX_BYTES = 4 * 1024 * 1024
# The snapshot travels over ssh: of many alike problems the first ones and the number will do.
MAX_PROBLEMS_PER_AREA = 60
_MAX_LINKS = 40
# Non-blocking, so that a pipe in the place of a file cannot hold the run up.
_READING = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_ABSENT = (errno.ENOENT, errno.ENOTDIR)
# A 64-bit number in binary is no longer than this.
_MAX_DIGITS = 66
_DIGITS = re.compile("([0-9]+)")


class RemoteMount(OSError):
    """The path leads onto a network or automounted file system, which is not looked at."""


class Tree:
    """A root folder, the file systems below it to keep away from, and what could not be read.

    root: "/" or the folder of a captured or made machine. All paths given to the methods are
    absolute and counted from there, and so are the paths in the problems.
    far: mount point -> file system type of the mounts that are not entered (mounts.py).
    """

    def __init__(self, root: str = "/", far: Optional[Mapping[str, str]] = None) -> None:
        self.root = os.path.realpath(root)
        self.far: Dict[str, str] = dict(far or {})
        # Path -> (mode, uid, gid) where the files themselves are not the machine's own (manifest.py).
        self.owners: Mapping[str, Tuple[int, int, int]] = {}
        self._prefix = "" if self.root == "/" else self.root
        self._folders: Dict[str, str] = {}
        self._problems: List[Dict[str, str]] = []
        self._counts: Dict[str, int] = {}

    # -- problems

    def problem(self, area: str, path: str, error: Error) -> None:
        """Note that something could not be read, and why."""
        count = self._counts.get(area, 0) + 1
        self._counts[area] = count
        if count <= MAX_PROBLEMS_PER_AREA:
            self._problems.append({"area": area, "path": path, "message": reason(error)})

    def problems(self) -> List[Dict[str, str]]:
        """Return the problems as the snapshot has them; the surplus of an area is one entry."""
        surplus = [
            {"area": area, "path": "", "message": "%d more problems of this area" % (count - MAX_PROBLEMS_PER_AREA)}
            for area, count in sorted(self._counts.items())
            if count > MAX_PROBLEMS_PER_AREA
        ]
        return self._problems + surplus

    # -- paths

    def resolve(self, path: str, follow: bool = True) -> str:
        """Return the path below the root with its links resolved; the last one only with follow.

        The file itself need not exist, the folders above it must. Raises OSError.
        """
        folder, _, name = path.rstrip("/").rpartition("/")
        if name in ("", ".", ".."):
            return self._walk(path)
        here = self._folder(folder) + "/" + name
        self._keep_away(here)
        if not follow:
            return here
        try:
            linked = stat.S_ISLNK(os.lstat(self._prefix + here).st_mode)
        except OSError as error:
            if error.errno in _ABSENT:
                return here
            raise
        return self._walk(here) if linked else here

    def host_path(self, path: str, follow: bool = True) -> str:
        """Return the path to give to the operating system. Raises OSError."""
        return self._prefix + self.resolve(path, follow) or "/"

    def _folder(self, folder: str) -> str:
        known = self._folders.get(folder)
        if known is None:
            known = self._folders[folder] = self._enter(folder)
        return known

    def _enter(self, folder: str) -> str:
        """Return a folder without links by one look: most folders stand in one that is known already."""
        above, _, name = folder.rpartition("/")
        if name in ("", ".", ".."):
            return self._walk(folder)
        here = self._folder(above) + "/" + name
        self._keep_away(here)
        return self._walk(here) if stat.S_ISLNK(os.lstat(self._prefix + here).st_mode) else here

    def _walk(self, path: str) -> str:
        todo = [part for part in reversed(path.split("/")) if part not in ("", ".")]
        done, links = "", 0
        while todo:
            part = todo.pop()
            if part == "..":
                done = done.rpartition("/")[0]
                continue
            here = done + "/" + part
            self._keep_away(here)
            if not stat.S_ISLNK(os.lstat(self._prefix + here).st_mode):
                done = here
                continue
            links += 1
            if links > _MAX_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
            target = os.readlink(self._prefix + here)
            if target.startswith("/"):
                done = ""
            todo.extend(part for part in reversed(target.split("/")) if part not in ("", "."))
        return done

    def _keep_away(self, here: str) -> None:
        if here in self.far:
            raise RemoteMount(errno.EREMOTE, "%s is a mount of type %s: not looked at" % (here, self.far[here]), here)

    # -- files

    def read_bytes(
        self, area: str, path: str, optional: bool = False, limit: int = MAX_BYTES, whole: bool = True
    ) -> Optional[bytes]:
        """Return a regular file's bytes, or None and a problem.

        optional: a file that is not there, or of which the kernel tells nothing (EINVAL, as the speed
        of a link that is down), is no problem.
        whole: a file longer than limit is a problem; without it, the first limit bytes are returned.
        """
        try:
            handle = self._open(path)
            try:
                if not stat.S_ISREG(os.fstat(handle).st_mode):
                    raise ValueError("not a regular file")
                data = _read(handle, limit + 1 if whole else limit)
            finally:
                os.close(handle)
            if whole and len(data) > limit:
                raise ValueError("longer than %d bytes" % limit)
            return data
        except (OSError, ValueError) as error:
            refused = isinstance(error, OSError) and error.errno == errno.EINVAL
            if not (optional and (refused or is_absent(error))):
                self.problem(area, path, error)
            return None

    def _open(self, path: str) -> int:
        """Open a file for reading. Raises OSError."""
        folder, _, name = path.rpartition("/")
        if name not in ("", ".", ".."):
            here = self._folder(folder) + "/" + name
            self._keep_away(here)
            try:
                return os.open(self._prefix + here, _READING | os.O_NOFOLLOW)
            except OSError as error:
                # The one answer of a link: asking before would be a call more for each of a thousand files.
                if error.errno != errno.ELOOP:
                    raise
        return os.open(self.host_path(path), _READING)

    def keep_piece(self, path: str, data: bytes) -> None:
        """Take note of the end of a file that was read; only a recording does (recording.py)."""

    def read_text(self, area: str, path: str, optional: bool = False, limit: int = MAX_BYTES) -> Optional[str]:
        """Return a UTF-8 file's text, or None and a problem; binary content is a problem."""
        data = self.read_bytes(area, path, optional, limit)
        if data is None:
            return None
        text = as_text(data)
        if text is None:
            self.problem(area, path, "not text: starts with %s" % first_bytes(data))
        return text

    def read_line(self, area: str, path: str, optional: bool = False) -> Optional[str]:
        """Return the stripped text of a one-line attribute; an empty one is None and a problem, unless optional."""
        text = self.read_text(area, path, optional)
        if text is None:
            return None
        text = text.strip()
        if not text and not optional:
            self.problem(area, path, "empty")
        return text or None

    def read_int(self, area: str, path: str, optional: bool = False, base: int = 10) -> Optional[int]:
        """Return a whole number, or None and a problem."""
        text = self.read_line(area, path, optional)
        if text is None:
            return None
        number = to_int(text, base)
        if number is None:
            self.problem(area, path, "not a number: %r" % text[:40])
        return number

    def list_folder(self, area: str, path: str, optional: bool = False, ordered: bool = True) -> Optional[List[str]]:
        """Return the names in a folder, in natural order (card2 before card10), or None and a problem.

        ordered: without it in any order, for a folder of thousands of names of which the order tells nothing.
        """
        try:
            names = os.listdir(self.host_path(path))
            return sorted(names, key=natural_key) if ordered else names
        except OSError as error:
            if not (optional and is_absent(error)):
                self.problem(area, path, error)
            return None

    def read_link(self, area: str, path: str, optional: bool = False) -> Optional[str]:
        """Return a link's own text, or None and a problem."""
        try:
            return os.readlink(self.host_path(path, follow=False))
        except OSError as error:
            if not (optional and is_absent(error)):
                self.problem(area, path, error)
            return None

    def stat(self, path: str, follow: bool = True) -> Optional[os.stat_result]:
        """Return what stat or lstat says, or None when it says nothing; that is no problem here."""
        try:
            return os.lstat(self.host_path(path, follow))
        except (OSError, ValueError):
            return None

    def is_folder(self, path: str) -> bool:
        """Say whether the path leads to a folder."""
        found = self.stat(path)
        return found is not None and stat.S_ISDIR(found.st_mode)

    def presence(self, path: str) -> Optional[bool]:
        """Say whether the path leads to something; None where it may not be looked at."""
        try:
            os.lstat(self.host_path(path))
        except OSError as error:
            return False if is_absent(error) else None
        return True

    def exists(self, path: str) -> bool:
        """Say whether the path leads to something that may be looked at."""
        return self.presence(path) is True


def _read(handle: int, limit: int) -> bytes:
    parts: List[bytes] = []
    left = limit
    while left > 0:
        part = os.read(handle, min(left, 65536))
        if not part:
            break
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def is_absent(error: Error) -> bool:
    """Say whether an error means that there is nothing at the path."""
    return isinstance(error, OSError) and error.errno in _ABSENT


def reason(error: Error) -> str:
    """Return an error as one sentence, with the errno's name where there is one."""
    if isinstance(error, RemoteMount):
        return str(error.strerror)
    if isinstance(error, OSError) and error.errno is not None:
        return "%s (%s)" % (error.strerror, errno.errorcode.get(error.errno, error.errno))
    return str(error)


def as_text(data: bytes) -> Optional[str]:
    """Return UTF-8 bytes as text, None when they are not text."""
    if b"\0" in data:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def first_bytes(data: bytes, count: int = 24) -> str:
    """Return the start of some bytes in quotes, safe to print."""
    return repr(data[:count])[1:]


def to_int(text: str, base: int = 10) -> Optional[int]:
    """Return the number that a text is, None when it is none. Base 0 also takes 0x…"""
    # int() would take "1_000" and digits of other scripts, which no kernel writes, and a text so long
    # that the JSON it ends up in cannot be read again.
    if not text.isascii() or "_" in text or len(text) > _MAX_DIGITS:
        return None
    try:
        return int(text, base)
    except ValueError:
        return None


def natural_key(text: str) -> List[Union[str, int]]:
    """Return a sort key that compares runs of digits as numbers: 6.5 before 6.11, card2 before card10."""
    # Split so, text and numbers always take turns, and like is compared with like.
    return [int(part) if index % 2 else part for index, part in enumerate(_DIGITS.split(text))]


def parse_cpulist(text: str) -> Optional[List[int]]:
    """Return the numbers of a list such as "0-3,8"; an empty text is no CPU, None is no list."""
    numbers: List[int] = []
    for part in text.strip().split(","):
        if not part:
            continue
        first, dash, last = part.partition("-")
        low, high = to_int(first), to_int(last if dash else first)
        # A range that no machine has would only be a way to fill the memory.
        if low is None or high is None or low < 0 or high < low or high > 65535:
            return None
        numbers.extend(range(low, high + 1))
    return numbers
