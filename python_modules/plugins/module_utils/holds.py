# SPDX-License-Identifier: Apache-2.0
"""Set and lift apt's holds, and see that they took."""

from __future__ import annotations

import fnmatch
import json
import os
from typing import Any, Sequence

from ansible_collections.instinct.bringup.plugins.module_utils.command_runner import Run, last_words
from ansible_collections.instinct.bringup.plugins.module_utils.file_writer import (
    Wanted,
    WriteError,
    group_name,
    user_name,
    write_file,
)
from ansible_collections.instinct.bringup.plugins.module_utils.journal_writer import make_private
from ansible_collections.instinct.bringup.plugins.module_utils.package_lock import describe_lock, run_when_unlocked
from ansible_collections.instinct.bringup.plugins.module_utils.package_state import (
    PackageError,
    PackageRow,
    bad_names,
    read_rows,
)

HELD = "held"
FREE = "free"


def set_holds(
    run: Run, packages: Sequence[str], state: str, check_mode: bool, versions: Sequence[str] = ()
) -> dict[str, Any]:
    """Hold (state "held") or free the packages; return changed, packages and diff.

    versions: shell patterns; every installed package whose version matches one is meant too.

    A package that is not installed cannot be held: PackageError with the names, before anything
    changes; in check mode it is counted as to be held, since an earlier task may be to install it.
    """
    odd = bad_names(packages)
    if odd:
        raise PackageError(f"not names of packages: {', '.join(repr(name) for name in odd)}")
    rows = read_rows(run)
    by_version = {
        row.name
        for row in rows
        if row.installed and any(fnmatch.fnmatchcase(row.version, pattern) for pattern in versions)
    }
    wanted = sorted({*packages, *by_version})
    missing = sorted(set(wanted) - {row.name for row in rows if row.installed})
    if state == HELD and missing and not check_mode:
        raise PackageError(
            f"cannot hold what is not installed: {', '.join(missing)}. No hold was changed. "
            "Install these first, or take them off the list"
        )
    before = held_names(rows)
    todo = [name for name in wanted if (name in before) != (state == HELD)]
    if todo and not check_mode:
        change_holds(run, rows, todo, state)
        after = held_names(read_rows(run))
        refused = [name for name in todo if (name in after) != (state == HELD)]
        if refused:
            raise PackageError(f"apt-mark reported success but these are still not {state}: {', '.join(refused)}")
    after = sorted(set(before) | set(todo)) if state == HELD else sorted(set(before) - set(todo))
    return {
        "changed": bool(todo),
        "packages": todo,
        "diff": {
            "before_header": "packages on hold",
            "after_header": "packages on hold",
            "before": _as_lines(before),
            "after": _as_lines(after),
        },
    }


def record_holds(path: str, packages: Sequence[str], state: str) -> None:
    """Keep in a file which holds are ours: those set are added, those lifted are taken out.

    A hold that was there before is a person's, and stays one. PackageError when the file cannot be written.
    """
    before = _recorded(path)
    after = sorted(before | set(packages)) if state == HELD else sorted(before - set(packages))
    if set(after) == before:
        return
    content = (json.dumps({"schema": 1, "packages": after}, indent=1) + "\n").encode("utf-8")
    try:
        make_private(os.path.dirname(path))
        write_file(Wanted(path, content, "0600", user_name(os.getuid()), group_name(os.getgid())))
    except (OSError, WriteError) as error:
        raise PackageError(f"the holds are set, but {path} cannot be written: {error}") from error


def _recorded(path: str) -> set[str]:
    try:
        with open(path, encoding="utf-8") as stream:
            return set(json.load(stream)["packages"])
    except (OSError, ValueError, KeyError, TypeError):
        # A lost record only makes our holds look like a person's, which are told and then lifted all the same.
        return set()


def held_names(rows: Sequence[PackageRow]) -> list[str]:
    """Return the names of the held packages, each once, sorted."""
    return sorted({row.name for row in rows if row.hold})


def change_holds(run: Run, rows: Sequence[PackageRow], names: Sequence[str], state: str) -> None:
    """Call apt-mark for the names, in every architecture they have. PackageError when it fails."""
    verb = "hold" if state == HELD else "unhold"
    chosen = set(names)
    result = run_when_unlocked(run, ["apt-mark", verb, *[row.binary for row in rows if row.name in chosen]])
    if result.rc != 0:
        reason = describe_lock(result) or f"exit {result.rc}: {last_words(result)}"
        raise PackageError(f"apt-mark {verb} {' '.join(names)} failed: {reason}")


def _as_lines(names: Sequence[str]) -> str:
    return "".join(name + "\n" for name in names)
