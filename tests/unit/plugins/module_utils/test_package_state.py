# SPDX-License-Identifier: Apache-2.0
"""dpkg's states are told apart as dpkg means them."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.instinct.bringup.plugins.module_utils.command_runner import Result
from ansible_collections.instinct.bringup.plugins.module_utils.package_state import (
    PackageError,
    bad_names,
    owners_of,
    parse_rows,
    read_rows,
)


def line(abbrev: str, want: str, status: str, name: str = "rocm-core", binary: str = "rocm-core") -> str:
    return f"{binary}\t{name}\tamd64\t5.2.0.50200-65\t{abbrev}\t{want}\t{status}\n"


@pytest.mark.parametrize(
    ("row", "present", "installed", "unfinished", "hold"),
    [
        (line("ii ", "install", "installed"), True, True, False, False),
        (line("hi ", "hold", "installed"), True, True, False, True),
        (line("rc ", "deinstall", "config-files"), True, False, False, False),
        (line("iF ", "install", "half-configured"), True, True, True, False),
        (line("iU ", "install", "unpacked"), True, True, True, False),
        (line("iHR", "install", "half-installed"), True, True, True, False),
        (line("iiR", "install", "installed"), True, True, True, False),
        (line("pH ", "purge", "half-installed"), True, True, True, False),
        (line("iW ", "install", "triggers-awaited"), True, True, False, False),
        (line("un ", "unknown", "not-installed"), False, False, False, False),
    ],
    ids=lambda value: value.split("\t")[4] if isinstance(value, str) else None,
)
def test_states(row: str, present: bool, installed: bool, unfinished: bool, hold: bool) -> None:
    (seen,) = parse_rows(row)
    assert (seen.present, seen.installed, seen.unfinished, seen.hold) == (present, installed, unfinished, hold)


def test_a_line_that_is_odd_is_shown() -> None:
    with pytest.raises(PackageError, match="Nainstalov"):
        parse_rows("hipcc: Nainstalovaná verze: (žádná)\n")


@given(st.text())
def test_any_text_is_rows_or_an_error_of_ours(text: str) -> None:
    with contextlib.suppress(PackageError):
        parse_rows(text)


def test_a_dpkg_that_fails_is_quoted() -> None:
    with pytest.raises(PackageError, match=r"exit 2\): dpkg-query: error: cannot read"):
        read_rows(lambda argv: Result(2, "", "dpkg-query: error: cannot read\n"))


def test_names_that_are_options_or_patterns_are_found() -> None:
    names = ["rocm-core", "libstdc++6", "-y", "rocm*", "rocm-core:i386", "a b", ""]
    assert bad_names(names) == ["-y", "rocm*", "rocm-core:i386", "a b", ""]


def test_owners_are_read_for_each_path() -> None:
    answer = (
        "rocm-hip-runtime, rocm-core: /opt/rocm-5.2.0\n"
        "libdrm-amdgpu1:amd64: /opt/amdgpu/lib/x: y\n"
        "diversion by dash from: /bin/sh\n"
    )
    assert owners_of(lambda argv: Result(1, answer, "dpkg-query: no path found matching pattern /x\n"), ["/opt/*"]) == {
        "/opt/rocm-5.2.0": ["rocm-hip-runtime", "rocm-core"],
        "/opt/amdgpu/lib/x: y": ["libdrm-amdgpu1"],
    }
