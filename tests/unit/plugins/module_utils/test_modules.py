# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.instinct.bringup.plugins.module_utils.modules import (
    blacklists,
    cmdline_blacklists,
    read_modules,
)
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

Plant = Callable[[dict[str, Any]], Tree]


def test_a_loaded_dkms_module(plant: Plant) -> None:
    tree = plant(
        {
            "/sys/module/amdgpu/version": "5.18.13\n",
            "/sys/module/amdgpu/initstate": "live\n",
            "/sys/module/amdgpu/refcnt": "12\n",
        }
    )
    assert read_modules(tree) == {
        "amdgpu": {"loaded": True, "version": "5.18.13", "initstate": "live", "refcount": 12},
        "blacklisted_by": [],
        "file": None,
        "loaders": [],
    }
    assert tree.problems() == []


def test_a_module_that_is_not_loaded_and_who_keeps_it_from_it(plant: Plant) -> None:
    tree = plant(
        {
            "/sys/module": None,
            "/etc/modprobe.d/site.conf": "# why\nblacklist  amdgpu\n",
            "/etc/modprobe.d/hidden.conf": "",
            "/usr/lib/modprobe.d/hidden.conf": "blacklist amdgpu\n",
            "/lib/modprobe.d/vendor.conf": "install amdgpu /bin/false\n",
            "/etc/modprobe.d/ignored.bak": "blacklist amdgpu\n",
            "/proc/cmdline": "ro modprobe.blacklist=nouveau,amdgpu\n",
        }
    )
    seen = read_modules(tree)
    assert seen["amdgpu"] == {"loaded": False, "version": None, "initstate": None, "refcount": None}
    assert seen["blacklisted_by"] == ["/etc/modprobe.d/site.conf", "/lib/modprobe.d/vendor.conf", "cmdline"]
    assert tree.problems() == []


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("blacklist amdgpu", True),
        ("install amdgpu /bin/true", True),
        ("install amdgpu /usr/bin/false", True),
        ("install amdgpu /sbin/modprobe --ignore-install amdgpu", False),
        ("install amdgpu", False),
        ("options amdgpu noretry=0", False),
        ("blacklist amdgpu_extra", False),
        ("# blacklist amdgpu", False),
        ("blacklist \\\namdgpu", True),
    ],
)
def test_modprobe_lines(text: str, answer: bool) -> None:
    assert blacklists(text, "amdgpu") is answer


@pytest.mark.parametrize(
    ("cmdline", "answer"),
    [
        ("ro module_blacklist=amdgpu", True),
        ("ro modprobe.blacklist=a,amdgpu,b", True),
        ("ro modprobe.blacklist=amdgpu2", False),
        ("ro amdgpu.noretry=0", False),
        ("", False),
    ],
)
def test_kernel_parameters(cmdline: str, answer: bool) -> None:
    assert cmdline_blacklists(cmdline, "amdgpu") is answer
