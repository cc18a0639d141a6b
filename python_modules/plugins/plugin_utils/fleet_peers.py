# SPDX-License-Identifier: Apache-2.0
"""Read, once a run, what the hosts of a job have to know of each other."""

from __future__ import annotations

import dataclasses
import pathlib
import typing as t

from ansible_collections.instinct.bringup.plugins.plugin_utils.catalog import default_catalog
from ansible_collections.instinct.bringup.plugins.plugin_utils.launch.peers import Peer, peer_of, processors_of
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.launch import public_key_path
from ansible_collections.instinct.bringup.plugins.plugin_utils.profile import Profile
from ansible_collections.instinct.bringup.plugins.plugin_utils.report.files import read_json, write_json
from ansible_collections.instinct.bringup.plugins.plugin_utils.report.run_folder import gathered_path, read_snapshot

if t.TYPE_CHECKING:
    from ansible.plugins.action import ActionBase


def load_peers(
    action: ActionBase, task_vars: dict[str, t.Any], run_dir: pathlib.Path, profile: Profile
) -> dict[str, Peer]:
    """Return the peers by host. Hosts without a snapshot in this run are not among them.

    Nothing is read where no option asks for it: every snapshot of a large fleet would cost seconds.
    """
    if not (profile["launch_ssh"] or profile["rccl_numa_binding"]):
        return {}
    group = str(profile["deepspeed_hosts_group"])
    path = gathered_path(run_dir, group)
    if not path.is_file():
        hosts = task_vars["groups"][group]
        found = {host: _peer(action, task_vars["hostvars"][host], run_dir, str(host), profile) for host in hosts}
        write_json(path, {host: dataclasses.asdict(peer) for host, peer in found.items() if peer})
    return {host: Peer.from_dict(entry) for host, entry in read_json(path).items()}


def _peer(
    action: ActionBase, variables: t.Mapping[str, t.Any], run_dir: pathlib.Path, host: str, profile: Profile
) -> Peer | None:
    try:
        snapshot = read_snapshot(run_dir, host)
    except (OSError, ValueError):
        return None
    address = str(action._templar.template(variables.get("ansible_host", host)))
    processors: list[str] = []
    if profile["rccl_numa_binding"]:
        release = default_catalog().release(profile["rocm_release"])
        processors = processors_of(snapshot, release["rccl"], str(profile["rccl_topology_links"]))
    return peer_of(snapshot, address, public_key_path(profile), processors)
