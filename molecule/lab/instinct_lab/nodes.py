# SPDX-License-Identifier: Apache-2.0
"""The simulated nodes: containers, their keys, their hardware, their states."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from . import podman, settings, states_image
from .hardware import build, overrides
from .hardware.machine import Machine, load, names
from .podman import LabError

# State of a node when it is made: its release.
STATES = {"bare": "jammy", "bare-focal": "focal", "old-rocm": "focal"}
DEFAULTS = (("old-rocm", "mi210-8gpu-2hives"), ("bare", "mi210-4gpu-quad"))
START_SECONDS = 60.0
_VERSION_LABEL = "instinct-lab-node"


@dataclass
class Node:
    """A node as asked for. `changes` are the KEY=VALUE edits of its machine that are in force."""

    name: str
    state: str
    machine: str
    changes: list[str] = field(default_factory=list)

    @property
    def release(self) -> str:
        """The Ubuntu release that the node is presented as."""
        return STATES[self.state]

    @property
    def folder(self) -> Path:
        """The node's folder on the controller, mounted into the container as /lab."""
        return settings.NODES_DIR / self.name

    @property
    def container(self) -> str:
        """Podman's name of the node."""
        return settings.container_name(self.name)

    def load_machine(self) -> Machine:
        """Return the node's machine with the changes applied."""
        return overrides.apply(load(self.machine), self.changes)


def make_node(name: str, state: str, machine_name: str) -> Node:
    """Return a checked node; LabError names what is known."""
    try:
        settings.node_index(name)
    except ValueError as error:
        raise LabError(str(error)) from None
    if state not in STATES:
        raise LabError(f"{name}: unknown state {state!r}: known are {', '.join(STATES)}")
    load(machine_name)
    return Node(name, state, machine_name)


def default_nodes(count: int) -> list[Node]:
    """Return the usual first two nodes, then bare ones on the machines in turn."""
    known = names()
    chosen = []
    for index in range(1, count + 1):
        state, shape = DEFAULTS[index - 1] if index <= len(DEFAULTS) else ("bare", known[(index - 3) % len(known)])
        chosen.append(make_node(settings.node_name(index), state, shape))
    return chosen


def load_cluster() -> list[Node]:
    """Return the nodes that the last `up` made, in order."""
    if not settings.CLUSTER_FILE.exists():
        return []
    raw: list[dict[str, Any]] = json.loads(settings.CLUSTER_FILE.read_text())
    return [Node(**entry) for entry in raw]


def save_cluster(nodes: list[Node]) -> None:
    """Remember the nodes for the commands that come later."""
    settings.STATE_DIR.mkdir(mode=0o755, parents=True, exist_ok=True)
    settings.CLUSTER_FILE.write_text(json.dumps([asdict(node) for node in nodes], indent=1) + "\n")


def find(name: str) -> Node:
    """Return the node of this name; LabError when it is not part of the lab."""
    for node in load_cluster():
        if node.name == name:
            return node
    raise LabError(f"no node {name!r}: the lab has {', '.join(n.name for n in load_cluster()) or 'none'}")


def raise_inotify_limit() -> str | None:
    """Let many systemd instances run: each needs inotify instances of the host. Returns a warning or None."""
    path = Path("/proc/sys/fs/inotify/max_user_instances")
    if int(path.read_text()) >= 1024:
        return None
    try:
        path.write_text("1024\n")
    except OSError as error:
        return f"fs.inotify.max_user_instances stays at {path.read_text().strip()} ({error}): expect about 20 nodes"
    return None


def ensure_client_key() -> Path:
    """Return the private key with which the controller reaches the nodes, made at the first call."""
    key = settings.KEYS_DIR / "id_ed25519"
    if not key.exists():
        settings.KEYS_DIR.mkdir(mode=0o700, parents=True, exist_ok=True)
        _keygen(key, "instinct-lab")
    return key


def _keygen(path: Path, comment: str) -> None:
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", str(path)], check=True
    )  # fmt: skip


def prepare(node: Node) -> None:
    """Make the node's folder: host key, authorized key, hardware. What is there is brought up to date."""
    ssh = node.folder / "ssh"
    ssh.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not (ssh / "ssh_host_ed25519_key").exists():
        _keygen(ssh / "ssh_host_ed25519_key", node.name)
    shutil.copyfile(ensure_client_key().with_suffix(".pub"), ssh / "authorized_keys")
    build.write_live(node.load_machine(), node.folder / "hardware")


def create(node: Node, image_ref: str) -> None:
    """Create and start the node's container from an image; an old one of the name goes first."""
    podman.remove_containers([node.container])
    # Whatever the old node has written into its /sys goes with it.
    shutil.rmtree(node.folder / "hardware", ignore_errors=True)
    prepare(node)
    podman.run(
        "create", "--name", node.container, "--hostname", node.name,
        "--label", settings.LABEL, "--label", f"{_VERSION_LABEL}={_version(node, image_ref)}",
        # What systemd and the mounts of the boot unit need. Not --privileged: that would
        # also put the host's own disks into every node's /dev.
        "--cap-add=ALL", "--security-opt=seccomp=unconfined", "--security-opt=apparmor=unconfined",
        "--security-opt=unmask=ALL", "--systemd=always", "--restart=always",
        "--network", settings.NETWORK, "--ip", settings.node_address(node.name),
        "--mac-address", settings.node_mac(node.name),
        *podman.host_arguments(),
        # One limit on the command line makes podman forget those of containers.conf.
        "--ulimit", f"memlock={settings.MEMLOCK_SOFT}:{settings.MEMLOCK_HARD}",
        "--ulimit", "nofile=1024:4096", "--ulimit", "nproc=4096:4096",
        "--volume", f"{node.folder / 'hardware'}:/lab/hardware",
        "--volume", f"{node.folder / 'ssh'}:/lab/ssh:ro",
        image_ref, "/sbin/init",
    )  # fmt: skip
    _copy_distribution_source(node)
    podman.run("start", node.container)


def _copy_distribution_source(node: Node) -> None:
    """Add the stand-in for the distribution's archive, once there is a mirror with its key."""
    key = settings.MIRROR_DIR / "rocm" / "rocm.gpg.key"
    if not key.exists():
        return
    with tempfile.TemporaryDirectory(prefix="instinct-lab-") as scratch:
        etc = Path(scratch) / "etc" / "apt"
        for folder in (etc / "keyrings", etc / "sources.list.d"):
            folder.mkdir(parents=True)
        shutil.copyfile(key, etc / "keyrings" / "lab-distribution.asc")
        (etc / "sources.list.d" / "lab-distribution.list").write_text(
            "# Lab stand-in for the packages of Ubuntu's universe that matter to ROCm.\n"
            f"deb [signed-by=/etc/apt/keyrings/lab-distribution.asc] {settings.MIRROR_URL}/ubuntu "
            f"{node.release} universe\n"
        )
        podman.run("cp", f"{scratch}/etc/.", f"{node.container}:/etc")


def wait_systemd(node: Node) -> None:
    """Wait until systemd has started everything; LabError with what failed, or after START_SECONDS."""
    deadline = time.monotonic() + START_SECONDS
    while True:
        state = podman.run("exec", node.container, "systemctl", "is-system-running", "--wait", check=False)
        said = state.stdout.strip() or state.stderr.strip()
        if said == "running":
            return
        if said == "degraded":
            failed = podman.run("exec", node.container, "systemctl", "--failed", "--plain", "--no-legend", check=False)
            raise LabError(f"{node.name}: systemd is degraded: {failed.stdout.strip()}")
        if time.monotonic() > deadline:
            raise LabError(f"{node.name} is not ready after {START_SECONDS:.0f} s: systemd says {said!r}")
        time.sleep(0.2)


def wait_ready(node: Node) -> None:
    """Wait until systemd runs and ssh answers as the lab's user; LabError with the reason after START_SECONDS."""
    wait_systemd(node)
    deadline = time.monotonic() + START_SECONDS
    while (answer := ssh(node, "true")).returncode != 0:
        if time.monotonic() > deadline:
            raise LabError(f"{node.name}: ssh does not answer after {START_SECONDS:.0f} s: {answer.stderr.strip()}")
        time.sleep(0.2)


def ssh_options() -> list[str]:
    """Return the ssh options that every use of the lab's nodes shares."""
    return [
        "-o", f"UserKnownHostsFile={settings.KNOWN_HOSTS}", "-o", "StrictHostKeyChecking=yes",
        "-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes", "-o", "ConnectTimeout=5",
        "-i", str(ensure_client_key()),
    ]  # fmt: skip


def ssh(node: Node, command: str) -> subprocess.CompletedProcess[str]:
    """Run a command on the node over ssh as the lab's user."""
    target = f"{settings.SSH_USER}@{settings.node_address(node.name)}"
    return subprocess.run(
        ["ssh", *ssh_options(), target, command], check=False, text=True, capture_output=True
    )  # fmt: skip


def write_known_hosts(nodes: list[Node]) -> None:
    """Pin the host keys of all nodes."""
    lines = []
    for node in nodes:
        kind, key, *_ = (node.folder / "ssh" / "ssh_host_ed25519_key.pub").read_text().split()
        lines.append(f"{node.name},{settings.node_address(node.name)} {kind} {key}")
    settings.KNOWN_HOSTS.write_text("\n".join(lines) + "\n")


def start_all(nodes: list[Node], fresh: bool) -> list[Node]:
    """Start nodes, keeping those that run unless `fresh`; returns those that were made anew."""
    podman.ensure_network()
    images = {node.state: states_image.ensure(node.state, STATES[node.state]) for node in nodes}
    made = [node for node in nodes if fresh or not _is_current(node, images[node.state])]
    kept = [node for node in nodes if node not in made]
    with ThreadPoolExecutor(max_workers=4) as pool:
        list(pool.map(lambda node: create(node, images[node.state]), made))
        list(pool.map(_resume, kept))
    return made


def _version(node: Node, image_ref: str) -> str:
    """Name what a container was made from; another clone of the repository has other folders."""
    return f"{image_ref} {node.folder}"


def _is_current(node: Node, image_ref: str) -> bool:
    info = podman.inspect(node.container)
    if info is None or info["State"]["Status"] in ("created", "configured"):
        # A start that failed leaves such a container.
        return False
    return bool(info["Config"]["Labels"].get(_VERSION_LABEL) == _version(node, image_ref))


def _resume(node: Node) -> None:
    prepare(node)
    if podman.running(node.container):
        podman.run("exec", node.container, "/usr/lib/instinct-lab/refresh", check=False)
    else:
        podman.run("start", node.container)


def wait_all(nodes: list[Node]) -> None:
    """Wait for all nodes side by side."""
    with ThreadPoolExecutor(max_workers=4) as pool:
        list(pool.map(wait_ready, nodes))


def change_hardware(node: Node, changes: list[str], reset: bool) -> Node:
    """Rebuild the node's live tree with more changes, or with none, without restarting it."""
    node.changes = [] if reset else [*node.changes, *changes]
    rebuild(node)
    save_cluster([node if other.name == node.name else other for other in load_cluster()])
    return node


def rebuild(node: Node) -> None:
    """Bring the live tree of a running node in line with its machine and changes."""
    build.write_live(node.load_machine(), node.folder / "hardware")
    podman.run("exec", node.container, "/usr/lib/instinct-lab/refresh")


def remove(nodes: list[Node]) -> None:
    """Remove nodes: their containers and their folders."""
    podman.remove_containers([node.container for node in nodes])
    for node in nodes:
        shutil.rmtree(node.folder, ignore_errors=True)


def remove_all() -> None:
    """Remove every container of the lab and its network."""
    podman.remove_containers(podman.containers())
    if podman.exists("network", settings.NETWORK):
        podman.run("network", "rm", "-f", settings.NETWORK)
