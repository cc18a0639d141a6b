# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from ansible_collections.instinct.bringup.plugins.module_utils.apt_policy import parse_policy, read_policy
from ansible_collections.instinct.bringup.plugins.module_utils.command_runner import Result
from ansible_collections.instinct.bringup.plugins.module_utils.probe import ProbeError
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

Plant = Callable[[dict[str, Any]], Tree]

SHADOWED = """\
hipcc:
  Installed: (none)
  Candidate: 5.7.1-3
  Version table:
     5.7.1-3 500
        500 http://mirror.example/ubuntu noble/universe amd64 Packages
     1.1.1.70204-93~24.04 600
        600 https://repo.radeon.com/rocm/apt/7.2.4 noble/main amd64 Packages
bash:
  Installed: 5.2.15-2+b7
  Candidate: 5.2.15-2+b7
  Package pin: 5.2
  Version table:
 *** 5.2.15-2+b7 500 (phased 40%)
        500 http://deb.example/debian bookworm/main amd64 Packages
        100 /var/lib/dpkg/status
     5.2.14-1 -1
        100 /var/lib/dpkg/status
gone:
  Installed: (none)
  Candidate: (none)
  Version table:
"""
CZECH = "hipcc:\n  Nainstalovaná verze: (žádná)\n  Kandidát:            5.7.1-3\n"


def source(priority: int, uri: str, suite: str | None) -> dict[str, Any]:
    return {"priority": priority, "uri": uri, "suite": suite}


def test_versions_with_their_priorities_and_places() -> None:
    assert parse_policy(SHADOWED) == {
        "hipcc": {
            "installed": None,
            "candidate": "5.7.1-3",
            "versions": [
                {
                    "version": "5.7.1-3",
                    "priority": 500,
                    "sources": [source(500, "http://mirror.example/ubuntu", "noble/universe")],
                },
                {
                    "version": "1.1.1.70204-93~24.04",
                    "priority": 600,
                    "sources": [source(600, "https://repo.radeon.com/rocm/apt/7.2.4", "noble/main")],
                },
            ],
        },
        "bash": {
            "installed": "5.2.15-2+b7",
            "candidate": "5.2.15-2+b7",
            "versions": [
                {
                    "version": "5.2.15-2+b7",
                    "priority": 500,
                    "sources": [
                        source(500, "http://deb.example/debian", "bookworm/main"),
                        source(100, "/var/lib/dpkg/status", None),
                    ],
                },
                {"version": "5.2.14-1", "priority": -1, "sources": [source(100, "/var/lib/dpkg/status", None)]},
            ],
        },
        "gone": {"installed": None, "candidate": None, "versions": []},
    }


AS_NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "apt-cache", "policy", "hipcc"]
IN_MEMORY = [
    "apt-cache", "-o", "Dir::Cache::pkgcache=", "-o", "Dir::Cache::srcpkgcache=", "policy", "hipcc",
]  # fmt: skip
PLAIN = ["apt-cache", "policy", "hipcc"]
GONE = "hipcc:\n  Installed: (none)\n  Candidate: (none)\n"


@pytest.mark.parametrize(
    ("euid", "first", "calls"),
    [
        (1000, Result(0, SHADOWED, ""), [PLAIN]),
        (0, Result(0, SHADOWED, ""), [AS_NOBODY]),
        (0, Result(0, GONE, "W: Unable to read /etc/apt/sources.list.d/x.list"), [AS_NOBODY, IN_MEMORY]),
        (0, Result(100, "", "E: no"), [AS_NOBODY, IN_MEMORY]),
        (0, None, [AS_NOBODY, IN_MEMORY]),
    ],
    ids=["not root", "nobody sees all", "a source is only for root", "nobody may not", "no setpriv"],
)
def test_apt_is_asked_so_that_it_cannot_write(
    plant: Plant, monkeypatch: pytest.MonkeyPatch, euid: int, first: Result | None, calls: list[list[str]]
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: euid)
    tree = plant({})
    seen: list[list[str]] = []

    def probe(argv: Sequence[str]) -> Result:
        seen.append(list(argv))
        if len(seen) == 1 and first is None:
            raise ProbeError("No such file or directory")
        return first if len(seen) == 1 and first is not None else Result(0, SHADOWED, "")

    policy = read_policy(tree, probe, ["hipcc"])
    assert seen == calls
    assert policy == parse_policy(SHADOWED)
    assert tree.problems() == []


def asked(tree: Tree, text: str, names: Sequence[str]) -> tuple[Any, list[Sequence[str]]]:
    calls: list[Sequence[str]] = []

    def probe(argv: Sequence[str]) -> Result:
        calls.append(argv)
        return Result(0, text, "")

    return read_policy(tree, probe, names), calls


def test_all_names_go_in_one_call(plant: Plant) -> None:
    policy, calls = asked(plant({}), SHADOWED, ["hipcc", "bash", "unknown"])
    assert [call[-4:] for call in calls] == [["policy", "hipcc", "bash", "unknown"]]
    assert "unknown" not in policy


def test_nothing_is_run_when_nothing_is_asked(plant: Plant) -> None:
    assert asked(plant({}), SHADOWED, []) == ({}, [])


def test_an_answer_in_another_language_is_not_understood_rather_than_not_installed(plant: Plant) -> None:
    tree = plant({})
    assert asked(tree, CZECH, ["hipcc"])[0] is None
    assert "not understood" in tree.problems()[0]["message"]


def test_names_that_apt_does_not_know_give_an_empty_answer(plant: Plant) -> None:
    tree = plant({})
    assert asked(tree, "", ["linux-headers-5.18.2-mi300-build"])[0] == {}
    assert tree.problems() == []
