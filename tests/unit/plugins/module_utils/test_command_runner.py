# SPDX-License-Identifier: Apache-2.0
"""Commands run in one fixed environment, and one that is not there is no exception."""

from __future__ import annotations

import sys

import pytest

from ansible_collections.instinct.bringup.plugins.module_utils.command_runner import (
    NOT_FOUND,
    Result,
    last_words,
    run_command,
)


def test_the_locale_and_the_front_ends_are_fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "cs_CZ.UTF-8")
    monkeypatch.setenv("PATH", "/usr/bin")
    result = run_command(["env"])
    said = dict(line.split("=", 1) for line in result.out.splitlines() if "=" in line)
    assert {name: said[name] for name in ("LC_ALL", "DEBIAN_FRONTEND", "NEEDRESTART_SUSPEND")} == {
        "LC_ALL": "C",
        "DEBIAN_FRONTEND": "noninteractive",
        "NEEDRESTART_SUSPEND": "1",
    }
    assert said["PATH"].split(":")[0] == "/usr/bin"
    assert "/usr/sbin" in said["PATH"].split(":")


def test_a_command_that_is_not_there_gives_127() -> None:
    assert run_command(["no-such-command-here"]) == Result(
        NOT_FOUND, "", "no-such-command-here: No such file or directory"
    )


def test_output_that_is_not_utf8_is_kept_readable() -> None:
    script = "import sys; sys.stdout.buffer.write(b'a\\xff'); sys.stderr.write('e'); sys.exit(3)"
    assert run_command([sys.executable, "-c", script]) == Result(3, "a\ufffd", "e")


def test_input_is_empty_and_never_waited_for() -> None:
    assert run_command(["cat"]) == Result(0, "", "")


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (Result(1, "out", "one\n\ntwo\n"), "one / two"),
        (Result(1, "out\n", " "), "out"),
        (Result(1, "", ""), "it said nothing"),
        (Result(1, "", "\n".join("abcdefgh")), "c / d / e / f / g / h"),
    ],
)
def test_last_words(result: Result, said: str) -> None:
    assert last_words(result) == said
