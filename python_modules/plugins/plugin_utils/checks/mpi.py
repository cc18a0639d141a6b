# SPDX-License-Identifier: Apache-2.0
"""Check the MPI that launches jobs."""

from __future__ import annotations

import collections.abc as c
import typing as t

from ansible_collections.instinct.bringup.plugins.plugin_utils.catalog import release_key
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.model import (
    FAIL,
    OK,
    CheckContext,
    Finding,
    skipped,
    unknown,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.registry import check
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.vendor import (
    DPKG_STATUS,
    is_installed,
    package_rows,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.mpi import pair_of

_HOST_ONLY = "the distribution's MPI moves host memory only, whatever its versions"


@check(
    "mpi.installed",
    "The MPI that the profile asks for is installed",
    areas=("dpkg.packages",),
    remedy=(
        "Run site.yml with mpi in rocm_usecases: it installs the distribution's packages, or builds for "
        "mpi_provider: source. For existing, name the folder in mpi_prefix."
    ),
)
def installed(context: CheckContext) -> c.Iterator[Finding]:
    """Look for the packages of mpi_packages, or for Open MPI and UCX below mpi_prefix, as mpi_provider says."""
    if "mpi" not in (context.option("rocm_usecases") or []):
        yield skipped("rocm_usecases does not ask for mpi")
        return
    if context.option("mpi_provider") != "distribution":
        yield from _built(context)
        return
    rows = package_rows(context)
    for name in context.option("mpi_packages") or []:
        row = rows.get(name)
        if row is not None and is_installed(row):
            reason = "the distribution's build: it moves host memory only"
            yield Finding(OK, name, "installed", str(row["version"]), reason, DPKG_STATUS)
        else:
            yield Finding(FAIL, name, "installed", "not installed", f"{name} is not installed", DPKG_STATUS)


def _built(context: CheckContext) -> c.Iterator[Finding]:
    prefix = str(context.option("mpi_prefix"))
    seen = context.held("mpi")
    for name, program in (("openmpi", "ompi_info"), ("ucx", "ucx_info")):
        path = f"{prefix}/bin/{program}"
        if context.unreadable(path):
            yield unknown(context.problem(path), path, name, "answers")
        elif not seen or seen[name] is None:
            yield Finding(FAIL, name, f"below {prefix}", "not there", f"{path} is not there", path)
        else:
            yield Finding(OK, name, f"below {prefix}", str(seen[name]["version"]), "", path)


@check(
    "mpi.version_pair",
    "UCX is of a version that AMD pairs with this ROCm",
    areas=("mpi",),
    remedy="Set mpi_ucx_version to what the reason names, or leave it empty, and run site.yml.",
)
def version_pair(context: CheckContext) -> c.Iterator[Finding]:
    """Compare the version that ucx_info tells with the least one that the catalog has for the release."""
    ucx = yield from _program(context, "ucx")
    if ucx is None:
        return
    release = str(context.option("rocm_release"))
    least = str(pair_of(context.catalog.mpi["pairs"], release)["least"])
    evidence, version = f"{context.option('mpi_prefix')}/bin/ucx_info", ucx["version"]
    if not version:
        yield unknown("ucx_info tells no version", evidence, "ucx", f"{least} or newer")
    elif release_key(version) < release_key(least):
        reason = f"UCX {version} is too old for ROCm {release}: memory of a GPU is taken for the host's, or not at all"
        yield Finding(FAIL, "ucx", f"{least} or newer", version, reason, evidence)
    else:
        yield Finding(OK, "ucx", f"{least} or newer", version, "", evidence)


@check(
    "mpi.rocm_support",
    "Open MPI and UCX were built with ROCm",
    areas=("mpi",),
    remedy="Build them --with-rocm: mpi_provider: source does. Until then let RCCL move what is on the GPUs.",
)
def rocm_support(context: CheckContext) -> c.Iterator[Finding]:
    """Look for UCX's ROCm transports, and for the accelerator and the UCX layer that ompi_info lists."""
    for name, program in (("openmpi", "ompi_info"), ("ucx", "ucx_info")):
        seen = yield from _program(context, name)
        if seen is None:
            return
        evidence = f"{context.option('mpi_prefix')}/bin/{program}"
        lacking = [part for part in ("rocm", "ucx") if part in seen and not seen[part]]
        if lacking:
            reason = f"{name} {seen['version']} was built without {' and '.join(lacking)}: it moves host memory only"
            yield Finding(FAIL, name, "built with ROCm", f"without {', '.join(lacking)}", reason, evidence)
        else:
            yield Finding(OK, name, "built with ROCm", str(seen["version"]), "", evidence)


def _program(context: CheckContext, name: str) -> c.Generator[Finding, None, dict[str, t.Any] | None]:
    """Return what a program below mpi_prefix says of itself; without an answer say why and return None."""
    if "mpi" not in (context.option("rocm_usecases") or []):
        yield skipped("rocm_usecases does not ask for mpi")
        return None
    if context.option("mpi_provider") == "distribution":
        yield skipped(_HOST_ONLY)
        return None
    seen = context.held("mpi") or {}
    if not seen.get(name):
        yield skipped(f"{name} is not there: mpi.installed says so")
        return None
    return dict(seen[name])
