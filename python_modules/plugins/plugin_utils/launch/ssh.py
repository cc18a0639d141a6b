# SPDX-License-Identifier: Apache-2.0
"""Write the files with which the job's user reaches the other nodes: only known hosts, only one key, no prompt."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.instinct.bringup.plugins.module_utils.launch_access import MARK
from ansible_collections.instinct.bringup.plugins.plugin_utils.launch.model import LaunchModel
from ansible_collections.instinct.bringup.plugins.plugin_utils.launch.peers import Peer

CONFIG_PATH = "/etc/ssh/ssh_config.d/50-instinct-launch.conf"
# A public key as a node shows it. What a node says is written to other nodes, so nothing else may be in it.
PUBLIC_KEY = re.compile(r"(?:ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp[0-9]{3}) [A-Za-z0-9+/]{40,}={0,2}")
_ADDRESS = re.compile(r"[0-9A-Za-z][0-9A-Za-z.:-]*")
_LINE = re.compile(r"^(\S+) (.+)$", re.MULTILINE)


def key_path(model: LaunchModel, user: str) -> str:
    """Return where the first node keeps the user's private key."""
    return model.path(f"keys/{user}/id_ed25519")


def known_hosts(model: LaunchModel, peers: t.Mapping[str, Peer], known: str) -> str:
    """Return the host keys of the job's hosts by name and address.

    known: the text on the node. A host that this run did not look at keeps the lines that it has there.
    """
    before: dict[str, list[str]] = {}
    for names, key in _LINE.findall(known):
        before.setdefault(names.split(",")[0], []).append(f"{names} {key}")
    lines = ["# Host keys as Ansible's own verified connection found them. Made by instinct-bringup."]
    for host, _slots in model.hosts:
        peer = peers.get(host)
        keys = [key for key in peer.host_keys if PUBLIC_KEY.fullmatch(key)] if peer else []
        if peer is None or not keys:
            lines += before.get(host, [])
            continue
        address = peer.address if _ADDRESS.fullmatch(peer.address) else host
        names = ",".join(dict.fromkeys((host, address)))
        lines += [f"{names} {key}" for key in keys]
    return "\n".join(lines) + "\n"


def unknown_hosts(model: LaunchModel, text: str) -> list[str]:
    """Return the job's hosts of which a text of known hosts has no key."""
    there = {name for names, _key in _LINE.findall(text) for name in names.split(",")}
    return [host for host, _slots in model.hosts if host not in there]


def ssh_config(model: LaunchModel, user: str) -> str:
    """Return the part of ssh's configuration that only this user's calls of the job's hosts meet."""
    hosts = ",".join(host for host, _slots in model.hosts)
    return f"""\
# How the job's user reaches the nodes of a job. Made by instinct-bringup; changes by hand are overwritten.
Match localuser {user} originalhost {hosts}
  IdentityFile {key_path(model, user)}
  GlobalKnownHostsFile {model.path("known_hosts")} /etc/ssh/ssh_known_hosts
  StrictHostKeyChecking yes
  # Nothing may wait for an answer that nobody gives.
  BatchMode yes
"""


def authorized_line(public_key: str) -> str:
    """Return the line of authorized_keys: commands, but no forwarding and no terminal."""
    return f"restrict {public_key} {MARK}"
