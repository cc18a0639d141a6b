# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.instinct.bringup.plugins.module_utils import os_release
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

Plant = Callable[[dict[str, Any]], Tree]
ELF = b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x03\x00\x3e\x00" + bytes(40)


def test_quotes_and_other_lines() -> None:
    text = '# comment\nID=ubuntu\nVERSION_ID=\'22.04\'\nPRETTY_NAME="A \\"quoted\\" \\$name"\nnot an assignment\n'
    assert os_release.parse_os_release(text) == {
        "ID": "ubuntu",
        "VERSION_ID": "22.04",
        "PRETTY_NAME": 'A "quoted" $name',
    }


def test_the_file_in_usr_is_read_when_etc_has_none(plant: Plant) -> None:
    tree = plant({"/usr/lib/os-release": "ID=pop\nID_LIKE=ubuntu debian\nUBUNTU_CODENAME=jammy\n", "/bin/sh": ELF})
    seen = os_release.read_os(tree)
    assert (seen["id"], seen["id_like"], seen["codename"], seen["machine"]) == (
        "pop",
        "ubuntu debian",
        "jammy",
        "x86_64",
    )
    assert seen["version_id"] is None
    assert tree.problems() == []


def test_no_file_at_all_is_a_problem(plant: Plant) -> None:
    tree = plant({})
    assert set(os_release.read_os(tree).values()) == {None}
    assert [entry["path"] for entry in tree.problems()] == ["/usr/lib/os-release", "/bin/sh"]


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        pytest.param({}, None, id="bare metal"),
        pytest.param({"/run/systemd/container": "podman\n"}, "podman", id="systemd in a container"),
        pytest.param({"/.dockerenv": ""}, "docker", id="docker"),
        pytest.param({"/sys/class/dmi/id/sys_vendor": "QEMU\n"}, "kvm", id="virtual machine"),
        pytest.param({"/sys/class/dmi/id/sys_vendor": "Dell Inc.\n"}, None, id="a server's maker"),
        pytest.param({"/sys/class/dmi/id/sys_vendor": "Microsoft Corporation\n"}, None, id="Microsoft's own hardware"),
        pytest.param(
            {
                "/sys/class/dmi/id/sys_vendor": "Microsoft Corporation\n",
                "/sys/class/dmi/id/product_name": "Virtual Machine\n",
            },
            "microsoft",
            id="Hyper-V",
        ),
    ],
)
def test_virtualization(plant: Plant, files: dict[str, str], kind: str | None) -> None:
    assert os_release.read_virtualization(plant(files)) == kind
