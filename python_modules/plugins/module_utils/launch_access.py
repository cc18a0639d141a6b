# SPDX-License-Identifier: Apache-2.0
"""Read what starting a job on several nodes needs of this one: the user's keys, and the ports in use."""

from __future__ import annotations

import pwd
import re
import stat
from typing import Any, Dict, List, Optional

from ansible_collections.instinct.bringup.plugins.module_utils.child import ChildError, call_in_child
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree, to_int

TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
EPHEMERAL = "/proc/sys/net/ipv4/ip_local_port_range"
# The comment by which a key is known as one of ours: other keys are people's own and stay on the node.
MARK = "instinct-bringup-launch"
# A directory server that does not answer keeps the name service waiting.
SECONDS = 5.0

_LISTEN = "0A"
_ROW = re.compile(r"^\s*\d+:\s+[0-9A-F]+:([0-9A-F]{4})\s+[0-9A-F]+:[0-9A-F]{4}\s+([0-9A-F]{2})\s", re.MULTILINE)

Json = Dict[str, Any]


def read_launch(tree: Tree, user: str, live: bool) -> Json:
    """Return the snapshot's "launch".

    user, home: the job's user and home, None where nobody knows it. authorized: our lines of authorized_keys, None
    where the file could not be looked at. unsafe: paths that sshd would not trust, since others may write them.
    listening: ports with a listener, ephemeral: the first and last port of outgoing connections; None of a root that
    is not this machine's.
    """
    home = _home(tree, user, live) if user else None
    return {
        "user": user or None,
        "home": home,
        "authorized": None if home is None else _authorized(tree, home),
        "unsafe": [] if home is None else _unsafe(tree, home),
        "listening": _listening(tree) if live else None,
        "ephemeral": _ephemeral(tree) if live else None,
    }


def _home(tree: Tree, user: str, live: bool) -> Optional[str]:
    for line in (tree.read_text("launch", "/etc/passwd") or "").splitlines():
        fields = line.split(":")
        if len(fields) > 5 and fields[0] == user and fields[5].startswith("/"):
            return fields[5].rstrip("/") or "/"
    if not live:
        return None
    try:
        answer: Optional[str] = call_in_child(lambda: _from_service(user), SECONDS)
    except ChildError as error:
        tree.problem("launch", "/etc/nsswitch.conf", "the name service gave no answer: %s" % error)
        return None
    return answer


def _from_service(user: str) -> Optional[str]:
    try:
        return pwd.getpwnam(user).pw_dir
    except KeyError:
        return None


def _authorized(tree: Tree, home: str) -> Optional[List[str]]:
    path = home + "/.ssh/authorized_keys"
    text = tree.read_text("launch", path, optional=True)
    if text is None:
        return [] if tree.presence(path) is False else None
    return [line.strip() for line in text.splitlines() if line.rstrip().endswith(" " + MARK)]


def _unsafe(tree: Tree, home: str) -> List[str]:
    found: List[str] = []
    for path in (home, home + "/.ssh", home + "/.ssh/authorized_keys"):
        info = tree.stat(path)
        if info is not None and stat.S_IMODE(info.st_mode) & (stat.S_IWGRP | stat.S_IWOTH):
            found.append("%s (%04o)" % (path, stat.S_IMODE(info.st_mode)))
    return found


def _listening(tree: Tree) -> Optional[List[int]]:
    texts = [tree.read_text("launch", path, optional=True) for path in TABLES]
    if texts[0] is None:
        return None
    return sorted({port for text in texts for port in parse_listening(text or "")})


def parse_listening(text: str) -> List[int]:
    """Return the local ports of the rows of a /proc/net/tcp text that are in state LISTEN."""
    return [int(port, 16) for port, state in _ROW.findall(text) if state == _LISTEN]


def _ephemeral(tree: Tree) -> Optional[List[int]]:
    words = [to_int(word) for word in (tree.read_line("launch", EPHEMERAL, optional=True) or "").split()]
    ports = [word for word in words if word is not None]
    return ports if len(ports) == 2 else None
