# SPDX-License-Identifier: Apache-2.0
"""Whoever holds the package lock is named, and waited for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from ansible_collections.instinct.bringup.plugins.module_utils.command_runner import Result
from ansible_collections.instinct.bringup.plugins.module_utils.package_lock import describe_lock, run_when_unlocked

# As apt 2.6 and dpkg 1.21 say it; the first is CASES-like, of an unattended upgrade.
APT = "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 24459 (unattended-upgr)\n"
WAITED = (
    "Waiting for cache lock: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 31627 (python3)...\n"
    "E: Unable to acquire the dpkg frontend lock (/var/lib/dpkg/lock-frontend), is another process using it?\n"
)
DPKG = "dpkg: error: dpkg frontend lock was locked by another process with pid 31627\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (APT, "/var/lib/dpkg/lock-frontend is held by process 24459 (unattended-upgr)"),
        (WAITED, "/var/lib/dpkg/lock-frontend is held by process 31627 (python3)"),
        (DPKG, "the package database's lock is held by process 31627 (made-holder)"),
        (DPKG.replace("31627", "9"), "the package database's lock is held by process 9 (gone since)"),
        ("dpkg: error: x is locked by another process\n", "held by another process, which was not named"),
        ("E: Unable to locate package x\n", None),
    ],
    ids=["apt", "apt after waiting", "dpkg", "dpkg, gone", "not named", "no lock"],
)
def test_the_holder_is_named(tmp_path: Path, text: str, said: str | None) -> None:
    (tmp_path / "31627").mkdir()
    (tmp_path / "31627/comm").write_text("made-holder\n", encoding="ascii")
    described = describe_lock(Result(100, "", text), tmp_path)
    assert described is None if said is None else said in str(described)


def test_a_command_that_succeeded_met_no_lock() -> None:
    assert describe_lock(Result(0, "", WAITED)) is None


def test_a_lock_is_waited_for() -> None:
    answers: Iterator[Result] = iter([Result(2, "", DPKG), Result(2, "", DPKG), Result(0, "", "")])
    pauses: list[float] = []

    def run(argv: Sequence[str]) -> Result:
        return next(answers)

    assert run_when_unlocked(run, ["dpkg"], sleep=pauses.append, clock=lambda: sum(pauses)).rc == 0
    assert len(pauses) == 2


def test_a_lock_is_not_waited_for_for_ever() -> None:
    pauses: list[float] = []
    result = run_when_unlocked(
        lambda argv: Result(2, "", DPKG), ["dpkg"], timeout=10, sleep=pauses.append, clock=lambda: sum(pauses)
    )
    assert result.rc == 2
    assert 10 <= sum(pauses) < 20
