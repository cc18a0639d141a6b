# SPDX-License-Identifier: Apache-2.0
"""Plan the MPI of the distribution. It moves host memory only; RCCL moves what is on the GPUs."""

from __future__ import annotations

from ansible_collections.instinct.bringup.plugins.plugin_utils.managed import Change
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.model import PlanContext, Step


def plan_mpi(ctx: PlanContext) -> Step | None:
    """Return the step of role mpi, or None when the profile does not ask for an MPI."""
    if "mpi" not in ctx.profile["rocm_usecases"]:
        return None
    names = list(ctx.profile["mpi_packages"])
    missing = ctx.missing(names)
    reason = "the distribution's MPI, which launches jobs and moves host memory only"
    changes = tuple(Change("package", name, "not installed", "the distribution's", reason) for name in missing)
    return Step("mpi", changes, {"packages": names, "missing": missing}, packages=dict.fromkeys(names, "*"))
