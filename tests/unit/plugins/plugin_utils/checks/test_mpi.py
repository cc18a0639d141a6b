# SPDX-License-Identifier: Apache-2.0
"""The checks of mpi.py."""

from __future__ import annotations

from collections.abc import Callable

from support.machines import Json
from support.rows import Row, change, changes, each, hole, not_held


@each(
    {
        "installed": Row("ok", "host memory only", observed="4.1.2-2ubuntu1"),
        "missing": Row(
            "fail",
            "openmpi-bin is not installed",
            lambda snapshot: snapshot["dpkg"]["packages"].pop("openmpi-bin"),
            subject="openmpi-bin",
        ),
        "removed": Row("fail", "not installed", change("dpkg/packages/openmpi-bin/status", "rc ")),
        "not asked for": Row("skipped", "does not ask", options={"rocm_usecases": ["hiplibsdk"]}),
        "dpkg not readable": Row("unknown", "EACCES", hole("dpkg/packages", "/var/lib/dpkg/status")),
        "captured tree without dpkg": Row("skipped", "does not hold", not_held("dpkg")),
    }
)
def test_mpi_installed(row: Row) -> None:
    row.assert_holds("mpi.installed")


def problem(area: str, path: str, message: str) -> Callable[[Json], None]:
    """Return a change that says that something could not be read."""
    return lambda snapshot: snapshot["problems"].append({"area": area, "path": path, "message": message})


SOURCE = {"mpi_provider": "existing", "mpi_prefix": "/opt/ompi"}
BUILT = {
    "prefix": "/opt/ompi",
    "openmpi": {"version": "5.0.3", "rocm": True, "ucx": True},
    "ucx": {"version": "1.14.1", "rocm": True},
}


def built(**programs: object) -> Callable[[Json], None]:
    """Return a change that gives the node an MPI below mpi_prefix."""
    return change("mpi", {**BUILT, **programs})


@each(
    {
        "there": Row("ok", change=built(), options=SOURCE),
        "not there": Row("fail", "ucx_info is not there", built(ucx=None), options=SOURCE, subject="ucx"),
        "fails": Row(
            "unknown",
            "exit code 127",
            changes(built(openmpi=None), problem("mpi", "/opt/ompi/bin/ompi_info", "exit code 127: no libhsa")),
            options=SOURCE,
            subject="openmpi",
        ),
    }
)
def test_mpi_installed_by_others(row: Row) -> None:
    row.assert_holds("mpi.installed")


@each(
    {
        "AMD's pair": Row("ok", change=built(), options=SOURCE, observed="1.14.1", expected="1.14.1 or newer"),
        "too old": Row(
            "fail", "too old for ROCm 5.4.2", built(ucx={"version": "1.13.1", "rocm": True}), options=SOURCE
        ),
        "no version": Row("unknown", "no version", built(ucx={"version": None, "rocm": True}), options=SOURCE),
        "not there": Row("skipped", "mpi.installed says so", built(ucx=None), options=SOURCE),
        "the distribution's": Row("skipped", "host memory only"),
        "not asked for": Row("skipped", "does not ask", options={"rocm_usecases": ["hiplibsdk"]}),
        "captured tree": Row("skipped", "does not hold", not_held("mpi")),
    }
)
def test_mpi_version_pair(row: Row) -> None:
    row.assert_holds("mpi.version_pair")


@each(
    {
        "both": Row("ok", change=built(), options=SOURCE),
        "Open MPI without": Row(
            "fail",
            "openmpi 4.1.4 was built without rocm",
            built(openmpi={"version": "4.1.4", "rocm": False, "ucx": True}),
            options=SOURCE,
        ),
        "UCX without": Row(
            "fail", "ucx 1.14.1 was built without rocm", built(ucx={"version": "1.14.1", "rocm": False}), options=SOURCE
        ),
        "the distribution's": Row("skipped", "host memory only"),
    }
)
def test_mpi_rocm_support(row: Row) -> None:
    row.assert_holds("mpi.rocm_support")
