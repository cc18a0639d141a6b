# SPDX-License-Identifier: Apache-2.0
"""A thin runner for podman, with the settings that it needs on small hosts.

podman's own default limits ask for more than an unprivileged host grants
("setrlimit RLIMIT_NOFILE: Operation not permitted"), and crun refuses hosts
whose cgroups are in hybrid mode, so podman is always given its own
containers.conf with modest limits and runc.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from typing import Any

from . import settings

CONTAINERS_CONF = """\
# Written by the lab (instinct_lab/podman.py).
[containers]
default_ulimits = ["nofile=1024:4096", "nproc=4096:4096"]
[engine]
runtime = "runc"
"""


class LabError(RuntimeError):
    """Something the lab needs is missing or failed; the text says what to do."""


def require_tools() -> None:
    """Raise LabError unless this host can run the lab (root, podman, runc, mmdebstrap)."""
    if os.geteuid() != 0:
        raise LabError("the lab needs root: run it as root or through sudo")
    missing = [tool for tool in ("podman", "runc", "mmdebstrap", "ssh-keygen") if not shutil.which(tool)]
    if missing:
        raise LabError(
            f"missing commands: {', '.join(missing)}. Install them with: apt-get install "
            "--no-install-recommends podman runc containernetworking-plugins uidmap mmdebstrap openssh-client"
        )


def environment() -> dict[str, str]:
    """Return the environment for podman; writes its containers.conf when it is not there."""
    path = settings.STATE_DIR / "containers.conf"
    if not path.exists() or path.read_text() != CONTAINERS_CONF:
        path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        path.write_text(CONTAINERS_CONF)
    return {**os.environ, "CONTAINERS_CONF": str(path)}


def run(
    *args: str,
    check: bool = True,
    input: str | None = None,
    capture: bool = True,
    timeout: float | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run `podman ARGS` and return the finished process.

    With capture=False the output goes to the terminal. A non-zero exit raises
    LabError with podman's own words, unless check is False.
    """
    done = subprocess.run(
        ["podman", *args],
        check=False,
        text=True,
        input=input,
        capture_output=capture,
        env=environment(),
        timeout=timeout,
    )
    if check and done.returncode != 0:
        words = " ".join(args[:6])
        raise LabError(f"podman {words} … failed ({done.returncode}): {(done.stderr or done.stdout or '').strip()}")
    return done


def exists(kind: str, name: str) -> bool:
    """Say whether a container, image, network or volume of this name exists."""
    return run(kind, "exists", name, check=False).returncode == 0


def inspect(name: str) -> dict[str, Any] | None:
    """Return what podman says of a container, None when there is no such container."""
    done = run("container", "inspect", name, check=False)
    if done.returncode != 0:
        return None
    first: dict[str, Any] = json.loads(done.stdout)[0]
    return first


def containers() -> list[str]:
    """Return the names of all containers of the lab, running or not."""
    out = run("ps", "-a", "--filter", f"label={settings.LABEL}", "--format", "{{.Names}}").stdout
    # The label alone does not do: a container also has those of its image, which another lab may have built.
    nodes = (settings.node_name(index) for index in range(1, settings.MAX_NODES + 1))
    own = {settings.MIRROR_CONTAINER, *map(settings.container_name, (settings.MAKER, *nodes))}
    return [name for name in out.split() if name in own]


def running(name: str) -> bool:
    """Say whether the container exists and runs."""
    info = inspect(name)
    return bool(info and info["State"]["Running"])


def remove_containers(names: Sequence[str]) -> None:
    """Remove containers at once, running or not; those that do not exist are no error."""
    if names:
        run("rm", "-f", "-i", "-t", "0", *names)


def host_arguments() -> list[str]:
    """Return the --add-host arguments that let every container resolve every other."""
    arguments = [f"--add-host={settings.MIRROR_HOST}:{settings.MIRROR_ADDRESS}"]
    for index in range(1, settings.MAX_NODES + 1):
        name = settings.node_name(index)
        arguments.append(f"--add-host={name}:{settings.node_address(name)}")
    return arguments


def ensure_network() -> None:
    """Create the lab's bridge network; LabError when its subnet is used by something else."""
    if exists("network", settings.NETWORK):
        return
    routes = subprocess.run(["ip", "-o", "route"], check=True, text=True, capture_output=True).stdout
    if settings.SUBNET in routes:
        raise LabError(f"the lab's subnet {settings.SUBNET} is in use on this host: {routes}")
    run(
        "network", "create", "--disable-dns", "--label", settings.LABEL,
        "--subnet", settings.SUBNET, settings.NETWORK,
    )  # fmt: skip
