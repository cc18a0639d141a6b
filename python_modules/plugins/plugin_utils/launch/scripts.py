# SPDX-License-Identifier: Apache-2.0
"""Write the launchers' scripts. All start the same wrapper, so that a rank's environment is the same under each."""

from __future__ import annotations

import pathlib
import shlex
import textwrap

from ansible_collections.instinct.bringup.plugins.module_utils import report_rank
from ansible_collections.instinct.bringup.plugins.plugin_utils.launch.model import LaunchModel

# The program that playbooks/launch-check.yml starts in place of a training script.
REPORT_RANK = pathlib.Path(report_rank.__file__).read_text(encoding="utf-8")

_MADE = "# Made by instinct-bringup; changes by hand are overwritten."
# Variables of the calling shell that every rank gets, on whichever node it runs.
CARRIED = ("NCCL", "RCCL", "HSA", "HIP", "ROCR", "AMD", "GLOO", "UCX", "TORCH", "PYTORCH", "OMP", "DS", "HF", "LAUNCH")

_RANK = """\
#!/bin/sh
# Runs one rank of a job: rank.sh [--local_rank=N] [-x NAME=VALUE]... SCRIPT [ARGUMENTS]
# The launchers beside this file call it on every node, so a rank has the same environment under each of them.
{made}
set -eu

# DeepSpeed's launcher puts it in front; the script gets it as its first argument, as without this wrapper.
local_rank_argument=
case ${{1-}} in --local_rank=* | --local-rank=*) local_rank_argument=$1; shift ;; esac
# What the calling shell had set comes first.
while [ "${{1-}}" = -x ]; do
  export "${{2?}}"
  shift 2
done
[ $# -gt 0 ] || {{ echo "rank.sh: no script is named" >&2; exit 64; }}

# This node's own profile, where nothing is set yet. A rank that ssh starts reads no /etc/profile.d.
profile={env_file}
if [ -r "$profile" ]; then
  while IFS= read -r line || [ -n "$line" ]; do
    name=${{line%%=*}}
    case $name in "" | "$line" | *[!A-Za-z0-9_]* | [0-9]*) continue ;; esac
    eval "known=\\${{$name+set}}"
    [ -n "$known" ] || export "$line"
  done <"$profile"
else
  echo "rank.sh: $(hostname): $profile is not readable; the rank runs without its profile" >&2
fi

# torch reads these names; MPI and Slurm have their own.
give() {{ eval "known=\\${{$1:-}}"; [ -n "$known" ] || [ -z "$2" ] || export "$1=$2"; }}
give RANK "${{OMPI_COMM_WORLD_RANK:-${{SLURM_PROCID:-}}}}"
give LOCAL_RANK "${{OMPI_COMM_WORLD_LOCAL_RANK:-${{SLURM_LOCALID:-}}}}"
give WORLD_SIZE "${{OMPI_COMM_WORLD_SIZE:-${{SLURM_NTASKS:-}}}}"
give LOCAL_WORLD_SIZE "${{OMPI_COMM_WORLD_LOCAL_SIZE:-}}"
give MASTER_ADDR {master}
give MASTER_PORT {port}
{interface}\
LAUNCH_HOST={host}
PATH={venv}/bin:$PATH
export LAUNCH_HOST PATH

python=${{LAUNCH_PYTHON:-{venv}/bin/python}}
script=$1
shift
set -- "$python" -u "$script" ${{local_rank_argument:+"$local_rank_argument"}} "$@"
{bind}exec "$@"
"""

# What a script that starts ranks on other nodes begins with.
_BEGIN = """\
set -eu

directory={directory}
hostfile={hostfile}
profile={env_file}
[ $# -gt 0 ] || {{ echo "usage: $0 SCRIPT [ARGUMENTS]" >&2; exit 64; }}
# Without it a launcher says a word and goes on with this node alone.
if ! [ -f "$hostfile" ] || ! [ -r "$hostfile" ] || ! grep -q "slots=" "$hostfile"; then
  echo "$0: $hostfile is absent, not readable or names no host; run site.yml" >&2
  exit 66
fi

"""

_SHELL_VALUES = """\
# What this shell has set goes to every rank, but for the profile's own values: each node has its own profile.
prefixes='{carried}'
for name in $(env | sed -nE "s/^((${{prefixes}})_[A-Za-z0-9_]*|PYTHONPATH)=.*/\\1/p"); do
  eval "value=\\${{$name-}}"
  if [ -r "$profile" ] && grep -qxF -e "$name=$value" "$profile"; then continue; fi
  set -- -x "$name=$value" "$@"
done
"""

_DEEPSPEED = """\
#!/bin/sh
# Starts a script on the GPUs of {counted} with DeepSpeed's launcher, over pdsh and ssh:
#   deepspeed.sh train.py --epochs 1
# Call it on {master} as the job's user. LAUNCHER_ARGS holds options for DeepSpeed's launcher itself, such as
#   LAUNCHER_ARGS="--include {master}:0,1" deepspeed.sh train.py
{made}
{begin}

{values}
PATH={venv}/bin:$PATH
export PATH
# Words of LAUNCHER_ARGS are options of their own.
# shellcheck disable=SC2086
exec deepspeed --hostfile "$hostfile" --master_addr {master} --master_port {port} --no_python ${{LAUNCHER_ARGS:-}} \\
  "$directory/rank.sh" "$@"
"""

_TORCHRUN = """\
#!/bin/sh
# Starts a script on the GPUs of {counted} with torchrun, on each node over pdsh and ssh:
#   torchrun.sh train.py --epochs 1
# Call it on {master} as the job's user. LAUNCHER_ARGS holds options for torchrun itself, such as
#   LAUNCHER_ARGS="--nproc-per-node 1" torchrun.sh train.py
{made}
{begin}
if [ -z "${{LAUNCH_NODE_RANK:-}}" ]; then
  # On the first node, which tells the others.
{values}
  quote() {{ printf "'%s' " "$(printf %s "$1" | sed "s/'/'\\\\\\\\''/g")"; }}
  # pdsh sees the command before the node's shell does: %n is the number of the node, %% is a %.
  command=$(quote "$0"; for word in "$@"; do quote "$word"; done)
  before="cd $(quote "$PWD")&& LAUNCHER_ARGS=$(quote "${{LAUNCHER_ARGS:-}}")"
  before=$(printf %s "$before" | sed 's/%/%%/g')
  command=$(printf %s "$command" | sed 's/%/%%/g')
  exec pdsh -S -R ssh -f {count} -w {names} "${{before}}LAUNCH_NODE_RANK=%n $command"
fi

case $LAUNCH_NODE_RANK in
{slots}
  *) echo "torchrun.sh: there is no node $LAUNCH_NODE_RANK" >&2; exit 64 ;;
esac
node_rank=$LAUNCH_NODE_RANK
unset LAUNCH_NODE_RANK
PATH={venv}/bin:$PATH
export PATH
# Words of LAUNCHER_ARGS are options of their own.
# shellcheck disable=SC2086
exec torchrun --nnodes {count} --node-rank "$node_rank" --nproc-per-node "$slots" \\
  --master-addr {master} --master-port {port} --no-python ${{LAUNCHER_ARGS:-}} "$directory/rank.sh" "$@"
"""

_OPENMPI = """\
#!/bin/sh
# Starts a script on the GPUs of {counted} with Open MPI, over ssh:
#   openmpi.sh train.py --epochs 1
# Call it on {master} as the job's user. LAUNCHER_ARGS holds options for mpirun itself, such as
#   LAUNCHER_ARGS="-np 2" openmpi.sh train.py
# {binding}
{made}
{begin}

{values}
{path}\
# Words of LAUNCHER_ARGS are options of their own. The first node starts every other one by itself: only it has the key.
# shellcheck disable=SC2086
exec mpirun --hostfile "$hostfile" {options} ${{LAUNCHER_ARGS:-}} "$directory/rank.sh" "$@"
"""

_SLURM = """\
#!/bin/sh
# Starts a script on GPUs that Slurm chooses:
#   sbatch {path} train.py --epochs 1
# sbatch's own options win over these lines: sbatch --nodes=1 {path} train.py
{made}
#SBATCH --job-name=instinct
#SBATCH --nodes={count}
#SBATCH --ntasks-per-node={slots}
{resources}
set -eu

[ $# -gt 0 ] || {{ echo "usage: sbatch $0 SCRIPT [ARGUMENTS]" >&2; exit 64; }}
# Slurm hands every rank the environment of this script. The first node that it chose is the one to meet at.
MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
MASTER_PORT={port}
export MASTER_ADDR MASTER_PORT
exec srun --kill-on-bad-exit=1 {directory}/rank.sh "$@"
"""


def rank_script(model: LaunchModel) -> str:
    """Return the wrapper that every launcher starts as a rank."""
    # The kernel takes almost anything as the name of a card.
    card = shlex.quote(model.interface)
    interface = f"give GLOO_SOCKET_IFNAME {card}\ngive OMPI_MCA_btl_tcp_if_include {card}\n" if model.interface else ""
    bind = ""
    if model.bind:
        # mpirun has bound its ranks by the rankfile.
        unbound = '[ -n "${OMPI_COMM_WORLD_RANK:-}" ] || ' if model.rankfile else ""
        bind = f'{unbound}set -- {model.bind} "$@"\n'
    return _RANK.format(
        made=_MADE,
        env_file=shlex.quote(model.env_file),
        master=model.master,
        port=model.port,
        interface=interface,
        host=model.host,
        venv=shlex.quote(model.venv),
        bind=bind,
    )


def deepspeed_script(model: LaunchModel) -> str:
    """Return the script that calls DeepSpeed's launcher."""
    return _DEEPSPEED.format(**_common(model))


def torchrun_script(model: LaunchModel) -> str:
    """Return the script that calls torchrun on every node."""
    slots = "\n".join(f"  {number}) slots={count} ;; # {host}" for number, (host, count) in enumerate(model.hosts))
    names = ",".join(host for host, _slots in model.hosts)
    values = _common(model)
    values["values"] = textwrap.indent(values["values"], "  ")
    return _TORCHRUN.format(**values, count=len(model.hosts), names=names, slots=slots)


def openmpi_script(model: LaunchModel) -> str:
    """Return the script that calls mpirun."""
    options = "--mca plm_rsh_no_tree_spawn 1"
    if model.rankfile:
        options += f" --mca rmaps_rank_file_physical 1 -rf {shlex.quote(model.path('rankfile'))}"
        binding = "Each rank is bound to the processors of the rankfile beside this file."
    else:
        options += " --map-by slot --bind-to none"
        binding = "Ranks are not bound: set rccl_numa_binding to have them next to their GPUs."
        if model.bind:
            binding = f"Each rank is bound by {model.bind}."
    path = ""
    if model.mpi_prefix:
        # Open MPI 5 has another name for it; each version passes over the other's.
        options = f"--prefix {shlex.quote(model.mpi_prefix)} --mca plm_ssh_no_tree_spawn 1 {options}"
        path = f"PATH={shlex.quote(model.mpi_prefix)}/bin:$PATH\nexport PATH\n"
    return _OPENMPI.format(**_common(model), options=options, binding=binding, path=path)


def slurm_script(model: LaunchModel) -> str:
    """Return the batch script. Slurm starts as many ranks on each node, so the smallest node says how many."""
    slots = min(count for _host, count in model.hosts)
    resources = [f"#SBATCH --gpus-per-node={slots}"] if model.slurm_gpus else ["#SBATCH --exclusive"]
    if not model.slurm_gpus:
        resources.append("# Slurm knows no GPUs here (no GresTypes=gpu in its files), so a job takes whole nodes.")
    if len({count for _host, count in model.hosts}) > 1:
        resources.append(f"# The nodes have different numbers of GPUs; {slots} is what each of them has.")
    return _SLURM.format(
        made=_MADE,
        path=model.path("slurm.sbatch"),
        count=len(model.hosts),
        slots=slots,
        resources="\n".join(resources),
        port=model.port,
        directory=shlex.quote(model.directory),
    )


def _common(model: LaunchModel) -> dict[str, str]:
    nodes = f"{len(model.hosts)} nodes" if len(model.hosts) > 1 else "one node"
    begin = _BEGIN.format(
        directory=shlex.quote(model.directory),
        hostfile=shlex.quote(model.hostfile),
        env_file=shlex.quote(model.env_file),
    )
    return {
        "made": _MADE,
        "begin": begin.rstrip(),
        "values": _SHELL_VALUES.format(carried="|".join(CARRIED)).rstrip(),
        "counted": f"{nodes} ({model.world_size} ranks)",
        "master": model.master,
        "port": str(model.port),
        "venv": shlex.quote(model.venv),
    }
