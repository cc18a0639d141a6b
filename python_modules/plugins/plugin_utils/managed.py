# SPDX-License-Identifier: Apache-2.0
"""Compare the files that the plan manages with what a node has."""

from __future__ import annotations

import dataclasses
import hashlib
import typing as t


@dataclasses.dataclass(frozen=True)
class ManagedFile:
    """Describe one file as it must be. note: one sentence on what the file does."""

    path: str
    content: str
    note: str
    mode: str = "0644"
    owner: str = "root"
    group: str = "root"

    @property
    def sha256(self) -> str:
        """Return the digest that the snapshot reports of the same content."""
        return hashlib.sha256(self.content.encode("utf-8")).hexdigest()

    def as_input(self) -> dict[str, str]:
        """Return the file as the module managed_files takes it."""
        return {key: str(value) for key, value in dataclasses.asdict(self).items() if key != "note"}


@dataclasses.dataclass(frozen=True)
class Change:
    """Describe one difference between a node and its profile, and why it is wanted."""

    kind: str
    subject: str
    before: str
    after: str
    reason: str


def file_change(wanted: ManagedFile, seen: t.Mapping[str, t.Any] | None) -> Change | None:
    """Return what must change so that a file is as wanted, or None.

    seen: the snapshot's entry of watch. A file that was not looked at counts as different:
    writing what is already there changes nothing.
    """
    if seen is None or seen["type"] == "absent":
        return Change("file", wanted.path, "absent", f"{len(wanted.content)} characters", wanted.note)
    if seen["type"] != "file":
        return Change("file", wanted.path, seen["type"], "a regular file", wanted.note)
    different = [f"{name} {seen[name]}" for name in ("mode", "owner", "group") if seen[name] != getattr(wanted, name)]
    if seen["sha256"] != wanted.sha256:
        different.insert(0, "other content")
    if not different:
        return None
    after = f"{len(wanted.content)} characters, {wanted.mode} {wanted.owner}:{wanted.group}"
    return Change("file", wanted.path, ", ".join(different), after, wanted.note)


def absent_change(path: str, seen: t.Mapping[str, t.Any] | None, reason: str) -> Change | None:
    """Return the removal of a file that must not be there, or None when it is not."""
    if seen is None or seen["type"] == "absent":
        return None
    return Change("file", path, "present", "absent", reason)


def file_diff(wanted: ManagedFile, seen: t.Mapping[str, t.Any] | None) -> dict[str, str]:
    """Return a diff in Ansible's form between what a node has and what the plan writes."""
    before = (seen or {}).get("text")
    return {
        "before": before if isinstance(before, str) else "",
        "after": wanted.content,
        "before_header": f"{wanted.path} (now)",
        "after_header": f"{wanted.path} (planned)",
    }
