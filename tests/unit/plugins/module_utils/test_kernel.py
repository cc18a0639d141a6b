# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.instinct.bringup.plugins.module_utils import kernel
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

Plant = Callable[[dict[str, Any]], Tree]

OLD, NEW = "5.15.0-91-generic", "5.15.0-100-generic"
BASE: dict[str, Any] = {
    "/proc/sys/kernel/osrelease": f"{OLD}\n",
    "/proc/cmdline": "ro iommu=pt\n",
    "/proc/sys/kernel/random/boot_id": "abc\n",
    f"/boot/vmlinuz-{OLD}": "",
    f"/boot/vmlinuz-{NEW}": "",
    f"/boot/vmlinuz-{NEW}.old": "",
    "/boot/vmlinuz": "-> vmlinuz-x",
    "/etc/default/grub": "GRUB_DEFAULT=0\n",
    f"/lib/modules/{OLD}/build": f"-> /usr/src/linux-headers-{OLD}",
    f"/usr/src/linux-headers-{OLD}": None,
    f"/lib/modules/{NEW}/build": f"-> /usr/src/linux-headers-{NEW}",
    f"/boot/config-{OLD}": "CONFIG_PCI_P2PDMA=y\n# CONFIG_HSA_AMD_P2P is not set\n",
}


def test_running_and_next_kernel(plant: Plant) -> None:
    tree = plant(BASE)
    assert kernel.read_kernel(tree) == {
        "release": OLD,
        "cmdline": "ro iommu=pt",
        "boot_id": "abc",
        "next_release": NEW,
        "next_cmdline": "",
        "boot_cmdline": None,
        "installed": [OLD, NEW],
        "headers": [OLD],
        "config": {"CONFIG_PCI_P2PDMA": "y", "CONFIG_DMABUF_MOVE_NOTIFY": "n", "CONFIG_HSA_AMD_P2P": "n"},
    }
    assert tree.problems() == []


@pytest.mark.parametrize(
    ("default", "grubenv", "release"),
    [
        pytest.param("0", None, NEW, id="first entry is the newest"),
        pytest.param(f'"Advanced options for Ubuntu>Ubuntu, with Linux {OLD}"', None, OLD, id="by title"),
        pytest.param(f"gnulinux-advanced-1-2>gnulinux-{OLD}-advanced-1-2", None, OLD, id="by id"),
        pytest.param("saved", f"saved_entry=Ubuntu, with Linux {OLD}\n", OLD, id="saved"),
        pytest.param("saved", None, NEW, id="nothing saved yet"),
        pytest.param('"1>2"', None, None, id="by number"),
        pytest.param('"Ubuntu, with Linux 4.4.0-1-generic"', None, None, id="a kernel that is gone"),
        pytest.param(f'"Ubuntu, with Linux {OLD} (recovery mode)"', None, None, id="recovery"),
        pytest.param("`cat /x`", None, None, id="only a shell could tell"),
    ],
)
def test_grub_default(plant: Plant, default: str, grubenv: str | None, release: str | None) -> None:
    files = {**BASE, "/etc/default/grub": f"GRUB_DEFAULT={default}\n"}
    if grubenv is not None:
        files["/boot/grub/grubenv"] = "# GRUB Environment Block\n" + grubenv + "####\n"
    tree = plant(files)
    assert kernel.read_kernel(tree)["next_release"] == release
    assert len(tree.problems()) == (release is None)


@pytest.mark.parametrize(
    ("text", "drop_in", "cmdline"),
    [
        pytest.param(
            'GRUB_CMDLINE_LINUX_DEFAULT="quiet  splash"\nGRUB_CMDLINE_LINUX=a', "", "a quiet splash", id="order"
        ),
        pytest.param("GRUB_CMDLINE_LINUX=a # why\n", "", "a", id="comment"),
        pytest.param("GRUB_CMDLINE_LINUX='$x'\n", "", "$x", id="single quotes"),
        pytest.param('GRUB_CMDLINE_LINUX="a \\\n b"\n', "", "a b", id="continued line"),
        pytest.param('GRUB_CMDLINE_LINUX="a \\"b\\""\n', "", 'a "b"', id="escaped quotes"),
        pytest.param(
            "GRUB_CMDLINE_LINUX=a\n",
            'GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX iommu=pt"\n',
            "a iommu=pt",
            id="drop-in adds",
        ),
        pytest.param("GRUB_CMDLINE_LINUX=a\n", 'GRUB_CMDLINE_LINUX="${GRUB_CMDLINE_LINUX} b"\n', "a b", id="braces"),
        pytest.param("GRUB_CMDLINE_LINUX=a\n", "GRUB_CMDLINE_LINUX+=' b'\n", "a b", id="plus equals"),
        pytest.param("GRUB_DISTRIBUTOR=`lsb_release -i`\nGRUB_CMDLINE_LINUX=a\n", "", "a", id="a command elsewhere"),
        pytest.param('GRUB_CMDLINE_LINUX="$(cat /x)"\n', "", None, id="a command"),
        pytest.param('GRUB_CMDLINE_LINUX="open\n', "", None, id="an open quote"),
    ],
)
def test_next_command_line(plant: Plant, text: str, drop_in: str, cmdline: str | None) -> None:
    tree = plant(
        {**BASE, "/etc/default/grub": text, "/etc/default/grub.d/50-x.cfg": drop_in, "/etc/default/grub.d/x": "!"}
    )
    assert kernel.read_kernel(tree)["next_cmdline"] == cmdline
    assert len(tree.problems()) == (cmdline is None)


def test_a_node_without_grub_does_not_tell_its_next_command_line(plant: Plant) -> None:
    tree = plant({path: content for path, content in BASE.items() if path != "/etc/default/grub"})
    seen = kernel.read_kernel(tree)
    assert seen["next_cmdline"] is None
    assert seen["next_release"] == NEW
    assert [entry["path"] for entry in tree.problems()] == ["/etc/default/grub"]


MENU = f"""
set default="0"
menuentry 'Ubuntu' --class ubuntu {{
    linux   /boot/vmlinuz-{NEW} root=UUID=1 ro  quiet iommu=pt
    initrd  /boot/initrd.img-{NEW}
}}
submenu 'Advanced options' {{
    menuentry 'Ubuntu, with Linux {NEW} (recovery mode)' {{
        linux   /boot/vmlinuz-{NEW} root=UUID=1 ro recovery nomodeset
    }}
    menuentry 'Ubuntu, with Linux {OLD}' {{
        linux   /vmlinuz-{OLD} root=UUID=1 ro
    }}
}}
"""


@pytest.mark.parametrize(
    ("release", "cmdline"),
    [
        pytest.param(NEW, "root=UUID=1 ro quiet iommu=pt", id="the first entry, not the recovery"),
        pytest.param(OLD, "root=UUID=1 ro", id="with a partition of its own for boot"),
        pytest.param("4.4.0-1-generic", None, id="no entry"),
        pytest.param(None, None, id="next kernel not known"),
    ],
)
def test_what_the_boot_loaders_menu_starts(release: str | None, cmdline: str | None) -> None:
    assert kernel.boot_cmdline(MENU, release) == cmdline
