# SPDX-License-Identifier: Apache-2.0
"""Packages go by name, by apt or by dpkg, and never one that is not listed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.instinct.bringup.plugins.module_utils.command_runner import Result
from ansible_collections.instinct.bringup.plugins.module_utils.package_state import PackageRow, parse_rows
from ansible_collections.instinct.bringup.plugins.module_utils.purge_packages import (
    purge_packages,
    refuse_beyond,
    refuse_unfinished,
    settle_packages,
    simulated,
)
from ansible_collections.instinct.bringup.plugins.module_utils.purge_request import Node, PurgeFailed, PurgeRefused

SILENT = Result(0, "", "")
STATES = {"ii ": "installed", "rc ": "config-files", "iF ": "half-configured", "iHR": "half-installed"}

# What apt 2.6 prints, with a package of a foreign architecture and one that only has configuration files left.
SIMULATION = """Reading package lists...
The following packages will be REMOVED:
  rocm-core* rocm-hip-runtime* site-app*
1 not fully installed or removed.
Purg rocm-core [5.2.0.50200-65] [site-app:amd64 ]
Purg libdrm-amdgpu1:i386 [1:2.4.110]
Remv site-app [1.0]
Purg rocm-hip-runtime
Conf amdgpu-dkms (1:5.16.9.22.20.50200-1438746  [all])
"""


def row(name: str, abbrev: str = "ii ") -> PackageRow:
    return parse_rows(f"{name}\t{name}\tall\t1.0\t{abbrev}\tinstall\t{STATES[abbrev]}")[0]


class Apt:
    """A package database that forgets what is purged; every command line is kept."""

    def __init__(self, rows: Sequence[PackageRow] = (), simulation: Result = SILENT, rc: int = 0) -> None:
        self.rows = list(rows)
        self.simulation = simulation
        self.rc = rc
        self.calls: list[str] = []

    def __call__(self, argv: Sequence[str]) -> Result:
        self.calls.append(" ".join(argv))
        if argv[0] == "dpkg-query":
            lines = [f"{r.binary}\t{r.name}\tall\t{r.version}\t{r.abbrev}\tinstall\t{r.status}" for r in self.rows]
            return Result(0, "\n".join(lines), "")
        if "-s" in argv or "--no-act" in argv:
            return self.simulation
        if self.rc == 0 and {"--purge", "purge"} & set(argv):
            self.rows = [r for r in self.rows if r.binary not in argv]
        return Result(self.rc, "", "E: made failure\n" if self.rc else "")


def test_the_simulation_is_read_line_by_line() -> None:
    assert simulated(SIMULATION) == (["rocm-core", "libdrm-amdgpu1", "site-app", "rocm-hip-runtime"], [])
    assert simulated("Inst other-mta (1.0 Debian)\nPurg x [1]\n") == (["x"], ["other-mta"])


NAME = st.from_regex(r"[a-z0-9][a-z0-9+.-]{1,20}", fullmatch=True)


@given(st.lists(st.tuples(st.sampled_from(["Purg", "Remv"]), NAME, st.sampled_from(["", ":i386"])), max_size=8))
def test_every_name_that_goes_is_found(lines: list[tuple[str, str, str]]) -> None:
    text = "".join(f"{verb} {name}{architecture} [1.0]\n" for verb, name, architecture in lines)
    assert simulated("Reading...\n" + text)[0] == list(dict.fromkeys(name for _verb, name, _architecture in lines))


@pytest.mark.parametrize(
    ("rows", "answer", "said"),
    [
        ([row("rocm-core")], Result(0, "Purg rocm-core [1]\nRemv site-app [1]\n", ""), "also remove: site-app"),
        ([row("rocm-core")], Result(0, "Purg rocm-core [1]\nInst other [1]\n", ""), "would install: other"),
        ([row("rocm-core")], Result(100, "", "E: Unmet dependencies.\n"), "Unmet dependencies"),
        (
            [row("amdgpu-dkms", "iF ")],
            Result(1, "", "dpkg: dependency problems prevent removal of x:\n site-app:amd64 depends on amdgpu-dkms.\n"),
            "also remove: site-app",
        ),
        ([row("amdgpu-dkms", "iHR")], Result(1, "", "dpkg: error: made\n"), "cannot simulate"),
    ],
    ids=["apt beyond", "apt installs", "apt fails", "dpkg beyond", "dpkg fails"],
)
def test_what_goes_beyond_the_list_is_refused(
    tmp_path: Path, rows: list[PackageRow], answer: Result, said: str
) -> None:
    with pytest.raises(PurgeRefused, match=said):
        refuse_beyond(Node(Apt(rows, answer), str(tmp_path)), rows)


def test_apt_is_asked_without_autoremove_and_waits_for_the_lock(tmp_path: Path) -> None:
    apt = Apt([row("rocm-core")])
    purge_packages(Node(apt, str(tmp_path)), apt.rows)
    assert apt.calls[0] == "apt-get -q -o DPkg::Lock::Timeout=600 --no-auto-remove -y purge rocm-core"


@pytest.mark.parametrize("abbrev", ["iF ", "iHR"])
def test_dpkg_does_it_where_a_listed_package_is_half_way(tmp_path: Path, abbrev: str) -> None:
    apt = Apt([row("amdgpu-dkms", abbrev), row("rocm-core")])
    purge_packages(Node(apt, str(tmp_path)), list(apt.rows))
    assert apt.calls[0] == "dpkg --force-remove-reinstreq --purge amdgpu-dkms rocm-core"


def test_dpkg_does_it_where_dpkg_was_killed(tmp_path: Path) -> None:
    (tmp_path / "var/lib/dpkg/updates").mkdir(parents=True)
    (tmp_path / "var/lib/dpkg/updates/0001").touch()
    apt = Apt([row("rocm-core")])
    purge_packages(Node(apt, str(tmp_path)), list(apt.rows))
    assert apt.calls[0].startswith("dpkg ")


def test_a_purge_that_leaves_something_names_it(tmp_path: Path) -> None:
    apt = Apt([row("rocm-core")], rc=100)
    with pytest.raises(PurgeFailed, match=r"exit 100: E: made failure\. Still there: rocm-core 1\.0 \(ii\)"):
        purge_packages(Node(apt, str(tmp_path)), list(apt.rows))


def test_dpkg_simulates_where_it_stopped_in_a_package_beyond_the_list(tmp_path: Path) -> None:
    apt = Apt([row("rocm-core")])
    refuse_beyond(Node(apt, str(tmp_path)), apt.rows, [row("openmpi-bin", "iHR")])
    assert apt.calls == ["dpkg --force-remove-reinstreq --no-act --purge rocm-core"]


def test_nothing_to_purge_calls_nothing(tmp_path: Path) -> None:
    apt = Apt()
    purge_packages(Node(apt, str(tmp_path)), [])
    refuse_beyond(Node(apt, str(tmp_path)), [])
    assert apt.calls == []


def test_a_stuck_package_beyond_the_list_is_refused_and_an_unconfigured_one_is_not() -> None:
    refuse_unfinished([row("linux-headers-generic", "iF ")])
    with pytest.raises(PurgeRefused, match=r"not on the list: site-app 1\.0 \(iHR\)"):
        refuse_unfinished([row("site-app", "iHR"), row("linux-headers-generic", "iF ")])


def test_settling_does_nothing_where_all_is_settled() -> None:
    apt = Apt([row("site-app")])
    settle_packages(Node(apt, "/nowhere"))
    assert len(apt.calls) == 1


def test_settling_names_what_dpkg_cannot_finish() -> None:
    apt = Apt([row("linux-headers-generic", "iF ")], rc=1)
    with pytest.raises(PurgeFailed, match=r"cannot finish linux-headers-generic \(iF\)"):
        settle_packages(Node(apt, "/nowhere"))
    assert "dpkg --configure -a" in apt.calls


def test_settling_lets_dpkg_take_in_its_own_journal(tmp_path: Path) -> None:
    (tmp_path / "var/lib/dpkg/updates").mkdir(parents=True)
    (tmp_path / "var/lib/dpkg/updates/0001").touch()
    apt = Apt([row("site-app")])
    settle_packages(Node(apt, str(tmp_path)))
    assert "dpkg --configure -a" in apt.calls
    with pytest.raises(PurgeFailed, match="cannot finish its own state: killed by signal 9"):
        settle_packages(Node(Apt([row("site-app")], rc=-9), str(tmp_path)))
