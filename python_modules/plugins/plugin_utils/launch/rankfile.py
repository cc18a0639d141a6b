# SPDX-License-Identifier: Apache-2.0
"""Write and read Open MPI's rankfile of a whole job."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.instinct.bringup.plugins.plugin_utils.launch.model import LaunchModel

_LINE = re.compile(r"^rank ([0-9]+)=(\S+) slot=([0-9,-]+)$", re.MULTILINE)


def render_rankfile(model: LaunchModel, processors: t.Mapping[str, t.Sequence[str]]) -> str | None:
    """Return the rankfile, processors as the kernel numbers them, or None where a rank's are not known.

    processors: for each host the list of each local rank, such as "0-7,64-71".
    """
    lines = [
        "# Open MPI's rankfile of the whole job. Made by instinct-bringup; changes by hand are overwritten.",
        f"# mpirun --mca rmaps_rank_file_physical 1 -rf {model.path('rankfile')}",
    ]
    rank = 0
    for host, slots in model.hosts:
        known = processors.get(host) or ()
        if len(known) != slots:
            return None
        lines += [f"rank {rank + local}={host} slot={cpus}" for local, cpus in enumerate(known)]
        rank += slots
    return "\n".join(lines) + "\n"


def read_rankfile(text: str) -> dict[str, list[str]]:
    """Return the processors of each host's local ranks, as render_rankfile takes them."""
    found: dict[str, list[str]] = {}
    for _rank, host, cpus in sorted(_LINE.findall(text), key=lambda row: int(row[0])):
        found.setdefault(host, []).append(cpus)
    return found
