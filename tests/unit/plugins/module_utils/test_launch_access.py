# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pathlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.instinct.bringup.plugins.module_utils.launch_access import parse_listening, read_launch
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

OURS = "restrict ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA instinct-bringup-launch"
TCP = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0 100 0 0 10 0
   1: 0100007F:733C 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 2 1 0 100 0 0 10 0
   2: 0B52BC0A:0016 0152BC0A:A2C4 01 00000000:00000000 02:000AFDF8 00000000     0        0 3 2 0 21 4 30 10 -1
"""


@pytest.fixture
def root(tmp_path: pathlib.Path) -> pathlib.Path:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/passwd").write_text("root:x:0:0::/root:/bin/sh\ndeploy:x:1000:1000::/home/deploy:/bin/sh\n")
    (tmp_path / "home/deploy/.ssh").mkdir(parents=True)
    for folder in ("home", "home/deploy", "home/deploy/.ssh"):
        (tmp_path / folder).chmod(0o755)
    return tmp_path


def test_only_our_own_keys_are_read(root: pathlib.Path) -> None:
    (root / "home/deploy/.ssh/authorized_keys").write_text(f"ssh-ed25519 AAAAprivate me@home\n{OURS}\n")
    seen = read_launch(Tree(str(root)), "deploy", live=False)
    assert (seen["home"], seen["authorized"]) == ("/home/deploy", [OURS])


def test_nothing_is_authorized_where_the_file_is_absent(root: pathlib.Path) -> None:
    assert read_launch(Tree(str(root)), "deploy", live=False)["authorized"] == []


def test_a_file_that_cannot_be_read_is_not_empty(root: pathlib.Path) -> None:
    (root / "home/deploy/.ssh/authorized_keys").mkdir()
    tree = Tree(str(root))
    assert read_launch(tree, "deploy", live=False)["authorized"] is None
    assert [problem["area"] for problem in tree.problems()] == ["launch"]


def test_what_others_may_write_is_named(root: pathlib.Path) -> None:
    (root / "home/deploy/.ssh").chmod(0o775)
    assert read_launch(Tree(str(root)), "deploy", live=False)["unsafe"] == ["/home/deploy/.ssh (0775)"]


@pytest.mark.parametrize("user", ["", "nobody-here"])
def test_without_a_user_nothing_is_known(root: pathlib.Path, user: str) -> None:
    seen = read_launch(Tree(str(root)), user, live=False)
    assert (seen["user"], seen["home"], seen["authorized"]) == (user or None, None, None)


def test_ports_are_this_machines_own(root: pathlib.Path) -> None:
    assert read_launch(Tree(str(root)), "deploy", live=False)["listening"] is None


def test_ports_are_those_of_listeners() -> None:
    assert parse_listening(TCP) == [22, 29500]


@given(st.text())
def test_any_text_has_ports_or_none(text: str) -> None:
    assert all(0 <= port < 65536 for port in parse_listening(text))
