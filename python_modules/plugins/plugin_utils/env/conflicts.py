# SPDX-License-Identifier: Apache-2.0
"""Find values that do not go together, or not with the node they are on."""

from __future__ import annotations

import collections.abc as c
import re
import typing as t

from ansible_collections.instinct.bringup.plugins.plugin_utils.env import visible
from ansible_collections.instinct.bringup.plugins.plugin_utils.env.host import Host
from ansible_collections.instinct.bringup.plugins.plugin_utils.env.model import Assignment
from ansible_collections.instinct.bringup.plugins.plugin_utils.env.values import as_integer

Held = c.Mapping[str, Assignment]
FINE_GRAIN = "HSA_FORCE_FINE_GRAIN_PCIE"
OVERRIDE_GFX = "HSA_OVERRIDE_GFX_VERSION"
LIBRARY_PATH = "LD_LIBRARY_PATH"
_ROCM_LIBRARIES = re.compile(r"/rocm[^/:]*/(?:[^:]*/)?lib")


class Setting(t.NamedTuple):
    """What conflicts are judged against. gpu: the model's entry of the catalog, None where it is not known."""

    gpu: c.Mapping[str, t.Any] | None
    torch: str | None
    host: Host


def find_conflicts(held: Held, setting: Setting) -> dict[str, str]:
    """Return a sentence for each name that is in conflict. held: the assignments that are in effect."""
    found: dict[str, str] = {}
    for find in (_visible, _wiring, _override, _libraries, _channels):
        found.update(find(held, setting))
    return found


def _value(held: Held, name: str) -> str | None:
    assignment = held.get(name)
    return assignment.value if assignment is not None else None


def _visible(held: Held, setting: Setting) -> dict[str, str]:
    values = {name: value for name in visible.VISIBLE if (value := _value(held, name)) is not None}
    if not values:
        return {}
    resolved = visible.resolve(values, setting.host.gpus)
    filters = [name for name in (visible.ROCR, visible.HIP, visible.CUDA) if name in values]
    if len(filters) > 1:
        text = f"{' and '.join(filters)} are set together, and one counts what the other leaves: {resolved.text}"
    elif filters and resolved.left == ():
        text = resolved.text
    else:
        return {}
    return dict.fromkeys(filters, text)


def _wiring(held: Held, setting: Setting) -> dict[str, str]:
    gpus = setting.host.gpus
    if _value(held, FINE_GRAIN) != "1" or not gpus or any(gpu.hive is None or gpu.hive == 0 for gpu in gpus):
        return {}
    text = "every card of this node is in an XGMI hive, where memory is fine-grained without it: leave it out"
    return {FINE_GRAIN: text}


def _override(held: Held, setting: Setting) -> dict[str, str]:
    if OVERRIDE_GFX not in held or setting.gpu is None:
        return {}
    title, gfx = setting.gpu["title"], setting.gpu["gfx"]
    text = f"the runtime takes the card for another one, and {title} ({gfx}) is supported as it is: leave it out"
    return {OVERRIDE_GFX: text}


def _libraries(held: Held, setting: Setting) -> dict[str, str]:
    assignment = held.get(LIBRARY_PATH)
    if assignment is None or not (setting.torch or "").startswith("2.0."):
        return {}
    text = assignment.known if assignment.value is None else assignment.value
    if not _ROCM_LIBRARIES.search(text):
        return {}
    return {
        LIBRARY_PATH: "PyTorch 2.0's wheels carry ROCm's libraries and find them by RUNPATH, which this beats: "
        "the system's RCCL and HIP are loaded instead. Use /etc/ld.so.conf.d"
    }


def _channels(held: Held, setting: Setting) -> dict[str, str]:
    found = {}
    for kind in ("NCHANNELS", "P2P_NCHANNELS"):
        least, most = _value(held, f"NCCL_MIN_{kind}"), _value(held, f"NCCL_MAX_{kind}")
        if least and most and as_integer(least) > as_integer(most) > 0:
            text = f"NCCL_MIN_{kind}={least} is above NCCL_MAX_{kind}={most}"
            found.update({f"NCCL_MIN_{kind}": text, f"NCCL_MAX_{kind}": text})
    return found
