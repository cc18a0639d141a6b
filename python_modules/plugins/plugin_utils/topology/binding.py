# SPDX-License-Identifier: Apache-2.0
"""Bind each rank to the processors and the memory that are nearest to its GPU."""

from __future__ import annotations

import dataclasses
import itertools
import re
import typing as t

from ansible_collections.instinct.bringup.plugins.module_utils.rccl_model import Topology
from ansible_collections.instinct.bringup.plugins.module_utils.rccl_numa import GUESSED
from ansible_collections.instinct.bringup.plugins.module_utils.text import parse_cpulist

Snapshot = t.Mapping[str, t.Any]

_ENTRY = re.compile(r"^  ([0-9]+)\) node=([0-9]+) cpus=([0-9,-]+)(?: hca=(\S+))? ;; # (\S+)$", re.MULTILINE)

_WRAPPER = """\
#!/bin/sh
# Runs a command next to its GPU: on the processors of that NUMA node, with memory of that node.
# Made by instinct-bringup from the machine; changes by hand are overwritten.
#
#   mpirun -np {count} --bind-to none {path} python3 train.py
#   torchrun --nproc-per-node {count} --no-python {path} python3 train.py
#   deepspeed --no_python --no_local_rank {path} python3 train.py
#
# A local rank counts the GPUs as HIP does, in the order of KFD's nodes, which is not the order of the bus ids.
rank=${{LOCAL_RANK:-${{OMPI_COMM_WORLD_LOCAL_RANK:-${{MPI_LOCALRANKID:-${{SLURM_LOCALID:-}}}}}}}}

# Follow a list of visible devices: pick LIST INDEX. A list of one is the rank's own.
pick() {{
  case $1 in
    "") echo "$2" ;;
    *[!0-9,]*) ;;
    *,*) echo "$1," | cut -d, -f"$(($2 + 1))" ;;
    *) echo "$1" ;;
  esac
}}

gpu=
case $rank in
  "" | *[!0-9]*) ;;
  *) gpu=$(pick "${{HIP_VISIBLE_DEVICES:-${{CUDA_VISIBLE_DEVICES:-}}}}" "$rank") ;;
esac
[ -z "$gpu" ] || gpu=$(pick "${{ROCR_VISIBLE_DEVICES:-}}" "$gpu")

hca=
case $gpu in
{entries}
  *) echo "bind-rank: no GPU is known for local rank '$rank'; the command runs unbound" >&2
     exec "$@" ;;
esac
# MPI's own choice of the adapter, unless the job has made it.
[ -z "$hca" ] || export UCX_NET_DEVICES="${{UCX_NET_DEVICES:-$hca}}"
# preferred, not membind: a full node must not kill the job.
if command -v numactl >/dev/null 2>&1; then
  exec numactl --physcpubind="$cpus" --preferred="$node" "$@"
fi
exec taskset -c "$cpus" "$@"
"""


@dataclasses.dataclass(frozen=True)
class Binding:
    """Hold where the rank of a GPU belongs.

    hip: the GPU's number in HIP, which the local rank counts. cpus: a list as the kernel writes it.
    hcas: the nearest adapters, none where the node has none.
    """

    hip: int
    busid: str
    numa_node: int
    cpus: str
    hcas: tuple[str, ...]


def bindings_of(topology: Topology, snapshot: Snapshot) -> list[Binding]:
    """Return the bindings in the order of HIP. A GPU whose NUMA node nobody knows has none.

    GPUs of one node share its processors in equal parts.
    """
    places = {place.busid: place for place in topology.placements}
    lists = {node["id"]: node.get("cpulist") for node in (snapshot.get("numa") or {}).get("nodes") or ()}
    known = [gpu for gpu in topology.gpus if places[gpu.busid].source != GUESSED]
    result = []
    for gpu in sorted(known, key=lambda gpu: gpu.hip):
        node = places[gpu.busid].numa_node
        neighbours = sorted(other.hip for other in known if places[other.busid].numa_node == node)
        cpus = _share(parse_cpulist(lists.get(node) or "") or [], len(neighbours), neighbours.index(gpu.hip))
        if cpus:
            result.append(Binding(gpu.hip, gpu.busid, node, as_cpulist(cpus), _nearest_hcas(gpu.busid, node, snapshot)))
    return result


def render_wrapper(bindings: t.Sequence[Binding], path: str) -> str:
    """Return a shell script that runs its arguments bound as the rank's GPU wants it."""
    entries = []
    for binding in bindings:
        hca = f" hca={','.join(f'{name}:1' for name in binding.hcas)}" if binding.hcas else ""
        entries.append(f"  {binding.hip}) node={binding.numa_node} cpus={binding.cpus}{hca} ;; # {binding.busid}")
    return _WRAPPER.format(count=len(bindings), path=path, entries="\n".join(entries))


def read_wrapper(text: str) -> list[Binding]:
    """Return the bindings that a rendered script holds."""
    return [
        Binding(int(hip), busid, int(node), cpus, tuple(name.partition(":")[0] for name in hca.split(",") if name))
        for hip, node, cpus, hca, busid in _ENTRY.findall(text)
    ]


def render_rankfile(bindings: t.Sequence[Binding], path: str) -> str:
    """Return a rankfile of Open MPI 4 for one node, with processors as the kernel numbers them."""
    lines = [
        "# Open MPI's rankfile of this node. Made by instinct-bringup; changes by hand are overwritten.",
        f"# mpirun --mca rmaps_rank_file_physical 1 -rf {path} -np {len(bindings)} python3 train.py",
    ]
    lines += [f"rank {binding.hip}=+n0 slot={binding.cpus}" for binding in bindings]
    return "\n".join(lines) + "\n"


def as_cpulist(cpus: t.Sequence[int]) -> str:
    """Return numbers in order as the kernel writes them: 0-15,128-143."""
    runs: list[list[int]] = []
    for cpu in cpus:
        if runs and runs[-1][1] == cpu - 1:
            runs[-1][1] = cpu
        else:
            runs.append([cpu, cpu])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def _share(cpus: t.Sequence[int], parts: int, part: int) -> list[int]:
    """Return a part of a node's processors: of each run, since the runs are the threads of the same cores."""
    ordered = sorted(cpus)
    starts = [0, *(at for at in range(1, len(ordered)) if ordered[at] != ordered[at - 1] + 1), len(ordered)]
    runs = [ordered[start:end] for start, end in itertools.pairwise(starts)]
    if any(len(run) < parts for run in runs):
        return ordered
    return [cpu for run in runs for cpu in run[len(run) * part // parts : len(run) * (part + 1) // parts]]


def _nearest_hcas(busid: str, node: int, snapshot: Snapshot) -> tuple[str, ...]:
    """Return the adapters that share a port with the GPU, else those of its NUMA node, else none."""
    pci = snapshot.get("pci") or {}
    gpu = next(entry for entry in pci.get("gpus") or () if str(entry["bdf"]).lower() == busid)
    ports = {port["bdf"] for port in gpu.get("path") or ()}
    with_hca = [nic for nic in pci.get("nics") or () if nic.get("hcas")]
    for near in (
        [nic for nic in with_hca if ports & {port["bdf"] for port in nic.get("path") or ()}],
        [nic for nic in with_hca if nic.get("numa_node") == node],
    ):
        if near:
            return tuple(sorted(name for nic in near for name in nic["hcas"]))
    return ()
