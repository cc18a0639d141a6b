# SPDX-License-Identifier: Apache-2.0
"""Write whole files: never half of one, with mode and owner, and only when something differs."""

from __future__ import annotations

import grp
import hashlib
import os
import pwd
import re
import stat
import tempfile
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Sequence

_MODE = re.compile(r"0[0-7]{3}")


class WriteError(Exception):
    """A file cannot be as wanted; the message says which, what was seen and what to do."""


class Wanted(NamedTuple):
    """A regular file as it must be; mode in octal digits ("0644"), owner and group by name."""

    path: str
    content: bytes
    mode: str = "0644"
    owner: str = "root"
    group: str = "root"


class Seen(NamedTuple):
    """A file as it is. kind: absent, file, link, directory or other; content only of a file."""

    kind: str
    content: bytes = b""
    mode: str = ""
    owner: str = ""
    group: str = ""
    target: str = ""


def look_at(path: str) -> Seen:
    """Return what is at path, without following a link. OSError when it cannot be read."""
    try:
        info = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return Seen("absent")
    mode, owner, group = "%04o" % stat.S_IMODE(info.st_mode), user_name(info.st_uid), group_name(info.st_gid)
    if stat.S_ISLNK(info.st_mode):
        return Seen("link", b"", mode, owner, group, os.readlink(path))
    if stat.S_ISREG(info.st_mode):
        return Seen("file", Path(path).read_bytes(), mode, owner, group)
    return Seen("directory" if stat.S_ISDIR(info.st_mode) else "other", b"", mode, owner, group)


def problems_of(files: Sequence[Wanted]) -> List[str]:
    """Return everything that makes the files impossible, as sentences; nothing is written."""
    found: List[str] = []
    paths = [item.path for item in files]
    for path in sorted({path for path in paths if paths.count(path) > 1}):
        found.append("%s is given %d times; give each path once" % (path, paths.count(path)))
    for item in files:
        found.extend("%s: %s" % (item.path, text) for text in _problems_of_one(item))
    return found


def problems_of_absent(absent: Sequence[str], wanted: Sequence[str]) -> List[str]:
    """Return what makes a removal impossible: a path that is also wanted, no absolute path, a folder."""
    found: List[str] = []
    for path in absent:
        if path in wanted:
            found.append("%s is wanted both as a file and absent; name it once" % path)
        elif not os.path.isabs(path) or os.path.normpath(path) != path:
            found.append("%s: want an absolute path without '..', '.' or a slash at the end" % path)
        elif os.path.isdir(path) and not os.path.islink(path):
            found.append("%s: is a directory; only files and links are removed here" % path)
    return found


def difference(wanted: Wanted, seen: Seen) -> bool:
    """Say whether the file must be written."""
    return seen.kind != "file" or (seen.content, seen.mode, seen.owner, seen.group) != tuple(wanted)[1:]


def diff_of(wanted: Wanted, seen: Seen) -> List[Dict[str, str]]:
    """Return the difference in Ansible's form: one entry for the content, one for the attributes."""
    entries: List[Dict[str, str]] = []
    if seen.kind != "file" or seen.content != wanted.content:
        entries.append(
            {
                "before_header": wanted.path,
                "after_header": wanted.path,
                "before": _before_text(seen),
                "after": _as_text(wanted.content),
            }
        )
    attributes = (wanted.mode, wanted.owner, wanted.group)
    if seen.kind == "file" and (seen.mode, seen.owner, seen.group) != attributes:
        header = "%s (mode and owner)" % wanted.path
        entries.append(
            {
                "before_header": header,
                "after_header": header,
                "before": "%s %s:%s\n" % (seen.mode, seen.owner, seen.group),
                "after": "%s %s:%s\n" % attributes,
            }
        )
    return entries


def write_file(wanted: Wanted) -> None:
    """Put the file in place in one step, replacing a file or a link; parents are made with mode 0755.

    Raises WriteError; what was there before is then still there.
    """
    folder = os.path.dirname(wanted.path)
    temporary: Optional[str] = None
    try:
        make_parents(folder)
        # A name that apt, ld.so, modprobe and profile.d all pass over if it is ever left behind.
        handle, temporary = tempfile.mkstemp(prefix=".%s." % os.path.basename(wanted.path), suffix=".tmp", dir=folder)
        with os.fdopen(handle, "wb") as stream:
            stream.write(wanted.content)
            os.fchown(stream.fileno(), pwd.getpwnam(wanted.owner).pw_uid, grp.getgrnam(wanted.group).gr_gid)
            os.fchmod(stream.fileno(), int(wanted.mode, 8))
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, wanted.path)
        temporary = None
        _sync_folder(folder)
    except OSError as error:
        raise WriteError(
            "cannot write %s: %s (errno %s)" % (error.filename or wanted.path, error.strerror, error.errno)
        ) from error
    finally:
        if temporary is not None:
            os.unlink(temporary)


def make_parents(folder: str, mode: int = 0o755) -> None:
    """Make the folders that lack, each with exactly this mode, whatever the umask. OSError when it cannot."""
    missing: List[str] = []
    while not os.path.isdir(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    for path in reversed(missing):
        os.mkdir(path)
        os.chmod(path, mode)


def apply_files(files: Sequence[Wanted], check_mode: bool, absent: Sequence[str] = ()) -> Dict[str, Any]:
    """Make the files as wanted and return changed, changed_paths and diff (a list).

    absent: paths where no file and no link may be. Everything is looked at before the first change.
    Raises WriteError with every problem found; one that comes up while writing names what was
    changed before it.
    """
    found = problems_of(files) + problems_of_absent(absent, [item.path for item in files])
    if found:
        raise WriteError("nothing was written: " + "; ".join(found))
    todo = [(item, seen) for item, seen in ((item, _seen(item.path)) for item in files) if difference(item, seen)]
    going = [(path, seen) for path, seen in ((path, _seen(path)) for path in absent) if seen.kind != "absent"]
    done: List[str] = []
    try:
        for item, _before in todo:
            if not check_mode:
                write_file(item)
            done.append(item.path)
        for path, _before in going:
            if not check_mode:
                _remove(path)
            done.append(path)
    except WriteError as error:
        raise WriteError("%s; changed before it: %s" % (error, ", ".join(done) or "nothing")) from error
    diff = [entry for item, seen in todo for entry in diff_of(item, seen)]
    diff.extend(
        {"before_header": path, "after_header": path, "before": _before_text(seen), "after": ""} for path, seen in going
    )
    return {"changed": bool(done), "changed_paths": done, "diff": diff}


def _seen(path: str) -> Seen:
    try:
        return look_at(path)
    except OSError as error:
        raise WriteError(
            "nothing was written: cannot read %s: %s (errno %s)" % (path, error.strerror, error.errno)
        ) from error


def _remove(path: str) -> None:
    try:
        os.unlink(path)
        _sync_folder(os.path.dirname(path))
    except OSError as error:
        raise WriteError("cannot remove %s: %s (errno %s)" % (path, error.strerror, error.errno)) from error


def _problems_of_one(item: Wanted) -> List[str]:
    found: List[str] = []
    if not os.path.isabs(item.path) or os.path.normpath(item.path) != item.path or "\0" in item.path:
        found.append("want an absolute path without '..', '.' or a slash at the end")
        return found
    if not _MODE.fullmatch(item.mode):
        found.append(
            "mode is %r; want four octal digits in quotes, such as '0644' (YAML reads a bare 0644 as 420)" % item.mode
        )
    for kind, name, database in (("owner", item.owner, pwd.getpwnam), ("group", item.group, grp.getgrnam)):
        try:
            database(name)
        except KeyError:
            found.append("the %s %r does not exist on this node; create it first or name another" % (kind, name))
    if os.path.isdir(item.path) and not os.path.islink(item.path):
        found.append("is a directory; move it away, a regular file must be there")
    folder = os.path.dirname(item.path)
    while not os.path.lexists(folder):
        folder = os.path.dirname(folder)
    if not os.path.isdir(folder):
        found.append("its parent %s is not a directory; move it away" % folder)
    return found


def _before_text(seen: Seen) -> str:
    return "-> %s\n" % seen.target if seen.kind == "link" else _as_text(seen.content)


def _as_text(content: bytes) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return "(binary, %d bytes, sha256 %s)\n" % (len(content), hashlib.sha256(content).hexdigest())


def user_name(uid: int) -> str:
    """Return a user's name, or the number when it has none."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def group_name(gid: int) -> str:
    """Return a group's name, or the number when it has none."""
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)


def _sync_folder(folder: str) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
