# SPDX-License-Identifier: Apache-2.0
"""The module removes what is listed, keeps a manifest, and refuses in words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

# dpkg-query: -S owns nothing (exit 1); -W answers the rows, or no configuration files.
DPKG_QUERY = r"""case "$1 $3" in
-S*) exit 1;;
*Conffiles*) exit 0;;
*) cat {rows};;
esac"""
ROW = "rocm-core\trocm-core\tall\t5.2.0.50200-65\t{abbrev}\t{want}\tinstalled\n"


@pytest.fixture
def node(commands: Any, tmp_path: Path) -> Path:
    """Return the file that holds dpkg's rows; a purge by apt-get empties it."""
    rows = tmp_path / "rows"
    rows.write_text(ROW.format(abbrev="ii ", want="install"), encoding="ascii")
    commands("dpkg-query", DPKG_QUERY.format(rows=rows))
    commands("apt-get", f'case "$*" in *-s*) echo "Purg rocm-core [5.2.0.50200-65]";; *) : > {rows};; esac')
    commands("apt-mark", ":")
    return rows


def request(tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "old.list").write_text("deb http://old.invalid/ x main\n", encoding="ascii")
    (tmp_path / "rocm-5.1.3/lib").mkdir(parents=True)
    return {
        "run_id": "r1",
        "packages": ["rocm-core", "never-there"],
        "files": [str(tmp_path / "old.list"), str(tmp_path / "gone")],
        "trees": [str(tmp_path / "rocm-5.1.3")],
        "manifest_dir": str(tmp_path / "manifests"),
    }


def test_a_purge_removes_the_list_and_a_second_one_finds_nothing(run_module: Any, node: Path, tmp_path: Path) -> None:
    wanted = request(tmp_path)
    first = run_module("rocm_purge", **wanted)
    assert first["changed"]
    assert first["removed"]["packages"] == ["rocm-core 5.2.0.50200-65"]
    assert first["removed"]["files"] == [str(tmp_path / "old.list")]
    assert first["removed"]["trees"] == [str(tmp_path / "rocm-5.1.3")]
    assert first["diff"]["after"] == ""
    assert node.read_text(encoding="ascii") == ""
    kept = json.loads(Path(first["manifest_path"]).read_text(encoding="utf-8"))
    assert kept["finished"]
    assert kept["removed"] == first["removed"]
    second = run_module("rocm_purge", **wanted)
    assert not second["changed"]
    assert json.loads(Path(first["manifest_path"]).read_text(encoding="utf-8")) == kept


def test_check_mode_predicts_and_changes_nothing(run_module: Any, node: Path, tmp_path: Path) -> None:
    answer = run_module("rocm_purge", check=True, **request(tmp_path))
    assert answer["changed"]
    assert answer["removed"]["trees"] == [str(tmp_path / "rocm-5.1.3")]
    assert node.read_text(encoding="ascii") != ""
    assert (tmp_path / "old.list").exists()
    assert not (tmp_path / "manifests").exists()


@pytest.mark.parametrize("check", [False, True], ids=["", "check mode"])
def test_a_package_beyond_the_list_is_named_and_nothing_changes(
    run_module: Any, node: Path, commands: Any, tmp_path: Path, check: bool
) -> None:
    commands("apt-get", 'echo "Purg site-app [1.0]"; echo "Purg rocm-core [5.2.0.50200-65]"')
    answer = run_module("rocm_purge", check=check, **request(tmp_path))
    assert answer["failed"]
    assert "refused, nothing was changed" in answer["msg"]
    assert "also remove: site-app" in answer["msg"]
    assert (tmp_path / "old.list").exists()
    assert not (tmp_path / "manifests").exists()


@pytest.mark.parametrize("settles", [False, True], ids=["nobody finishes it before", "it is finished before"])
def test_a_package_that_dpkg_stopped_in_refuses_unless_the_run_finishes_it_first(
    run_module: Any, node: Path, commands: Any, tmp_path: Path, settles: bool
) -> None:
    commands("dpkg", ":")
    with node.open("a", encoding="ascii") as stream:
        stream.write("openmpi-bin\topenmpi-bin\tall\t4.1\tiHR\tinstall\thalf-installed\n")
    answer = run_module("rocm_purge", check=True, settles=settles, **request(tmp_path))
    if settles:
        assert answer["removed"]["packages"] == ["rocm-core 5.2.0.50200-65"]
    else:
        assert "not on the list: openmpi-bin 4.1 (iHR)" in answer["msg"]


def test_a_hold_that_is_not_ours_is_named(run_module: Any, node: Path, tmp_path: Path) -> None:
    node.write_text(ROW.format(abbrev="hi ", want="hold"), encoding="ascii")
    answer = run_module("rocm_purge", **request(tmp_path))
    assert answer["failed"]
    assert "on hold, and not by us: rocm-core" in answer["msg"]


@pytest.mark.usefixtures("node")
def test_an_interruption_says_what_is_gone_and_the_next_call_finishes(
    run_module: Any, commands: Any, tmp_path: Path
) -> None:
    wanted = request(tmp_path)
    commands("apt-get", 'case "$*" in *-s*) exit 0;; *) echo "E: no space left" >&2; exit 100;; esac')
    broken = run_module("rocm_purge", **wanted)
    assert broken["failed"]
    assert "no space left" in broken["msg"]
    assert "rocm-core 5.2.0.50200-65 (ii)" in broken["msg"]
    manifest = Path(broken["manifest_path"])
    assert json.loads(manifest.read_text(encoding="utf-8"))["finished"] is None
    commands("apt-get", f'case "$*" in *-s*) exit 0;; *) : > {tmp_path / "rows"};; esac')
    assert run_module("rocm_purge", **wanted)["changed"]
    kept = json.loads(manifest.read_text(encoding="utf-8"))
    assert kept["finished"]
    assert kept["packages"][0]["name"] == "rocm-core"
    assert kept["removed"]["packages"] == ["rocm-core 5.2.0.50200-65"]


@pytest.mark.parametrize(
    "changes",
    [
        {"packages": ["rocm*"]},
        {"packages": ["--purge"]},
        {"trees": ["/opt"]},
        {"trees": ["/opt/rocm/.."]},
        {"files": ["etc/passwd"]},
        {"files": ["/dev/kfd"]},
        {"run_id": "../r1"},
        {"dkms_trees": [{"module": "amdgpu", "version": "../.."}]},
        {"alternatives": ["--all"]},
    ],
    ids=lambda changes: str(changes),
)
def test_what_nobody_can_mean_is_refused(run_module: Any, node: Path, tmp_path: Path, changes: dict[str, Any]) -> None:
    answer = run_module("rocm_purge", **{**request(tmp_path), **changes})
    assert answer["failed"]
    assert "refused, nothing was changed" in answer["msg"]
    assert node.read_text(encoding="ascii") != ""
