# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pathlib
import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.instinct.bringup.plugins.module_utils.command_runner import Result
from ansible_collections.instinct.bringup.plugins.module_utils.mpi_build import parse_openmpi, parse_ucx, read_mpi
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

# Shortened answers in the form of Open MPI 5 and 4 and of UCX.
FIVE = "ompi:version:full:5.0.3\nmca:accelerator:rocm:version:mca:2.1.0\nmca:pml:ucx:version:mca:2.1.0\n"
FOUR = "ompi:version:full:4.1.4\nmca:pml:ucx:version:mca:2.1.0\n"
UCX = "# Library version: 1.14.1\n# Library path: /opt/ucx/lib/libucs.so.0\n# Configured with: --with-rocm=/opt/rocm\n"
OLD_UCX = "# UCT version=1.10.0 revision 7477e81\n"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (FIVE, {"version": "5.0.3", "rocm": True, "ucx": True}),
        (FOUR, {"version": "4.1.4", "rocm": False, "ucx": True}),
        ("", {"version": None, "rocm": False, "ucx": False}),
    ],
    ids=["with ROCm", "the distribution's", "empty"],
)
def test_ompi_info_is_read(text: str, wanted: dict[str, t.Any]) -> None:
    assert parse_openmpi(text) == wanted


@pytest.mark.parametrize(("text", "version"), [(UCX, "1.14.1"), (OLD_UCX, "1.10.0"), ("?", None)])
def test_ucx_info_is_read(text: str, version: str | None) -> None:
    assert parse_ucx(text) == {"version": version}


@given(st.text())
def test_any_answer_is_read(text: str) -> None:
    assert set(parse_openmpi(text)) == {"version", "rocm", "ucx"}
    assert set(parse_ucx(text)) == {"version"}


@pytest.fixture
def prefix(tmp_path: pathlib.Path) -> pathlib.Path:
    (tmp_path / "mpi/bin").mkdir(parents=True)
    for name in ("ompi_info", "ucx_info"):
        (tmp_path / "mpi/bin" / name).touch()
    return tmp_path


def answers(argv: t.Sequence[str]) -> Result:
    return Result(0, FIVE if argv[0].endswith("ompi_info") else UCX, "")


def test_rocm_of_ucx_is_told_by_its_transports(prefix: pathlib.Path) -> None:
    seen = read_mpi(Tree(str(prefix)), "/mpi", answers)
    assert seen is not None
    assert seen["ucx"] == {"version": "1.14.1", "rocm": False}
    (prefix / "mpi/lib/ucx").mkdir(parents=True)
    (prefix / "mpi/lib/ucx/libuct_rocm.so").touch()
    seen = read_mpi(Tree(str(prefix)), "/mpi", answers)
    assert seen is not None
    assert seen["ucx"]["rocm"]


def test_a_program_that_is_not_there_is_no_problem(tmp_path: pathlib.Path) -> None:
    tree = Tree(str(tmp_path))
    assert read_mpi(tree, "/mpi", answers) == {"prefix": "/mpi", "openmpi": None, "ucx": None}
    assert tree.problems() == []


def test_a_program_that_fails_is_one(prefix: pathlib.Path) -> None:
    tree = Tree(str(prefix))
    seen = read_mpi(tree, "/mpi", lambda _argv: Result(127, "", "libhsa-runtime64.so.1: cannot open"))
    assert seen is not None
    assert seen["openmpi"] is None
    assert "libhsa-runtime64" in tree.problems()[0]["message"]


def test_nothing_is_asked_without_a_prefix_or_of_another_root(prefix: pathlib.Path) -> None:
    assert read_mpi(Tree(str(prefix)), "", answers) is None
    assert read_mpi(Tree(str(prefix)), "/mpi", None) is None
