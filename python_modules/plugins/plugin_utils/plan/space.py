# SPDX-License-Identifier: Apache-2.0
"""Refuse disks that would be full in the middle of a run."""

from __future__ import annotations

import typing as t

from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.model import PlanContext, Refusal

MIB = 1024**2
# Where apt puts what it downloads; some sites give it a disk of its own.
ARCHIVES = "/var/cache/apt/archives"
# apt and dkms put files to work on there; a full one ends them half-way, with messages of their own.
TMP_MIB = 100


def space_refusals(ctx: PlanContext, roles: t.Collection[str]) -> list[Refusal]:
    """Return the disks without the room that the roles need. What nobody could measure is passed over."""
    needs: list[tuple[str, int, str]] = [("/tmp", TMP_MIB, "")]
    venv = str(ctx.profile["pytorch_venv"])
    for role, option, paths in (
        ("rocm", "preflight_rocm_space_gib", ["/opt"]),
        ("rocm", "preflight_var_space_gib", ["/var", ARCHIVES]),
        ("pytorch", "preflight_pytorch_space_gib", [venv]),
    ):
        if role in roles:
            needs += [
                (path, int(ctx.profile[option]) * 1024, f", or lower {option} if you know better") for path in paths
            ]
    space = ctx.area("space")
    return [
        Refusal("space", path, f"{_size(free / MIB)} free", _size(mib), f"make room in {path}{otherwise}")
        for path, mib, otherwise in needs
        if (free := (space.get(path) or {}).get("free_bytes")) is not None and free < mib * MIB
    ]


def _size(mib: float) -> str:
    if mib < 1024:
        return f"{mib:.0f} MiB"
    return f"{mib / 1024:.0f} GiB" if isinstance(mib, int) else f"{mib / 1024:.1f} GiB"
