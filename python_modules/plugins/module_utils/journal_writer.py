# SPDX-License-Identifier: Apache-2.0
"""Keep on the node what a run has begun and finished, so that the next run knows what is ours to finish."""

from __future__ import annotations

import json
import os
import re
from typing import Any, NamedTuple, Sequence

from ansible_collections.instinct.bringup.plugins.module_utils.file_writer import (
    Wanted,
    WriteError,
    diff_of,
    look_at,
    make_parents,
    write_file,
)

BEGUN = "begun"
FINISHED = "finished"

PRIVATE_FOLDER = 0o700
_RUN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:+-]{0,127}")


class JournalError(Exception):
    """The journal cannot be read or written; the message names the file and what to do."""


class Entry(NamedTuple):
    """What a run does on this node: its id, the plan's steps and the packages it installs."""

    run: str
    steps: Sequence[str]
    packages: Sequence[str]


def check_run_id(run: str) -> str:
    """Return the id if it can name a file. JournalError when not."""
    if not _RUN.fullmatch(run):
        raise JournalError(f"the run id {run!r} cannot name a file; want letters, digits and . _ : + - only")
    return run


def record(folder: str, state: str, entry: Entry, now: str, owner: tuple[str, str], check_mode: bool) -> dict[str, Any]:
    """Write that the run has begun or finished; return changed, path and diff.

    folder: the state directory; runs/RUN.json is written below it. now: UTC, ISO 8601.
    Beginning a run again adds steps and packages; what is already recorded changes nothing.
    """
    path = os.path.join(folder, "runs", check_run_id(entry.run) + ".json")
    old = _read(path)
    if state == FINISHED and old is None:
        raise JournalError(f"{path} does not exist, so there is nothing to finish; state=begun comes first")
    new = _begin(old, entry, now) if state == BEGUN else _finish(old or {}, entry, now)
    wanted = Wanted(path, (json.dumps(new, indent=2) + "\n").encode("utf-8"), "0600", *owner)
    if new == old:
        return {"changed": False, "path": path, "diff": []}
    diff = diff_of(wanted, look_at(path))
    if not check_mode:
        try:
            make_private(folder)
            make_private(os.path.dirname(path))
            write_file(wanted)
        except OSError as error:
            raise JournalError(f"cannot make {error.filename}: {error.strerror} (errno {error.errno})") from error
        except WriteError as error:
            raise JournalError(str(error)) from error
    return {"changed": True, "path": path, "diff": diff}


def close(folder: str, run: str, by: str, now: str, owner: tuple[str, str], check_mode: bool) -> bool:
    """Close a run that was interrupted, since another one has finished its work; say whether that changed something."""
    path = os.path.join(folder, "runs", check_run_id(run) + ".json")
    old = _read(path)
    if old is None or old.get("state") != BEGUN:
        return False
    new = {**old, "state": FINISHED, "finished": now, "closed_by": by}
    if not check_mode:
        try:
            write_file(Wanted(path, (json.dumps(new, indent=2) + "\n").encode("utf-8"), "0600", *owner))
        except WriteError as error:
            raise JournalError(str(error)) from error
    return True


def make_private(folder: str) -> None:
    """Make a folder, and parents that lack, that only the owner may enter. OSError when it cannot.

    A folder that is there already is closed too, its parents are left as they are.
    """
    make_parents(folder, PRIVATE_FOLDER)
    os.chmod(folder, PRIVATE_FOLDER)


def _begin(old: dict[str, Any] | None, entry: Entry, now: str) -> dict[str, Any]:
    if old is None:
        old = {"schema": 1, "run": entry.run, "begun": now, "steps": [], "packages": []}
    steps, packages = _joined(old, "steps", entry.steps), _joined(old, "packages", entry.packages)
    return {**old, "state": BEGUN, "finished": None, "steps": steps, "packages": packages}


def _finish(old: dict[str, Any], entry: Entry, now: str) -> dict[str, Any]:
    steps, packages = _joined(old, "steps", entry.steps), _joined(old, "packages", entry.packages)
    finished = old.get("finished") or now
    return {**old, "state": FINISHED, "finished": finished, "steps": steps, "packages": packages}


def _joined(old: dict[str, Any], key: str, more: Sequence[str]) -> list[str]:
    return list(dict.fromkeys([*old.get(key, []), *more]))


def _read(path: str) -> dict[str, Any] | None:
    try:
        with open(path, encoding="utf-8") as stream:
            data = json.load(stream)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise JournalError(f"cannot read {path}: {error.strerror} (errno {error.errno})") from error
    except ValueError as error:
        raise JournalError(f"{path} is not JSON ({error}); look at it, and move it away if it is broken") from error
    if not isinstance(data, dict) or data.get("schema") != 1:
        raise JournalError(f"{path} is not a journal of schema 1; move it away")
    return data
