# SPDX-License-Identifier: Apache-2.0
"""Hold what offload needs against what a node lets a job take: its memory, its control group, its locked memory."""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.memory import gib
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.sizes import GIB, PIN_SHARE


@dataclasses.dataclass(frozen=True)
class HostLimits:
    """Hold bytes, None where nobody knows or nothing limits.

    total: what the kernel manages. group: the least limit of a control group that jobs run in.
    locked: the least limit of locked memory of the services that start jobs; unlimited is None with locked_known.
    """

    total: int | None
    group: int | None
    locked: int | None
    locked_known: bool

    @property
    def memory(self) -> int | None:
        """Return what a job can take at most, None where nobody knows."""
        known = [size for size in (self.total, self.group) if size is not None]
        return min(known) if known else None

    def describe(self) -> str:
        """Return the numbers as a part of a sentence."""
        total = "unknown" if self.total is None else f"{gib(self.total)} GiB"
        group = "none" if self.group is None else f"{gib(self.group)} GiB"
        locked = "unlimited" if self.locked_known else "unknown"
        if self.locked is not None:
            locked = f"{self.locked / 1024:.0f} KiB" if self.locked < GIB else f"{gib(self.locked)} GiB"
        return f"MemTotal {total}, control group's limit {group}, locked memory {locked}"


def host_limits(snapshot: t.Mapping[str, t.Any]) -> HostLimits:
    """Return the limits that a snapshot shows."""
    memory = snapshot.get("memory") or {}
    seen = [service.get("memlock_soft") for service in snapshot.get("services") or []]
    numbers = [limit for limit in seen if isinstance(limit, int)]
    return HostLimits(
        total=memory.get("total_bytes"),
        group=memory.get("group_limit_bytes"),
        locked=min(numbers) if numbers else None,
        locked_known=bool(numbers) or "unlimited" in seen,
    )


def may_pin(need: int | None, limits: HostLimits) -> tuple[bool, str]:
    """Return whether offload's memory may be pinned, and why.

    need: bytes of the node's memory, None where nobody named a model.
    """
    if need is None:
        return False, "the model's parameters are not declared"
    memory = limits.memory
    if memory is None:
        return False, "the node's memory is not known"
    if need > PIN_SHARE * memory:
        return False, f"the need is above {PIN_SHARE:.0%} of the limit"
    if limits.locked is not None and need > limits.locked:
        return False, "the limit of locked memory is below the need"
    if not limits.locked_known:
        return False, "the limit of locked memory is not known"
    return True, f"the need is below {PIN_SHARE:.0%} of the limit"
