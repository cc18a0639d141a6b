# SPDX-License-Identifier: Apache-2.0
"""Dead ROCm choices go, and those of others stay."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from ansible_collections.instinct.bringup.plugins.module_utils.command_runner import Result
from ansible_collections.instinct.bringup.plugins.module_utils.purge_alternatives import (
    find_alternatives,
    remove_alternative,
)
from ansible_collections.instinct.bringup.plugins.module_utils.purge_request import Node, PurgeFailed, PurgeRefused

# As update-alternatives of dpkg 1.21 writes it: one slave, which the site's choice does not have.
HEAD = "auto\n/usr/bin/hipcc\nhipcc.1\n/usr/share/man/man1/hipcc.1\n\n"
OURS = "/opt/rocm-5.2.0/bin/hipcc\n50\n/opt/rocm-5.2.0/share/hipcc.1\n"
SITE = "/opt/site/bin/hipcc\n10\n\n"


class Tool:
    """Keeps the commands, and answers each the same way."""

    def __init__(self, rc: int = 0) -> None:
        self.rc = rc
        self.calls: list[str] = []

    def __call__(self, argv: Sequence[str]) -> Result:
        self.calls.append(" ".join(argv[1:]))
        return Result(self.rc, "", "made failure")


@pytest.fixture
def groups(tmp_path: Path) -> Path:
    """Return the folder of dpkg's groups below a made root."""
    folder = tmp_path / "var/lib/dpkg/alternatives"
    folder.mkdir(parents=True)
    (tmp_path / "etc/alternatives").mkdir(parents=True)
    (tmp_path / "etc/alternatives/hipcc").symlink_to("/opt/rocm-5.2.0/bin/hipcc")
    return folder


@pytest.mark.parametrize(
    ("text", "site_there", "calls"),
    [
        (HEAD + OURS, True, ["--remove-all hipcc"]),
        (HEAD + OURS + SITE, True, ["--remove hipcc /opt/rocm-5.2.0/bin/hipcc"]),
        (HEAD + OURS + SITE, False, ["--remove-all hipcc"]),
        (HEAD + SITE, True, []),
    ],
    ids=["only ours", "a site's choice that works", "a site's choice that is gone", "none of ours"],
)
def test_only_dead_choices_go(groups: Path, tmp_path: Path, text: str, site_there: bool, calls: list[str]) -> None:
    (groups / "hipcc").write_text(text + "\n", encoding="ascii")
    if site_there:
        (tmp_path / "opt/site/bin").mkdir(parents=True)
        (tmp_path / "opt/site/bin/hipcc").touch()
    tool = Tool()
    node = Node(tool, str(tmp_path))
    for group in find_alternatives(node, ["hipcc", "never-there"]):
        remove_alternative(node, group)
        assert group.record == text + "\n"
    assert tool.calls == calls


def test_a_stray_link_without_a_group_goes(groups: Path, tmp_path: Path) -> None:
    node = Node(Tool(), str(tmp_path))
    (group,) = find_alternatives(node, ["hipcc"])
    assert (group.value, group.record) == ("/opt/rocm-5.2.0/bin/hipcc", "")
    remove_alternative(node, group)
    assert find_alternatives(node, ["hipcc"]) == []


def test_a_failure_is_quoted(groups: Path, tmp_path: Path) -> None:
    (groups / "hipcc").write_text(HEAD + OURS + "\n", encoding="ascii")
    node = Node(Tool(rc=2), str(tmp_path))
    (group,) = find_alternatives(node, ["hipcc"])
    with pytest.raises(PurgeFailed, match=r"--remove-all hipcc failed \(exit 2\): made failure"):
        remove_alternative(node, group)


def test_a_group_that_is_cut_short_stops_the_purge(groups: Path, tmp_path: Path) -> None:
    (groups / "hipcc").write_text("auto\n/usr/bin/hipcc", encoding="ascii")
    with pytest.raises(PurgeRefused, match=r"alternatives/hipcc is not an administrative file"):
        find_alternatives(Node(Tool(), str(tmp_path)), ["hipcc"])
