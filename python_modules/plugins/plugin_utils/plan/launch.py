# SPDX-License-Identifier: Apache-2.0
"""Plan the launch: a script for each launcher, all from one model, and what they need on the node."""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.errors import ConfigError
from ansible_collections.instinct.bringup.plugins.plugin_utils.launch import rankfile, scripts, ssh
from ansible_collections.instinct.bringup.plugins.plugin_utils.launch.model import LaunchModel, interface_of
from ansible_collections.instinct.bringup.plugins.plugin_utils.launch.peers import HOST_KEYS, processors_of
from ansible_collections.instinct.bringup.plugins.plugin_utils.managed import Change, ManagedFile, absent_change
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan import rccl, topology
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.deepspeed import hostfile_entries
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.launch_ssh import plan_ssh
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.model import PlanContext, Step
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.mpi import mpi_prefix
from ansible_collections.instinct.bringup.plugins.plugin_utils.profile import Profile

NAMES = ("rank.sh", "deepspeed.sh", "torchrun.sh", "openmpi.sh", "slurm.sbatch", "report_rank.py", "rankfile")
# Below are ports that only root may open.
LOWEST_PORT, HIGHEST_PORT = 1024, 65535
# Names of network cards, at most 15 characters each, after = where they are whole.
_SELECTOR = re.compile(r"=?[A-Za-z0-9_.+@-]{1,15}(,[A-Za-z0-9_.+@-]{1,15})*")


def launch_paths(profile: Profile) -> list[str]:
    """Return what a plan may manage here or has to know of, for the snapshot to look at."""
    directory = profile["launch_directory"]
    ours = [f"{directory}/{name}" for name in NAMES]
    if not profile["launch_ssh"]:
        return ours
    return [*ours, f"{directory}/known_hosts", ssh.CONFIG_PATH, public_key_path(profile), *HOST_KEYS]


def launch_user(profile: Profile) -> str:
    """Return the job's user, "" where the site names none."""
    return str(profile["launch_user"] or next(iter(profile["bringup_users"]), ""))


def public_key_path(profile: Profile) -> str:
    """Return where the first node of a job keeps the public key of the job's user."""
    return f"{profile['launch_directory']}/keys/{launch_user(profile)}/id_ed25519.pub"


def plan_launch(ctx: PlanContext, rccl_step: Step) -> Step | None:
    """Return the step of role launch, or None on a host that no job runs on.

    rccl_step: the step whose files the ranks read.
    :raises ConfigError: an option or a host's name cannot be rendered.
    """
    model = launch_model(ctx, rccl_step)
    if model is None:
        return None
    # Open MPI 5, which is built or there below mpi_prefix, counts processors by a numbering of its own and knows no
    # rmaps_rank_file_physical: there the wrapper binds, by the kernel's numbers.
    by_file = model.bind and not model.mpi_prefix
    ranks = rankfile.render_rankfile(model, _processors(ctx, model)) if by_file else None
    model = dataclasses.replace(model, rankfile=ranks is not None)
    notes = [f"a job has {model.world_size} ranks on {len(model.hosts)} nodes and meets at {model.master}:{model.port}"]
    access = plan_ssh(ctx, model, launch_user(ctx.profile))
    files = [*_files(model, ranks), *access.files]
    missing = ctx.missing(ctx.profile["launch_packages"])
    reason = "starts a job's ranks on every node, over ssh"
    changes = [Change("package", name, "not installed", "the distribution's", reason) for name in missing]
    changes += [*ctx.file_changes(files), *access.changes]
    absent = [] if ranks is not None else [model.path("rankfile")]
    why = "no rankfile: rccl_numa_binding is false, a host's processors are not known, or the MPI reads it otherwise"
    changes += [change for path in absent if (change := absent_change(path, ctx.watched(path), why))]
    inputs = {
        "files": [file.as_input() for file in files],
        "absent": absent,
        "packages": list(ctx.profile["launch_packages"]),
        "missing": missing,
        "ssh": access.inputs,
        "model": {**model.as_dict(), "user": launch_user(ctx.profile)},
    }
    packages = dict.fromkeys(ctx.profile["launch_packages"], "*")
    return Step("launch", tuple(changes), inputs, tuple(files), packages, (*notes, *access.notes))


def launch_model(ctx: PlanContext, rccl_step: Step) -> LaunchModel | None:
    """Return what the launchers have to know, or None where this host is none of a job's.

    :raises ConfigError: launch_port is no port, or launch_interface names no card.
    """
    port = int(ctx.profile["launch_port"])
    if not LOWEST_PORT <= port <= HIGHEST_PORT:
        raise ConfigError(f"launch_port is {port}; it must be from {LOWEST_PORT} to {HIGHEST_PORT}")
    chosen = str(ctx.profile["launch_interface"])
    if chosen and not _SELECTOR.fullmatch(chosen):
        raise ConfigError(
            f'launch_interface is {chosen!r}; it must be a card such as "=eth2", or the beginning of its name, or '
            "several with commas between"
        )
    directory = str(ctx.profile["deepspeed_directory"])
    hosts, _notes = hostfile_entries(ctx, f"{directory}/hostfile")
    if ctx.host not in dict(hosts):
        return None
    environment = {file.path: file.content for file in rccl_step.files}
    values = dict(line.split("=", 1) for line in environment[rccl.DEEPSPEED_PATH].splitlines())
    selector = chosen or values.get("NCCL_SOCKET_IFNAME", "^")
    return LaunchModel(
        hosts=tuple(hosts),
        port=port,
        directory=str(ctx.profile["launch_directory"]),
        hostfile=f"{directory}/hostfile",
        venv=str(ctx.profile["pytorch_venv"]),
        env_file=rccl.DEEPSPEED_PATH,
        host=ctx.host,
        interface=interface_of(selector, ctx.area("net").get("interfaces") or []),
        bind=topology.WRAPPER_PATH if topology.WRAPPER_PATH in environment else "",
        slurm_gpus=_slurm_counts_gpus(ctx),
        mpi_prefix=mpi_prefix(ctx.profile),
    )


def _processors(ctx: PlanContext, model: LaunchModel) -> dict[str, t.Sequence[str]]:
    """Return each rank's processors by host. A host that this run did not look at keeps what the node's file says."""
    known = rankfile.read_rankfile(str((ctx.watched(model.path("rankfile")) or {}).get("text") or ""))
    seen = {host: peer.processors for host, peer in ctx.peers.items() if peer.processors}
    own = processors_of(ctx.snapshot, ctx.release["rccl"], str(ctx.profile["rccl_topology_links"]))
    return {**known, **seen, ctx.host: own}


def _files(model: LaunchModel, ranks: str | None) -> list[ManagedFile]:
    files = {
        "rank.sh": (scripts.rank_script(model), "one rank, with the same environment under every launcher"),
        "deepspeed.sh": (scripts.deepspeed_script(model), "a job by DeepSpeed's launcher, over pdsh"),
        "torchrun.sh": (scripts.torchrun_script(model), "a job by torchrun on every node, over pdsh"),
        "openmpi.sh": (scripts.openmpi_script(model), "a job by Open MPI's mpirun"),
        "slurm.sbatch": (scripts.slurm_script(model), "a job by Slurm"),
        "report_rank.py": (scripts.REPORT_RANK, "what playbooks/launch-check.yml starts as a job"),
    }
    made = [ManagedFile(model.path(name), content, note, mode="0755") for name, (content, note) in files.items()]
    if ranks is not None:
        made.append(ManagedFile(model.path("rankfile"), ranks, "binds every rank of mpirun next to its GPU"))
    return made


def _slurm_counts_gpus(ctx: PlanContext) -> bool:
    lines: list[dict[str, t.Any]] = ctx.area("slurm").get("lines") or []
    return any("gpu" in str(line["values"].get("gres", "")) for line in lines)
