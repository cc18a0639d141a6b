# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.instinct.bringup.plugins.module_utils import mounts
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

Plant = Callable[[dict[str, Any]], Tree]

MOUNTINFO = """\
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
40 27 0:44 / /proj rw,relatime shared:9 - nfs4 nfs01:/proj rw,hard,retrans=2
41 27 0:45 / /home/a\\040b rw - fuse.sshfs host:/ rw
42 27 0:46 / /auto rw - autofs systemd-1 rw
43 42 8:2 / /auto rw - ext4 /dev/sdb1 rw
44 27 0:47 / /proc/cpuinfo rw - fuse.lxcfs lxcfs rw
a line that is cut
"""


def test_network_mounts_are_found_and_what_lies_on_top_counts() -> None:
    assert mounts.parse_far_mounts(MOUNTINFO) == {"/proj": "nfs4", "/home/a b": "fuse.sshfs"}


def test_a_root_on_the_network_is_read_all_the_same() -> None:
    assert mounts.parse_far_mounts("27 1 0:30 / / rw - nfs4 server:/root rw\n") == {}


@pytest.mark.parametrize(
    ("kind", "remote"),
    [("nfs", True), ("lustre", True), ("fuse.s3fs", True), ("ext4", False), ("overlay", False), ("fuseblk", False)],
)
def test_kinds_of_file_system(kind: str, remote: bool) -> None:
    assert mounts.is_remote(kind) is remote


def test_space_of_a_path_that_is_not_there_yet_is_that_of_the_folder_above(plant: Plant) -> None:
    tree = plant({"/opt": None})
    space = mounts.read_space(tree, ["/opt/rocm/deep", "/opt"])
    for path in ("/opt/rocm/deep", "/opt"):
        found = space[path]
        assert found is not None
        assert 0 <= found["free_bytes"] <= found["total_bytes"]
    assert tree.problems() == []


def test_space_on_a_network_mount_is_not_asked(plant: Plant) -> None:
    tree = plant({"/proj/x": None})
    tree.far["/proj"] = "nfs4"
    assert mounts.read_space(tree, ["/proj/x/y"]) == {"/proj/x/y": None}
    assert tree.problems()[0]["message"] == "/proj is a mount of type nfs4: not looked at"
