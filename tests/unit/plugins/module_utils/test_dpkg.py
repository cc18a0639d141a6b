# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from ansible_collections.instinct.bringup.plugins.module_utils import dpkg
from ansible_collections.instinct.bringup.plugins.module_utils.command_runner import Result
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

Plant = Callable[[dict[str, Any]], Tree]

QUERY = (
    "dpkg\tamd64\t1.21.1ubuntu2.1\tii \n"
    "amdgpu-dkms\tall\t1:5.18.13.50402-1510348.22.04\tiF \n"
    "amdgpu-dkms-firmware\tall\t1:5.18.13.50402-1510348.22.04\tiHR\n"
    "rocm-core5.2.0\tamd64\t5.2.0.50200-65\trc \n"
    "rocm-hip-runtime\tamd64\t5.2.0.50200-65\thi \n"
    "libc6\tamd64\t2.35\tii \n"
    "libc6\ti386\t2.35\tii\n"
    "a line of another form\n"
)


def answering(text: str, rc: int = 0, err: str = "") -> tuple[list[Sequence[str]], Callable[[Sequence[str]], Result]]:
    calls: list[Sequence[str]] = []

    def probe(argv: Sequence[str]) -> Result:
        calls.append(argv)
        return Result(rc, text, err)

    return calls, probe


def test_one_call_tells_every_state(plant: Plant) -> None:
    tree = plant({"/var/lib/apt/extended_states": "Package: amdgpu-dkms\nArchitecture: amd64\nAuto-Installed: 1\n"})
    calls, probe = answering(QUERY)
    seen = dpkg.read_dpkg(tree, probe)
    assert seen is not None
    assert seen["architecture"] == "amd64"
    assert {name: (row["status"], row["hold"], row["auto"]) for name, row in seen["packages"].items()} == {
        "dpkg": ("ii ", False, False),
        "amdgpu-dkms": ("iF ", False, True),
        "amdgpu-dkms-firmware": ("iHR", False, False),
        "rocm-core5.2.0": ("rc ", False, False),
        "rocm-hip-runtime": ("hi ", True, False),
        "libc6": ("ii ", False, False),
        "libc6:i386": ("ii ", False, False),
    }
    assert seen["packages"]["amdgpu-dkms"]["version"] == "1:5.18.13.50402-1510348.22.04"
    assert [argv[0] for argv in calls] == ["dpkg-query"]
    assert tree.problems() == []


@pytest.mark.parametrize(
    ("text", "rc", "err", "message"),
    [
        ("", 2, "dpkg-query: error: x\nlast words\n", "exit code 2: last words"),
        ("", 127, "", "exit code 127: it said nothing"),
        ("\n", 0, "", "it named no package"),
    ],
)
def test_no_answer_is_none_and_a_problem(plant: Plant, text: str, rc: int, err: str, message: str) -> None:
    tree = plant({})
    assert dpkg.read_dpkg(tree, answering(text, rc, err)[1]) is None
    assert tree.problems() == [{"area": "dpkg", "path": "dpkg-query", "message": message}]


def test_another_root_is_read_from_its_status_file(plant: Plant) -> None:
    tree = plant(
        {
            "/var/lib/dpkg/status": "Package: dpkg\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1\n\n"
            "Package: a\nStatus: hold reinstreq half-installed\nArchitecture: all\nVersion: 2\nDescription: x\n y: z\n\n"
            "Package: gone\nStatus: deinstall ok config-files\nArchitecture: amd64\nVersion: 3\n\n"
            "Package: never\nStatus: unknown ok not-installed\n\n"
            "Package: odd\nStatus: sideways\n"
        }
    )
    assert dpkg.read_dpkg(tree, None) == {
        "architecture": "amd64",
        "packages": {
            "dpkg": {"version": "1", "status": "ii ", "hold": False, "auto": None},
            "a": {"version": "2", "status": "hHR", "hold": True, "auto": None},
            "gone": {"version": "3", "status": "rc ", "hold": False, "auto": None},
        },
        "interrupted": False,
    }


def test_a_dpkg_that_was_killed_in_the_middle_is_seen(plant: Plant) -> None:
    status = "Package: dpkg\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1\n"
    tree = plant({"/var/lib/dpkg/status": status, "/var/lib/dpkg/updates/0003": "Package: a\n"})
    read = dpkg.read_dpkg(tree, None)
    assert read is not None
    assert read["interrupted"]
    assert tree.problems() == []


def test_owners_are_found_in_every_list(plant: Plant) -> None:
    info = "/var/lib/dpkg/info"
    tree = plant(
        {
            f"{info}/rocm-core.list": "/.\n/opt\n/opt/rocm-5.4.2\n/opt/rocm-5.4.2/.info/version\n",
            f"{info}/libx:amd64.list": "/opt/rocm-5.4.2/lib/libx.so\n",
            f"{info}/site-tool.list": "/.\n/opt\n/opt/site/opt/rocm\n",
            f"{info}/rocm-core.md5sums": "0  opt/rocm-5.4.2/x\n",
        }
    )
    assert dpkg.FileLists(tree).below("/opt/rocm") == {
        "rocm-core": {"/opt/rocm-5.4.2", "/opt/rocm-5.4.2/.info/version"},
        "libx": {"/opt/rocm-5.4.2/lib/libx.so"},
    }
