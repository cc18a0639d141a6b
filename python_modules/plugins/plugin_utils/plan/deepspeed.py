# SPDX-License-Identifier: Apache-2.0
"""Plan DeepSpeed: its installation, its configs, the hostfile and the example."""

from __future__ import annotations

import functools
import re

from ansible_collections.instinct.bringup.plugins.module_utils.text import natural_key
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.errors import ConfigError
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.example import example_files
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.hostfile import hostfile
from ansible_collections.instinct.bringup.plugins.plugin_utils.managed import ManagedFile
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.deepspeed_configs import plan_configs
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.deepspeed_install import plan_install
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.model import PlanContext, Step

# A node's file may hold anything: Python refuses to read a number of thousands of digits.
_KNOWN = re.compile(r"^(\S+) slots=([0-9]{1,4})$", re.MULTILINE)


def plan_deepspeed(ctx: PlanContext) -> Step:
    """Return the step of role deepspeed. A host whose GPUs nobody counted is left out, and named.

    :raises ConfigError: an option or a host's name cannot be rendered, or plan_configs refuses.
    """
    directory = str(ctx.profile["deepspeed_directory"])
    entries, notes = hostfile_entries(ctx, f"{directory}/hostfile")
    configs = plan_configs(ctx, dict(entries))
    hosts = ManagedFile(f"{directory}/hostfile", hostfile(entries), "one line a node, slots are its GPUs")
    install = plan_install(ctx)
    files = [*configs.files, hosts, *example_files(directory), *install.files]
    changes = (*install.changes, *ctx.file_changes(files))
    inputs = {"files": [file.as_input() for file in files], **install.inputs}
    return Step("deepspeed", changes, inputs, tuple(files), notes=(*notes, *configs.notes))


def hostfile_entries(ctx: PlanContext, path: str) -> tuple[list[tuple[str, int]], list[str]]:
    """Return the hosts of a job with their slots, in the order of their ranks, and why others are none of them.

    A host that this run did not look at keeps what the node's file says of it: a run with --limit must
    not shrink a cluster. A host that cannot stand in the file is left out here and refused on its own.
    """
    entries, notes = _entries(ctx.fleet, str((ctx.watched(path) or {}).get("text") or ""))
    return list(entries), list(notes)


# The hosts of a fleet are the same for each of them, and two roles ask: worked out again for every host, a thousand
# hosts would be a million lines.
@functools.lru_cache(maxsize=16)
def _entries(
    fleet: tuple[tuple[str, int | None], ...], text: str
) -> tuple[tuple[tuple[str, int], ...], tuple[str, ...]]:
    """Return hostfile_entries of a fleet. text: the node's file of now."""
    known = dict(_KNOWN.findall(text))
    entries, notes = [], []
    for host, seen in fleet:
        count = seen if seen is not None else int(known.get(host, 0))
        try:
            hostfile([(host, count)])
            entries.append((host, count))
        except ConfigError as error:
            reason = "set gpu_count for it, or let it answer" if count == 0 else str(error)
            notes.append(f"{host} is not in the hostfile: {reason}")
    return tuple(sorted(entries, key=lambda entry: natural_key(entry[0]))), tuple(notes)
