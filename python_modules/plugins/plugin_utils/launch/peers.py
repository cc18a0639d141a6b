# SPDX-License-Identifier: Apache-2.0
"""Tell what a node has to know of another node of its job."""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.instinct.bringup.plugins.module_utils.rccl_model import TopologyError
from ansible_collections.instinct.bringup.plugins.module_utils.rccl_topology import build_topology
from ansible_collections.instinct.bringup.plugins.plugin_utils.topology.binding import bindings_of

HOST_KEYS = tuple(f"/etc/ssh/ssh_host_{kind}_key.pub" for kind in ("ed25519", "ecdsa", "rsa"))


@dataclasses.dataclass(frozen=True)
class Peer:
    """Hold what one host showed in this run.

    address: how Ansible reaches it, which the host key was checked for. host_keys: its public host keys, each as
    "TYPE BASE64". public_key: that of the job's user on it, "" without one. processors: what each of its local ranks is
    bound to, empty where that is not known.
    """

    address: str
    host_keys: tuple[str, ...]
    processors: tuple[str, ...]
    public_key: str = ""

    @classmethod
    def from_dict(cls, entry: t.Mapping[str, t.Any]) -> Peer:
        """Return a peer from JSON types."""
        keys, processors = tuple(entry["host_keys"]), tuple(entry["processors"])
        return cls(str(entry["address"]), keys, processors, str(entry["public_key"]))


def peer_of(
    snapshot: t.Mapping[str, t.Any], address: str, public_key_path: str, processors: t.Sequence[str] = ()
) -> Peer:
    """Return what a snapshot shows of a peer."""
    watch = snapshot.get("watch") or {}
    keys = [key for path in HOST_KEYS if (key := _key(watch, path))]
    return Peer(address, tuple(keys), tuple(processors), _key(watch, public_key_path))


def _key(watch: t.Mapping[str, t.Any], path: str) -> str:
    """Return a public key's type and body, "" where the file holds none."""
    return " ".join(str((watch.get(path) or {}).get("text") or "").split()[:2])


def processors_of(snapshot: t.Mapping[str, t.Any], rccl_version: str, links: str) -> list[str]:
    """Return the processors next to each GPU in the order of local ranks, empty where one of them is not known."""
    try:
        topology = build_topology(snapshot, rccl_version, links)
    except TopologyError:
        return []
    bindings = bindings_of(topology, snapshot)
    return [binding.cpus for binding in bindings] if len(bindings) == len(topology.gpus) else []
