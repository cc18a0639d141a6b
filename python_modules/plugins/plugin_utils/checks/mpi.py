# SPDX-License-Identifier: Apache-2.0
"""Check the MPI that launches jobs."""

from __future__ import annotations

import collections.abc as c

from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.model import (
    FAIL,
    OK,
    CheckContext,
    Finding,
    skipped,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.registry import check
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.vendor import (
    DPKG_STATUS,
    is_installed,
    package_rows,
)


@check(
    "mpi.installed",
    "The MPI that the profile asks for is installed",
    areas=("dpkg.packages",),
    remedy="Run site.yml with mpi in rocm_usecases; it installs the distribution's packages.",
)
def installed(context: CheckContext) -> c.Iterator[Finding]:
    """Look for the packages of mpi_packages where rocm_usecases has mpi."""
    if "mpi" not in (context.option("rocm_usecases") or []):
        yield skipped("rocm_usecases does not ask for mpi")
        return
    rows = package_rows(context)
    for name in context.option("mpi_packages") or []:
        row = rows.get(name)
        if row is not None and is_installed(row):
            reason = "the distribution's build: it moves host memory only"
            yield Finding(OK, name, "installed", str(row["version"]), reason, DPKG_STATUS)
        else:
            yield Finding(FAIL, name, "installed", "not installed", f"{name} is not installed", DPKG_STATUS)
