# SPDX-License-Identifier: Apache-2.0
"""What an interrupted run left is finished, nothing is removed for it, and what cannot be is named."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from ansible_collections.instinct.bringup.plugins.module_utils.command_runner import Result
from ansible_collections.instinct.bringup.plugins.module_utils.package_state import PackageError
from ansible_collections.instinct.bringup.plugins.module_utils.purge_request import Node
from ansible_collections.instinct.bringup.plugins.module_utils.settle import settle

STATES = {"ii ": "installed", "iU ": "unpacked", "iF ": "half-configured", "iHR": "half-installed"}


class Dpkg:
    """A package database; each command mends the states that it can."""

    def __init__(self, rows: dict[str, str], stubborn: Sequence[str] = ()) -> None:
        self.rows = dict(rows)
        self.stubborn = stubborn
        self.calls: list[str] = []

    def __call__(self, argv: Sequence[str]) -> Result:
        self.calls.append(" ".join(argv))
        if argv[0] == "dpkg-query":
            lines = [f"{n}\t{n}\tall\t1\t{s}\tinstall\t{STATES[s]}" for n, s in self.rows.items()]
            return Result(0, "\n".join(lines), "")
        mends = {"dpkg": ("iF ",), "-f": ("iU ", "iF "), "--reinstall": ("iHR",)}
        verb = "dpkg" if argv[0] == "dpkg" else "--reinstall" if "--reinstall" in argv else "-f"
        for name, state in self.rows.items():
            if state in mends[verb] and name not in self.stubborn:
                self.rows[name] = "ii "
        return Result(1 if set(self.rows.values()) != {"ii "} else 0, "", "dpkg: error")


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ({"rccl": "iF "}, ["dpkg --configure -a"]),
        ({"rccl": "iU "}, ["dpkg --configure -a", "-f install"]),
        ({"rccl": "iHR"}, ["dpkg --configure -a", "--reinstall install rccl"]),
    ],
    ids=["half-configured", "unpacked", "dpkg was killed in it"],
)
def test_what_is_half_done_is_finished(rows: dict[str, str], words: list[str]) -> None:
    dpkg = Dpkg(rows)
    assert settle(Node(dpkg), [], check_mode=False)["changed"]
    assert dpkg.rows == {"rccl": "ii "}
    assert all(any(word in call for call in dpkg.calls) for word in words)
    assert all("--no-remove" in call for call in dpkg.calls if call.startswith("apt-get"))


def test_what_is_purged_next_may_stay_half_done() -> None:
    dpkg = Dpkg({"amdgpu-dkms": "iF ", "openmpi-bin": "iF "}, stubborn=["amdgpu-dkms"])
    assert settle(Node(dpkg), ["amdgpu-dkms"], check_mode=False)["found"] == ["openmpi-bin (iF)"]
    assert dpkg.rows == {"amdgpu-dkms": "iF ", "openmpi-bin": "ii "}


def test_what_cannot_be_finished_is_named() -> None:
    with pytest.raises(PackageError, match=r"amdgpu-dkms \(iF\)"):
        settle(Node(Dpkg({"amdgpu-dkms": "iF "}, stubborn=["amdgpu-dkms"])), [], check_mode=False)


def test_a_dpkg_that_was_killed_is_asked_to_finish_although_every_package_is_whole(tmp_path: Path) -> None:
    (tmp_path / "var/lib/dpkg/updates").mkdir(parents=True)
    (tmp_path / "var/lib/dpkg/updates/0001").touch()
    dpkg = Dpkg({"rccl": "ii "})
    assert settle(Node(dpkg, str(tmp_path)), [], check_mode=False)["changed"]
    assert any("--configure -a" in call for call in dpkg.calls)


def test_a_whole_node_is_left_alone_and_check_mode_changes_nothing() -> None:
    whole = Dpkg({"rccl": "ii "})
    assert settle(Node(whole), [], check_mode=False) == {"changed": False, "found": []}
    broken = Dpkg({"rccl": "iF "})
    assert settle(Node(broken), [], check_mode=True)["changed"]
    assert broken.rows == {"rccl": "iF "}
