# SPDX-License-Identifier: Apache-2.0
"""What dpkg says about each package, for the modules that change packages."""

from __future__ import annotations

import re
from typing import NamedTuple, Sequence

from ansible_collections.instinct.bringup.plugins.module_utils.command_runner import Run, last_words

# Debian policy 5.6.1; what does not match could be an option or a pattern to apt or dpkg.
_NAME = re.compile(r"[a-z0-9][a-z0-9+.-]+")

_FORMAT = (
    "${binary:Package}\\t${Package}\\t${Architecture}\\t${Version}\\t${db:Status-Abbrev}\\t"
    "${db:Status-Want}\\t${db:Status-Status}\\n"
)

# Between these two a package is neither there nor gone; apt then refuses most work.
_UNFINISHED = frozenset(["half-installed", "unpacked", "half-configured"])


class PackageError(Exception):
    """A package command failed, or its answer was not understood; the message says which."""


class PackageRow(NamedTuple):
    """One row of dpkg's database.

    binary: the name as apt and dpkg take it, with ":arch" where that is needed; abbrev: three
    characters, such as "ii " or "iHR" (db:Status-Abbrev).
    """

    binary: str
    name: str
    architecture: str
    version: str
    abbrev: str
    hold: bool
    status: str

    @property
    def present(self) -> bool:
        """Say whether dpkg still has anything of it, configuration files included."""
        return self.status != "not-installed"

    @property
    def installed(self) -> bool:
        """Say whether it is unpacked or better, so that a hold means something."""
        return self.status not in ("not-installed", "config-files")

    @property
    def reinstall_required(self) -> bool:
        """Say whether dpkg wants it installed again before it does anything else with it."""
        return self.abbrev[2:3] == "R"

    @property
    def unfinished(self) -> bool:
        """Say whether an earlier run of dpkg stopped in the middle of it."""
        return self.status in _UNFINISHED or self.reinstall_required


def bad_names(names: Sequence[str]) -> list[str]:
    """Return the names that no Debian package can have."""
    return [name for name in names if not _NAME.fullmatch(name)]


def parse_rows(text: str) -> list[PackageRow]:
    """Read the output of dpkg-query in the format of read_rows; PackageError names a line that is odd."""
    rows = []
    for line in text.splitlines():
        fields = line.split("\t")
        if len(fields) != 7:
            raise PackageError(f"dpkg-query answered a line that is not understood: {line!r}")
        binary, name, architecture, version, abbrev, want, status = fields
        rows.append(PackageRow(binary, name, architecture, version, abbrev, want == "hold", status))
    return rows


def read_rows(run: Run) -> list[PackageRow]:
    """Return every package that dpkg knows. PackageError when dpkg-query fails."""
    result = run(["dpkg-query", "-W", "-f", _FORMAT])
    if result.rc != 0:
        raise PackageError(f"dpkg-query -W failed (exit {result.rc}): {last_words(result)}")
    return parse_rows(result.out)


def owners_of(run: Run, patterns: Sequence[str]) -> dict[str, list[str]]:
    """Return path to owning package names, for the paths that dpkg owns and that match a pattern.

    A pattern is dpkg's: a path, where * also matches slashes. PackageError when dpkg-query fails.
    """
    if not patterns:
        return {}
    result = run(["dpkg-query", "-S", *patterns])
    # Exit 1 only says that some pattern matched nothing.
    if result.rc not in (0, 1):
        raise PackageError(f"dpkg-query -S failed (exit {result.rc}): {last_words(result)}")
    owners: dict[str, list[str]] = {}
    for line in result.out.splitlines():
        names, separator, path = line.partition(": ")
        if separator and not names.startswith("diversion by "):
            owners[path] = [name.split(":")[0] for name in names.split(", ")]
    return owners
