# SPDX-License-Identifier: Apache-2.0
"""Hold what every launcher has to know: the hosts and their ranks, the first of them, and where things stand."""

from __future__ import annotations

import dataclasses
import typing as t

# A host of a job and what a peer's snapshot told of it.
Snapshot = t.Mapping[str, t.Any]


@dataclasses.dataclass(frozen=True)
class LaunchModel:
    """Hold one job's layout, from which every launcher's script is made.

    hosts: host name and number of ranks, in the order in which ranks are counted. directory: where the scripts are.
    env_file: NAME=VALUE lines of the profile, on each node its own. interface: the network card of this node over
    which ranks meet, "" where nobody knows it. bind: path of the wrapper that runs a rank next to its GPU, "" without
    one. host: this node as the inventory calls it. rankfile: whether the ranks' processors are known on every host. slurm_gpus: whether Slurm counts GPUs here.
    mpi_prefix: where Open MPI is installed, "" for the distribution's.
    """

    hosts: tuple[tuple[str, int], ...]
    port: int
    directory: str
    hostfile: str
    venv: str
    env_file: str
    host: str = ""
    interface: str = ""
    bind: str = ""
    rankfile: bool = False
    slurm_gpus: bool = False
    mpi_prefix: str = ""

    @property
    def master(self) -> str:
        """Return the host of rank 0, on which the launchers are called."""
        return self.hosts[0][0]

    @property
    def world_size(self) -> int:
        """Return the number of ranks of the whole job."""
        return sum(slots for _host, slots in self.hosts)

    def path(self, name: str) -> str:
        """Return the path of a file of the launch."""
        return f"{self.directory}/{name}"

    def as_dict(self) -> dict[str, t.Any]:
        """Return what is expected of a job, as JSON types."""
        return {
            "hosts": [[host, slots] for host, slots in self.hosts],
            "master": self.master,
            "port": self.port,
            "world_size": self.world_size,
            "hostfile": self.hostfile,
            "interface": self.interface,
            "directory": self.directory,
        }


def interface_of(selector: str, interfaces: t.Iterable[Snapshot]) -> str:
    """Return the first interface that a value of NCCL_SOCKET_IFNAME names and that is up, "" where it names none.

    selector: exact names after =, else prefixes; a value that begins with ^ only says which not.
    interfaces: the snapshot's net.interfaces.
    """
    if selector.startswith("^"):
        return ""
    exact, names = selector.startswith("="), [name for name in selector.lstrip("=").split(",") if name]
    there = [entry for entry in interfaces if entry.get("operstate") in ("up", "unknown") and entry["name"] != "lo"]
    for name in names:
        for entry in there:
            if entry["name"] == name or (not exact and str(entry["name"]).startswith(name)):
                return str(entry["name"])
    return ""
