# SPDX-License-Identifier: Apache-2.0
"""Resolve the variables that choose GPUs to what is left of them.

The runtime filters first (ROCR_VISIBLE_DEVICES). HIP then counts what is left anew, and takes
CUDA_VISIBLE_DEVICES only where HIP_VISIBLE_DEVICES is empty. Both stop at the first entry that
names no device.
"""

from __future__ import annotations

import collections.abc as c
import dataclasses

from ansible_collections.instinct.bringup.plugins.plugin_utils.env.host import Gpu

ROCR = "ROCR_VISIBLE_DEVICES"
HIP = "HIP_VISIBLE_DEVICES"
CUDA = "CUDA_VISIBLE_DEVICES"
# GPU_DEVICE_ORDINAL chooses for OpenCL; no HIP program reads it.
VISIBLE = (ROCR, HIP, CUDA, "GPU_DEVICE_ORDINAL")


@dataclasses.dataclass(frozen=True)
class Resolved:
    """left: what a HIP program sees; None where only the node's own devices would tell. steps: in words."""

    left: tuple[str, ...] | None
    steps: tuple[str, ...]

    @property
    def text(self) -> str:
        """Return a sentence with the devices that are left."""
        shown = "unknown" if self.left is None else ", ".join(self.left) or "none"
        return f"{'; '.join(self.steps)}; devices that are left: {shown}"


def resolve(values: c.Mapping[str, str], gpus: c.Sequence[Gpu] | None) -> Resolved:
    """Return what is left of a node's GPUs, or of as many as the filters let through where they are not known."""
    names = None if gpus is None else tuple(gpu.bdf for gpu in gpus)
    uuids = {} if gpus is None else {gpu.uuid.lower(): place for place, gpu in enumerate(gpus)}
    steps = []
    if ROCR in values:
        names, step = _filter(ROCR, values[ROCR], names, uuids)
        steps.append(step)
    second = next((name for name in (HIP, CUDA) if values.get(name)), None)
    if second is not None:
        names, step = _filter(second, values[second], names, {})
        steps.append(step)
    return Resolved(names, tuple(steps))


def _filter(
    name: str, value: str, names: tuple[str, ...] | None, uuids: c.Mapping[str, int]
) -> tuple[tuple[str, ...] | None, str]:
    places: list[int] = []
    stopped = None
    for entry in (part.strip() for part in value.split(",")):
        place = int(entry) if entry.isascii() and entry.isdigit() else uuids.get(entry.lower())
        if place is None and entry.lower().startswith("gpu-") and names is None:
            place = len(places)
        if place is None or (names is not None and place >= len(names)):
            stopped = entry
            break
        if place not in places:
            places.append(place)
    left = (
        tuple(names[place] for place in places) if names is not None else tuple(f"device {place}" for place in places)
    )
    step = f"{name}={value} leaves {len(left)}"
    if stopped:
        step += f" (it stops at {stopped!r}, which names none)"
    return left, step
