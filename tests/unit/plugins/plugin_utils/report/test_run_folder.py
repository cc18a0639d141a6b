# SPDX-License-Identifier: Apache-2.0
"""The folder of a run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ansible_collections.instinct.bringup.plugins.plugin_utils.report.run_folder import (
    RunFolderError,
    create_run_folder,
    gathered_path,
    node_path,
    open_run_folder,
    read_node,
    read_snapshot,
    was_cut_before_reboot,
    write_json,
    write_node,
    write_snapshot,
)


def test_runs_of_one_second_have_folders_of_their_own_and_latest_is_the_last(tmp_path: Path) -> None:
    folders = [
        create_run_folder(tmp_path / "reports", ["b", "a", "a"], verb="site", rocm_release="5.4.2") for _ in "123"
    ]
    assert len({folder.path for folder in folders}) == 3
    assert re.fullmatch(r"\d{8}T\d{6}Z-[0-9a-f]{4}", folders[0].path.name)
    opened = open_run_folder(tmp_path / "reports" / "latest")
    assert opened.path == folders[-1].path
    assert opened.hosts == ["a", "b"]
    assert opened.info["finished"] is None


def test_a_record_keeps_what_is_not_changed(tmp_path: Path) -> None:
    folder = create_run_folder(tmp_path, ["gpu01"], verb="site", rocm_release="5.4.2")
    write_node(folder.path, "gpu01", {"plan": {"steps": [{"role": "rocm"}]}})
    record = write_node(folder.path, "gpu01", {"verdict": "pass"})
    assert record == read_node(folder.path, "gpu01")
    assert (record["plan"], record["verdict"], record["host"]) == ({"steps": [{"role": "rocm"}]}, "pass", "gpu01")


def test_a_host_without_a_record_and_one_with_half_a_record_are_new(tmp_path: Path) -> None:
    folder = create_run_folder(tmp_path, ["a", "b"], verb="site", rocm_release="5.4.2")
    node_path(folder.path, "b").write_text('{"verdict": "pa')
    assert [record["verdict"] for record in folder.read_nodes().values()] == [None, None]


def test_hosts_that_were_added_later_are_read_and_foreign_files_are_not(tmp_path: Path) -> None:
    folder = create_run_folder(tmp_path, ["a"], verb="site", rocm_release="5.4.2")
    write_node(folder.path, "later", {"verdict": "pass"})
    write_json(folder.path / "nodes" / "x.json", {"host": "../../etc/passwd"})
    write_json(folder.path / "nodes" / "y.json", {})
    assert sorted(folder.read_nodes()) == ["a", "later"]


def test_what_hosts_knew_of_each_other_goes_with_an_older_snapshot(tmp_path: Path) -> None:
    folder = create_run_folder(tmp_path, ["a", "b"], verb="site", rocm_release="5.4.2")
    write_snapshot(folder.path, "a", {"schema": 1})
    gathered = gathered_path(folder.path, "gpu/nodes")
    gathered.write_text("{}")
    write_snapshot(folder.path, "b", {"schema": 1})
    assert not gathered.exists()


def test_a_snapshot_comes_back(tmp_path: Path) -> None:
    folder = create_run_folder(tmp_path, ["a/b"], verb="site", rocm_release="5.4.2")
    path = write_snapshot(folder.path, "a/b", {"schema": 1})
    assert path.parent == folder.path / "snapshots"
    assert read_snapshot(folder.path, "a/b") == {"schema": 1}
    with pytest.raises(FileNotFoundError):
        read_snapshot(folder.path, "other")


@pytest.mark.parametrize("text", [None, "{", '{"schema": 2}'], ids=["absent", "broken", "newer"])
def test_another_folder_is_refused(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "run.json").write_text(text)
    with pytest.raises(RunFolderError, match=str(tmp_path)):
        open_run_folder(tmp_path)


def test_the_end_is_noted(tmp_path: Path) -> None:
    folder = create_run_folder(tmp_path, ["a"], verb="site", rocm_release="5.4.2")
    folder.finish()
    assert open_run_folder(folder.path).info["finished"]


REBOOTS = {"steps": [{"role": "rocm"}, {"role": "reboot"}]}


@pytest.mark.parametrize(
    ("record", "verb", "check_mode", "finished", "answer"),
    [
        ({"plan": REBOOTS}, "site", False, False, True),
        ({"plan": {"steps": [{"role": "rocm"}]}}, "site", False, False, False),
        ({"plan": REBOOTS, "verdict": "unreachable"}, "site", False, False, False),
        ({"plan": REBOOTS}, "plan", False, False, False),
        ({"plan": REBOOTS}, "site", True, False, False),
        ({"plan": REBOOTS}, "site", False, True, False),
        ({}, "site", False, False, False),
    ],
    ids=["cut", "no reboot planned", "ended", "only planned", "check mode", "finished", "no plan"],
)
def test_a_host_may_be_rebooting_only_where_a_run_was_cut_with_a_reboot_ahead(
    tmp_path: Path, record: dict[str, object], verb: str, check_mode: bool, finished: bool, answer: bool
) -> None:
    earlier = create_run_folder(tmp_path, ["gpu01"], verb=verb, rocm_release="5.4.2", check_mode=check_mode)
    write_node(earlier.path, "gpu01", record)
    if finished:
        earlier.finish()
    now = create_run_folder(tmp_path, ["gpu01"], verb="site", rocm_release="5.4.2")
    assert was_cut_before_reboot(now.path, "gpu01") is answer
    assert not was_cut_before_reboot(now.path, "gpu02")
