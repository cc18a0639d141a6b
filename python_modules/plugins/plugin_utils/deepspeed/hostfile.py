# SPDX-License-Identifier: Apache-2.0
"""Make the hostfile of DeepSpeed's launcher."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.instinct.bringup.plugins.module_utils.text import natural_key
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.errors import ConfigError

_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._:-]*[A-Za-z0-9])?")


def hostfile(entries: t.Sequence[tuple[str, int]]) -> str:
    """Return the hostfile of the launcher: one "NAME slots=N" a line, gpu2 before gpu10.

    :raises ConfigError: a name is no host name or address, stands twice, or has no slots.
    """
    names = [name for name, _slots in entries]
    for name, slots in entries:
        if not _HOST.fullmatch(name):
            raise ConfigError(f"{name!r} is no host name or address that a hostfile could hold")
        if isinstance(slots, bool) or not isinstance(slots, int) or slots < 1:
            raise ConfigError(f"{name}: {slots!r} slots; it must be the number of GPUs of the host, at least 1")
        if names.count(name) > 1:
            raise ConfigError(f"{name} stands {names.count(name)} times in the hostfile; name each host once")
    ordered = sorted(entries, key=lambda entry: natural_key(entry[0]))
    return "".join(f"{name} slots={slots}\n" for name, slots in ordered)
