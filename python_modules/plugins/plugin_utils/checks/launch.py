# SPDX-License-Identifier: Apache-2.0
"""Check that a job starts on every node that it is meant for: hostfile, launchers, keys, port and network card."""

from __future__ import annotations

import collections.abc as c
import stat

from ansible_collections.instinct.bringup.plugins.module_utils.launch_access import EPHEMERAL, TABLES
from ansible_collections.instinct.bringup.plugins.module_utils.network import NET_ROOT
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.hardware import Json
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.model import (
    FAIL,
    OK,
    WARN,
    CheckContext,
    Finding,
    skipped,
    unknown,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.registry import check
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.vendor import (
    DPKG_STATUS,
    is_installed,
    package_rows,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.launch.hostfile_lint import Hostfile, read_hostfile
from ansible_collections.instinct.bringup.plugins.plugin_utils.launch.ssh import CONFIG_PATH

_NO_JOB = "no job runs on this host: it is not in the group of the hostfile, or nobody counted its GPUs"
# Of a long list so many are told one by one.
_TOLD = 20


@check(
    "ds.hostfile_present",
    "The hostfile is there and the job's user can read it",
    areas=("watch",),
    remedy=(
        "Run site.yml with deepspeed in bringup_only, or without bringup_only. Without its hostfile DeepSpeed prints "
        "a warning and trains on one node alone."
    ),
)
def hostfile_present(context: CheckContext) -> c.Iterator[Finding]:
    """Look for a file of some content that everybody can read, at the absolute path that the launchers name."""
    launch = _launch(context)
    if launch is None:
        yield skipped(_NO_JOB)
        return
    path = str(launch["hostfile"])
    seen = (context.held("watch") or {}).get(path)
    expected = "a regular file, readable, not empty"
    if seen is None:
        yield unknown(context.problem(path, "watch"), path, path, expected)
    elif seen["type"] != "file":
        yield Finding(FAIL, path, expected, str(seen["type"]), f"{path} is no file here: {seen['type']}", path)
    elif not seen["size"]:
        yield Finding(FAIL, path, expected, "empty", f"{path} is empty", path)
    elif not seen["mode"]:
        yield unknown(context.problem(path, "watch"), path, path, expected)
    elif not int(seen["mode"], 8) & stat.S_IROTH:
        reason = f"{path} has mode {seen['mode']}: a job's user cannot read it"
        yield Finding(FAIL, path, expected, f"mode {seen['mode']}", reason, path)
    else:
        yield Finding(OK, path, expected, f"{seen['size']} bytes, mode {seen['mode']}", "", path)


@check(
    "ds.hostfile_syntax",
    "Every line of the hostfile is one that the launchers understand",
    areas=("watch",),
    remedy=(
        "Correct the named line, or run site.yml, which writes the file again: one host a line, NAME slots=N, "
        "Unix line ends."
    ),
)
def hostfile_syntax(context: CheckContext) -> c.Iterator[Finding]:
    """Read the file as DeepSpeed and Open MPI do, and name each line that one of them refuses or takes otherwise."""
    found = yield from _hostfile(context)
    if found is None:
        return
    path, hostfile = found
    for finding in hostfile.findings[:_TOLD]:
        subject = f"{path}:{finding.line}" if finding.line else path
        yield Finding(FAIL, subject, "NAME slots=N", finding.text or "no host", finding.sentence(), subject)
    more = len(hostfile.findings) - _TOLD
    if more > 0:
        yield Finding(FAIL, path, "NAME slots=N", f"{more} more lines", f"{more} more lines are wrong", path)
    if not hostfile.findings:
        yield Finding(OK, path, "NAME slots=N", f"{len(hostfile.hosts)} hosts", "", path)


@check(
    "ds.slots_vs_gpus",
    "The hostfile gives this host as many slots as it has GPUs",
    areas=("watch", "pci.gpus"),
    remedy=(
        "Run site.yml, which counts the GPUs and writes the hostfile on every node. Where a card is missing, see "
        "gpu.count first."
    ),
)
def slots_vs_gpus(context: CheckContext) -> c.Iterator[Finding]:
    """Compare the slots of this host's line with the GPUs that its driver shows."""
    found = yield from _hostfile(context)
    if found is None:
        return
    path, hostfile = found
    host = str(context.plan["host"])
    gpus = sum(gpu["driver"] == "amdgpu" for gpu in context.snapshot["pci"]["gpus"])
    slots, expected = dict(hostfile.hosts).get(host), f"{gpus} slots"
    if slots is None:
        yield Finding(FAIL, host, expected, "not in the file", f"{path} does not name {host}", path)
    elif slots > gpus:
        reason = f"{slots} slots and {gpus} GPUs: ranks without a card of their own fail or share one"
        yield Finding(FAIL, host, expected, f"{slots} slots", reason, path)
    elif slots < gpus:
        yield Finding(WARN, host, expected, f"{slots} slots", f"{gpus - slots} GPUs stay idle", path)
    else:
        yield Finding(OK, host, expected, f"{slots} slots", "", path)


@check(
    "ds.world_size_expected",
    "A job of all hosts has as many ranks as the inventory and the GPUs say",
    areas=("watch",),
    remedy="Run site.yml without --limit. playbooks/launch-check.yml starts all ranks and counts them.",
)
def world_size_expected(context: CheckContext) -> c.Iterator[Finding]:
    """Add up the file's slots and compare sum and hosts with the plan, which counts the GPUs of all hosts."""
    launch = _launch(context)
    found = yield from _hostfile(context)
    if found is None or launch is None:
        return
    path, hostfile = found
    wanted, there = dict(launch["hosts"]), dict(hostfile.hosts)
    expected = f"{launch['world_size']} ranks on {len(wanted)} hosts"
    observed = f"{hostfile.world_size} ranks on {len(there)} hosts"
    if wanted == there:
        yield Finding(OK, path, expected, observed, "", path)
        return
    parts = [f"{host} is missing" for host in wanted if host not in there]
    parts += [f"{host} is not of the inventory" for host in there if host not in wanted]
    parts += [
        f"{host} has {there[host]} slots, not {slots}"
        for host, slots in wanted.items()
        if there.get(host, slots) != slots
    ]
    more = f" and {len(parts) - _TOLD} more" if len(parts) > _TOLD else ""
    yield Finding(FAIL, path, expected, observed, "; ".join(parts[:_TOLD]) + more, path)


@check(
    "ds.launcher_available",
    "What starts a job is there: pdsh, the venv at one path, and the keys where the role makes them",
    areas=("dpkg.packages", "watch", "python_envs"),
    remedy=(
        "Run site.yml. playbooks/launch-check.yml then calls every node as the job's user, with BatchMode, and "
        "starts the ranks."
    ),
)
def launcher_available(context: CheckContext) -> c.Iterator[Finding]:
    """Look for the packages of launch_packages, the profile's venv, and with launch_ssh for key and known hosts."""
    launch = _launch(context)
    if launch is None:
        yield skipped(_NO_JOB)
        return
    rows = package_rows(context)
    for name in context.option("launch_packages") or []:
        row = rows.get(name)
        if row is not None and is_installed(row):
            yield Finding(OK, name, "installed", str(row["version"]), "", DPKG_STATUS)
        else:
            reason = f"{name} is not installed: DeepSpeed's launcher for several nodes stops without it"
            yield Finding(FAIL, name, "installed", "not installed", reason, DPKG_STATUS)
    venv = str(context.option("pytorch_venv"))
    seen = next((entry for entry in context.snapshot["python_envs"] if entry["path"] == venv), None)
    if seen is None or seen["exists"] is None:
        yield unknown(context.problem(venv, "python_envs"), venv, venv, "the same path on every node")
    elif seen["exists"]:
        yield Finding(OK, venv, "the same path on every node", f"Python {seen['python']}", "", f"{venv}/pyvenv.cfg")
    else:
        reason = f"{venv} is not there: a rank on this node has no Python"
        yield Finding(FAIL, venv, "the same path on every node", "absent", reason, f"{venv}/pyvenv.cfg")
    if not context.option("launch_ssh"):
        yield skipped("launch_ssh is false: how the job's user reaches the nodes is the site's own", "ssh")
        return
    yield from _keys(context, launch)


def _keys(context: CheckContext, launch: Json) -> c.Iterator[Finding]:
    seen = context.held("launch")
    host, master = str(context.plan["host"]), str(launch["master"])
    if seen is None or seen["authorized"] is None:
        yield unknown(context.problem("", "launch"), "authorized_keys", "ssh", f"the key of {master}")
        return
    place = f"{seen['home']}/.ssh/authorized_keys"
    if not seen["authorized"]:
        reason = f"{seen['user']} does not reach this node from {master}"
        yield Finding(FAIL, "ssh", f"the key of {master}", "no key of ours", reason, place)
    elif seen["unsafe"]:
        reason = "sshd trusts no keys in a place that others may write: " + ", ".join(seen["unsafe"])
        yield Finding(FAIL, "ssh", "written by their owner only", ", ".join(seen["unsafe"]), reason, place)
    else:
        yield Finding(OK, "ssh", f"the key of {master}", "authorized", "", place)
    if host == master:
        there = ((context.held("watch") or {}).get(CONFIG_PATH) or {}).get("type")
        outcome = OK if there == "file" else FAIL
        reason = "" if outcome == OK else f"{CONFIG_PATH} is not there: ssh would not use the key"
        yield Finding(outcome, "ssh configuration", "present", str(there or "absent"), reason, CONFIG_PATH)


@check(
    "launch.port",
    "The port at which ranks meet is free and not one that connections pick by chance",
    areas=("launch",),
    required=False,
    remedy=(
        "Choose another launch_port, below the range of outgoing connections (sysctl net.ipv4.ip_local_port_range). "
        "A listener may also be a job that runs now."
    ),
)
def port(context: CheckContext) -> c.Iterator[Finding]:
    """Look on the first node for a listener at launch_port, and on every node whether its range holds the port."""
    launch, seen = _launch(context), context.snapshot["launch"]
    if launch is None:
        yield skipped(_NO_JOB)
        return
    if seen["listening"] is None:
        yield skipped("ports are of the machine that runs this")
        return
    number = int(launch["port"])
    subject, expected = f"port {number}", "free"
    if str(context.plan["host"]) == launch["master"] and number in seen["listening"]:
        reason = f"something listens at port {number}: another job would be refused, or meet the wrong ranks"
        yield Finding(WARN, subject, expected, "in use", reason, TABLES[0])
        return
    first, last = seen["ephemeral"] or (0, 0)
    if first <= number <= last:
        reason = f"port {number} is of the range {first} to {last}, from which outgoing connections take theirs"
        yield Finding(WARN, subject, f"outside {first} to {last}", "inside", reason, EPHEMERAL)
        return
    yield Finding(OK, subject, expected, "free", "", TABLES[0])


@check(
    "launch.interface",
    "The network card over which ranks meet is known and up",
    areas=("net.interfaces",),
    required=False,
    remedy="Name the card in launch_interface, such as =eth2, or look at the cable: ip -br link.",
)
def interface(context: CheckContext) -> c.Iterator[Finding]:
    """Look for the card that launch_interface or the environment profile names, and tell its MTU."""
    launch = _launch(context)
    if launch is None:
        yield skipped(_NO_JOB)
        return
    name = str(launch["interface"])
    cards = {str(entry["name"]): entry for entry in context.snapshot["net"]["interfaces"]}
    wanted = str(context.option("launch_interface") or "")
    if not name:
        outcome, said = (FAIL, f"launch_interface {wanted!r}") if wanted else (WARN, "the environment profile")
        up = ", ".join(sorted(card for card, entry in cards.items() if entry["operstate"] == "up")) or "none"
        reason = f"{said} names no card that is up; up are: {up}"
        yield Finding(outcome, wanted or "interface", "a card that is up", up, reason, NET_ROOT)
        return
    observed = f"MTU {cards[name]['mtu']}"
    yield Finding(OK, name, "a card that is up", observed, "", f"{NET_ROOT}/{name}/mtu")


def _launch(context: CheckContext) -> Json | None:
    """Return what the plan expects of a job, None on a host that no job runs on."""
    launch: Json | None = context.plan.get("launch")
    return launch


def _hostfile(context: CheckContext) -> c.Generator[Finding, None, tuple[str, Hostfile] | None]:
    """Return the node's hostfile as it is read; without one say why and return None."""
    launch = _launch(context)
    if launch is None:
        yield skipped(_NO_JOB)
        return None
    path = str(launch["hostfile"])
    seen = (context.held("watch") or {}).get(path)
    if seen is not None and seen["type"] != "file":
        yield skipped(f"{path} is no file: ds.hostfile_present says so")
        return None
    if seen is None or seen["text"] is None:
        why = "it is no text, or longer than what a snapshot holds" if seen else context.problem(path, "watch")
        yield unknown(f"{path}: {why}", path, path)
        return None
    return path, read_hostfile(str(seen["text"]))
