# SPDX-License-Identifier: Apache-2.0
"""The check of mpi.py."""

from __future__ import annotations

from support.rows import Row, change, each, hole, not_held


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
