# SPDX-License-Identifier: Apache-2.0
"""Follow a run host by host and keep results.json up to date while it goes on.

No callback runs after SIGINT or SIGTERM: what is on disk at any moment must already say how far the run came.
"""

from __future__ import annotations

import collections.abc as c
import pathlib
import time
import typing as t

from ansible_collections.instinct.bringup.plugins.plugin_utils.report.files import write_json
from ansible_collections.instinct.bringup.plugins.plugin_utils.report.results import (
    UNTOUCHED,
    assemble,
    decision,
    node_entry,
    release_of,
    results_of,
    write_report,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.report.run_folder import (
    RunFolder,
    new_record,
    open_run_folder,
    read_node,
    write_node,
)

# A writing of results.json that takes fewer seconds is repeated at once: nothing tells when the next event comes,
# and what is not written by then is missing when the run is cut. A longer one may take this part of the time.
QUICK = 0.01
LARGEST_SHARE = 0.1
# How much of a failed task's message a reason holds.
MESSAGE_LINES = 3
MESSAGE_LENGTH = 400
# The role that only asks: where it fails the node is as it was.
PREFLIGHT = "preflight"
VERIFY = "instinct.bringup.verify"


class RunRecorder:
    """Keep the records of one run. Before start() was called nothing is written at all."""

    def __init__(self, clock: c.Callable[[], float] = time.monotonic) -> None:
        self.folder: RunFolder | None = None
        self._clock = clock
        self._entries: dict[str, dict[str, t.Any]] = {}
        self._planned: set[str] = set()
        self._next_write = 0.0
        self._unwritten = False

    def start(self, run_dir: str | pathlib.Path) -> None:
        """Follow the run of a folder that the action run has made."""
        self.folder = open_run_folder(run_dir)
        self._entries = {
            host: node_entry(new_record(host), self.folder.info, ended=False) for host in self.folder.hosts
        }
        self.write_progress()

    def planned(self, host: str) -> bool:
        """Note that a host has a plan, and say whether it is its first: what fails from now on fails in applying it."""
        first = host not in self._planned
        self._planned.add(host)
        self.refresh(host)
        return first

    def failed(self, host: str, task: str, message: object, *, action: str = "", role: str = "") -> None:
        """Note a failed task, unless the action that failed has given the host its verdict itself."""
        if self.folder is None:
            return
        reason = f"{task}: {first_lines(message)}"
        decided = decision(read_node(self.folder.path, host)) is not None
        if action == VERIFY or host not in self._planned:
            if not decided:
                self._decide(host, "unknown" if action == VERIFY else "refused", reason)
        else:
            self._decide(host, "refused" if role == PREFLIGHT else "apply_failed", reason)
        self.refresh(host)

    def unreachable(self, host: str, message: object) -> None:
        """Note that a host does not answer."""
        if self.folder is not None:
            self._decide(host, "unreachable", first_lines(message))
            self.refresh(host)

    def refresh(self, host: str) -> None:
        """Read a host's record again."""
        if self.folder is None:
            return
        self._entries[host] = node_entry(read_node(self.folder.path, host), self.folder.info, ended=False)
        self._unwritten = True
        self.tick()

    def tick(self) -> None:
        """Write the progress if there is some that is not written, and if the last writing is long enough ago."""
        if self._unwritten and self._clock() >= self._next_write:
            self.write_progress()

    def write_progress(self) -> None:
        """Write results.json as far as the run is, and say that it is not complete."""
        if self.folder is None:
            return
        began = self._clock()
        missing = [host for host, entry in self._entries.items() if entry["verdict"] == UNTOUCHED]
        release = release_of(self.folder)
        results = assemble(self._entries, rocm_release=release, complete=False, missing=missing)
        write_json(self.folder.path / "results.json", results)
        self._unwritten = False
        took = self._clock() - began
        self._next_write = began if took < QUICK else began + took / LARGEST_SHARE

    def finish(self) -> dict[str, t.Any] | None:
        """Write the whole report and return results.json; None when there was no run of ours."""
        if self.folder is None:
            return None
        self.folder.finish()
        folder = open_run_folder(self.folder.path)
        results = results_of(folder)
        write_report(folder, results)
        return results

    def _decide(self, host: str, verdict: str, reason: str) -> None:
        if self.folder is not None:
            write_node(self.folder.path, host, {"verdict": verdict, "reason": reason})


def first_lines(message: object) -> str:
    """Return the beginning of a message, on one line."""
    lines = [line.strip() for line in str(message or "").splitlines() if line.strip()]
    text = " ".join(lines[:MESSAGE_LINES]) or "no message"
    return text if len(text) <= MESSAGE_LENGTH else f"{text[:MESSAGE_LENGTH]} …"
