# SPDX-License-Identifier: Apache-2.0
"""Holds are set and lifted by name, in every architecture, and read back."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ansible_collections.instinct.bringup.plugins.module_utils.command_runner import Result
from ansible_collections.instinct.bringup.plugins.module_utils.holds import set_holds
from ansible_collections.instinct.bringup.plugins.module_utils.package_state import PackageError


class Dpkg:
    """dpkg's selections in a dictionary. deaf: apt-mark reports success and does nothing."""

    def __init__(self, wants: dict[str, str], deaf: bool = False) -> None:
        self.wants = wants
        self.deaf = deaf
        self.versions: dict[str, str] = {}
        self.calls: list[list[str]] = []

    def __call__(self, argv: Sequence[str]) -> Result:
        self.calls.append(list(argv))
        if argv[0] == "dpkg-query":
            rows = [
                f"{name}\t{name.split(':')[0]}\tamd64\t{self.versions.get(name, '1')}\t{want[0]}i \t{want}\tinstalled"
                for name, want in self.wants.items()
            ]
            return Result(0, "\n".join(rows), "")
        if not self.deaf:
            self.wants.update(dict.fromkeys(argv[2:], "hold" if argv[1] == "hold" else "install"))
        return Result(0, "", "")


def test_only_what_differs_is_touched() -> None:
    dpkg = Dpkg({"rocm-core": "hold", "rccl": "install", "linux-image-generic": "hold"})
    done = set_holds(dpkg, ["rocm-core", "rccl", "rccl"], "held", check_mode=False)
    assert (done["changed"], done["packages"]) == (True, ["rccl"])
    assert ["apt-mark", "hold", "rccl"] in dpkg.calls
    assert done["diff"]["before"] == "linux-image-generic\nrocm-core\n"
    assert done["diff"]["after"] == "linux-image-generic\nrccl\nrocm-core\n"


def test_a_package_of_two_architectures_is_held_in_both() -> None:
    dpkg = Dpkg({"libdrm-amdgpu1:amd64": "install", "libdrm-amdgpu1:i386": "install"})
    set_holds(dpkg, ["libdrm-amdgpu1"], "held", check_mode=False)
    assert set(dpkg.wants.values()) == {"hold"}


def test_packages_are_also_meant_by_the_pattern_of_their_version() -> None:
    dpkg = Dpkg({"rocm-core": "install", "rccl": "install", "linux-image-generic": "install"})
    dpkg.versions = {"rccl": "2.13.4.50402-104~22.04"}
    done = set_holds(dpkg, ["rocm-core"], "held", check_mode=False, versions=["*.50402-*"])
    assert done["packages"] == ["rccl", "rocm-core"]
    assert dpkg.wants["linux-image-generic"] == "install"


def test_freeing_leaves_other_holds_and_unknown_names() -> None:
    dpkg = Dpkg({"rocm-core": "hold", "linux-image-generic": "hold"})
    done = set_holds(dpkg, ["rocm-core", "never-there"], "free", check_mode=False)
    assert (done["packages"], done["diff"]["after"]) == (["rocm-core"], "linux-image-generic\n")


def test_what_is_not_installed_stops_all_of_it() -> None:
    dpkg = Dpkg({"rocm-core": "install"})
    with pytest.raises(PackageError, match="not installed: a-typo, b-typo"):
        set_holds(dpkg, ["rocm-core", "b-typo", "a-typo"], "held", check_mode=False)
    assert dpkg.wants == {"rocm-core": "install"}


def test_a_success_that_did_nothing_is_an_error() -> None:
    with pytest.raises(PackageError, match="still not held: rocm-core"):
        set_holds(Dpkg({"rocm-core": "install"}, deaf=True), ["rocm-core"], "held", check_mode=False)


def test_a_name_that_is_an_option_is_refused() -> None:
    with pytest.raises(PackageError, match="not names of packages: '--help'"):
        set_holds(Dpkg({}), ["--help"], "free", check_mode=False)
