# SPDX-License-Identifier: Apache-2.0
"""Names, addresses and paths of the lab, in one place.

Nothing here names a registry or a package mirror: the image builder uses the
defaults of the tools it calls.
"""

from __future__ import annotations

import os
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]
LAB_DIR = REPOSITORY / "molecule" / "lab"
FILES_DIR = Path(__file__).resolve().parent / "files"
STATES_DIR = Path(__file__).resolve().parent / "states"
MACHINES_DIR = LAB_DIR / "machines"

STATE_DIR = REPOSITORY / ".lab"
LOCK_FILE = STATE_DIR / "lock"
KEYS_DIR = STATE_DIR / "keys"
NODES_DIR = STATE_DIR / "nodes"
MIRROR_DIR = STATE_DIR / "mirror"
MIRROR_INFO = STATE_DIR / "mirror-info.json"
CLUSTER_FILE = STATE_DIR / "cluster.json"
KNOWN_HOSTS = STATE_DIR / "known_hosts"
INVENTORY_DIR = REPOSITORY / "inventory" / "lab"

# Everything the lab makes in podman carries this prefix and LABEL, so
# that `down` can find it and nothing else.
IMAGE_PREFIX = "instinct-lab"
# Labs beside each other on one machine, such as those of two clones: INSTINCT_LAB=1 to 99 names the others.
INSTANCE = int(os.environ.get("INSTINCT_LAB") or 0)
PREFIX = f"{IMAGE_PREFIX}-{INSTANCE}" if INSTANCE else IMAGE_PREFIX
# By its value, not its key: a container takes the labels of its image over, which another lab may have built.
LABEL = f"{IMAGE_PREFIX}={PREFIX}"
NETWORK = PREFIX
# Outside 10.88.0.0/16, which is the network that podman itself starts with.
SUBNET_PREFIX = f"10.188.{77 + INSTANCE}."
SUBNET = f"{SUBNET_PREFIX}0/24"

MIRROR_HOST = "mirror.lab"
MIRROR_ADDRESS = SUBNET_PREFIX + "2"
MIRROR_CONTAINER = f"{PREFIX}-mirror"
MIRROR_URL = f"http://{MIRROR_HOST}"
APT_PROXY_PORT = 3142
APT_CACHE_VOLUME = f"{PREFIX}-aptcache"

# Node N has the address 10.188.77.(10 + N) in the first lab. Every container knows the names of
# all possible nodes, so that a later `up -N` needs no change to running ones.
FIRST_NODE_OFFSET = 10
MAX_NODES = 64
# The node in which a state is installed before it becomes an image; nobody can ask for it.
MAKER = "maker"
MAKER_ADDRESS = SUBNET_PREFIX + "9"

SSH_USER = "deploy"
KERNEL = "5.15.0-91-generic"

DEBIAN_SUITE = "bookworm"
DEBIAN_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")

# Locked memory of a node's services, in bytes: the soft limit a stock Ubuntu
# gives, and the most that this host may grant without CAP_SYS_RESOURCE.
MEMLOCK_SOFT = 64 * 1024
MEMLOCK_HARD = 8 * 1024 * 1024


def node_name(index: int) -> str:
    """Return the host name of the node with this index (from 1)."""
    return f"node{index}"


def node_index(name: str) -> int:
    """Return the index of a node name; ValueError when it is not one."""
    digits = name.removeprefix("node")
    if not name.startswith("node") or not digits.isdigit() or not 1 <= int(digits) <= MAX_NODES:
        raise ValueError(f"{name!r} is not a lab node: node1 to node{MAX_NODES}")
    return int(digits)


def node_address(name: str) -> str:
    """Return the address of a node on the lab's network."""
    if name == MAKER:
        return MAKER_ADDRESS
    return f"{SUBNET_PREFIX}{FIRST_NODE_OFFSET + node_index(name)}"


def node_mac(name: str) -> str:
    """Return a node's hardware address. It never changes: otherwise the host keeps sending to the old one for a minute."""
    return f"02:49:4c:4d:{INSTANCE:02x}:{int(node_address(name).rpartition('.')[2]):02x}"


def container_name(name: str) -> str:
    """Return podman's name for a node."""
    return f"{PREFIX}-{name}"
