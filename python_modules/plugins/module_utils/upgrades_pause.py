# SPDX-License-Identifier: Apache-2.0
"""Keep unattended upgrades from starting under a run, for a bounded time.

apt-daily and apt-daily-upgrade get a drop-in below /run with a condition that holds them back until a moment. So nothing has
to be undone: where a run is killed the condition ends by itself, and a boot clears /run. A mask, a stopped timer or a line in
/etc/apt/apt.conf.d would stay until somebody noticed that the node gets no security updates.
"""

from __future__ import annotations

import os
from typing import Any, Dict, List

from ansible_collections.instinct.bringup.plugins.module_utils.command_runner import last_words
from ansible_collections.instinct.bringup.plugins.module_utils.file_writer import (
    Wanted,
    WriteError,
    apply_files,
    group_name,
    user_name,
)
from ansible_collections.instinct.bringup.plugins.module_utils.purge_request import Node

SERVICES = ("apt-daily.service", "apt-daily-upgrade.service")
# Longer than a bring-up over a slow line takes.
SECONDS = 4 * 3600
# There only where systemd runs the node.
_UNITS = "/run/systemd/system"
# systemd takes %% for a % and starts the service only where the command ends with 0. In a unit's file a $ is doubled.
_TEXT = """# Written by instinct.bringup for the length of a run; it holds nothing back after that moment.
[Service]
ExecCondition=/bin/sh -c 'test "$$(date +%%%%s)" -gt %d'
"""


class PauseError(Exception):
    """The condition could not be set or taken away; the message says which."""


def drop_ins(root: str = "/") -> List[str]:
    """Return the paths of the drop-ins, of the services in their order."""
    return [os.path.join(root, _UNITS.lstrip("/"), name + ".d", "90-instinct-bringup.conf") for name in SERVICES]


def pause(node: Node, now: float, check_mode: bool) -> Dict[str, Any]:
    """Hold the services back for SECONDS from now, in seconds since 1970."""
    if not os.path.isdir(node.at(_UNITS)):
        return {"changed": False, "until": None}
    until = int(now) + SECONDS
    owner, group = user_name(os.getuid()), group_name(os.getgid())
    content = (_TEXT % until).encode("ascii")
    files = [Wanted(path, content, "0644", owner, group) for path in drop_ins(node.root)]
    return {"changed": _apply(node, files, [], check_mode), "until": until}


def resume(node: Node, check_mode: bool) -> Dict[str, Any]:
    """Take the conditions away; where there are none nothing is done."""
    return {"changed": _apply(node, [], drop_ins(node.root), check_mode), "until": None}


def _apply(node: Node, files: List[Wanted], absent: List[str], check_mode: bool) -> bool:
    try:
        changed = bool(apply_files(files, check_mode, absent)["changed"])
    except WriteError as error:
        raise PauseError("unattended upgrades could not be held back or let go: %s" % error) from error
    if changed and not check_mode:
        result = node.run(["systemctl", "daemon-reload"])
        if result.rc != 0:
            raise PauseError("systemd did not read its units anew (exit %d): %s" % (result.rc, last_words(result)))
    return changed
