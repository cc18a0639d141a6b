# SPDX-License-Identifier: Apache-2.0
"""Refuse folders of a site that no plan can use."""

from __future__ import annotations

import posixpath
import re

from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.model import Refusal
from ansible_collections.instinct.bringup.plugins.plugin_utils.profile import Profile

# What the shells on the way to a rank take for one word: DeepSpeed's launcher quotes no path.
_FOLDER = re.compile(r"/[A-Za-z0-9._/+@-]*")


def path_refusals(profile: Profile) -> list[Refusal]:
    """Refuse folders that are not absolute, or in which the shells that the launchers go through would see more."""
    ours = ["pytorch_venv", "deepspeed_directory", "launch_directory"]
    ours += ["mpi_prefix"] if profile["mpi_provider"] == "source" else []
    refusals = []
    for option in dict.fromkeys((*ours, "mpi_prefix", "mpi_rocm_path")):
        path = str(profile[option])
        deep = 2 if option in ours else 1
        plain = _FOLDER.fullmatch(path) and posixpath.normpath(path) == path and path.count("/") >= deep
        # Empty, it is the release's.
        if not plain and (path or option != "mpi_rocm_path"):
            below = "an absolute path below a folder" if deep == 2 else "an absolute path"
            wanted = f"{below}, of letters, digits and ._+@-, without '..' and without a slash at its end"
            remedy = "correct it in the inventory or in -e"
            refusals.append(Refusal("profile.value", option, f"{option} is {path!r}", wanted, remedy))
    return refusals
