# SPDX-License-Identifier: Apache-2.0
"""Plan DeepSpeed's configs and the hostfile."""

from __future__ import annotations

from ansible_collections.instinct.bringup.plugins.plugin_utils import deepspeed_config
from ansible_collections.instinct.bringup.plugins.plugin_utils.managed import ManagedFile
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.model import PlanContext, Step


def plan_deepspeed(ctx: PlanContext) -> Step:
    """Return the step of role deepspeed. A host whose GPUs nobody counted is left out, and named.

    :raises ConfigError: an option or a host's name cannot be rendered.
    """
    directory = str(ctx.profile["deepspeed_directory"])
    zero2, zero3 = deepspeed_config.zero2(ctx.profile), deepspeed_config.zero3(ctx.profile)
    counted = [(host, count) for host, count in ctx.fleet if count is not None]
    notes = [
        f"{host} is not in the hostfile: set gpu_count for it, or let it answer"
        for host, count in ctx.fleet
        if count is None
    ]
    files = [
        ManagedFile(
            f"{directory}/zero2.json", deepspeed_config.as_json(zero2), "ZeRO-2: optimizer and gradients are split"
        ),
        ManagedFile(f"{directory}/zero3.json", deepspeed_config.as_json(zero3), "ZeRO-3: parameters are split too"),
        ManagedFile(f"{directory}/hostfile", deepspeed_config.hostfile(counted), "one line a node, slots are its GPUs"),
    ]
    inputs = {"files": [file.as_input() for file in files]}
    return Step("deepspeed", tuple(ctx.file_changes(files)), inputs, tuple(files), notes=tuple(notes))
