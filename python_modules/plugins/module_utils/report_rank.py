#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Made by instinct-bringup; changes by hand are overwritten.
"""Tell in one line what a rank of a job has: its place, its environment, its libraries, and whether it met rank 0.

The launchers start it in place of a training script. It uses the standard library only, and Python 3.8.
"""

from __future__ import annotations

import errno
import importlib.metadata
import json
import os
import platform
import socket
import sys
import time
from typing import Dict, List, Optional, Set

PREFIXES = ("NCCL_", "RCCL_", "HSA_", "HIP_", "ROCR_", "GLOO_", "UCX_")
LIBRARIES = ("torch", "deepspeed", "numpy", "transformers", "accelerate")
SECONDS = 60.0


def number(name: str) -> Optional[int]:
    """Return a variable as a number, None where it is none."""
    text = os.environ.get(name, "")
    return int(text) if text.isdigit() else None


def version(name: str) -> Optional[str]:
    """Return the version of a distribution of this Python, None where it is not installed."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def line_of(path: str, word: str = "") -> Optional[str]:
    """Return what stands behind a word in the first line that begins with it, None where there is none."""
    try:
        with open(path, encoding="ascii", errors="replace") as stream:
            return next((line[len(word) :].strip() for line in stream if line.startswith(word)), None)
    except OSError:
        return None


def memory_nodes(cpus: Optional[str]) -> List[int]:
    """Return the NUMA nodes, as sysfs tells them, of a list of processors such as 0-3,8."""
    wanted = numbers(cpus or "")
    root = "/sys/devices/system/node"
    found: List[int] = []
    for name in sorted(os.listdir(root)) if os.path.isdir(root) else []:
        is_node = name.startswith("node") and name[4:].isdigit()
        if is_node and wanted & numbers(line_of("%s/%s/cpulist" % (root, name)) or ""):
            found.append(int(name[4:]))
    return found


def numbers(text: str) -> Set[int]:
    """Return the numbers of a list such as 0-3,8."""
    found: Set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        if first.strip().isdigit():
            found.update(range(int(first), int(last or first) + 1))
    return found


def meet(rank: Optional[int], world: Optional[int]) -> str:
    """Let every rank reach rank 0 at MASTER_ADDR:MASTER_PORT; return what went wrong, "" where nothing did."""
    address, port = os.environ.get("MASTER_ADDR", ""), number("MASTER_PORT")
    if rank is None or world is None or not address or port is None:
        return "RANK, WORLD_SIZE, MASTER_ADDR or MASTER_PORT is not set"
    try:
        return wait_for(world - 1, port) if rank == 0 else reach(address, port)
    except OSError as error:
        return "%s:%s: %s" % (address, port, error)


def wait_for(others: int, port: int) -> str:
    """Take the calls of the other ranks. torchrun itself answers at the port; then rank 0 need not."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("", port))
        except OSError as error:
            if error.errno != errno.EADDRINUSE or "TORCHELASTIC_RUN_ID" not in os.environ:
                raise
            return ""
        listener.listen(max(others, 1))
        end, met = time.monotonic() + SECONDS, 0
        while met < others:
            listener.settimeout(max(end - time.monotonic(), 0.01))
            try:
                caller, _where = listener.accept()
            except socket.timeout:
                return "%d of %d ranks did not call within %d seconds" % (others - met, others, SECONDS)
            caller.close()
            met += 1
    return ""


def reach(address: str, port: int) -> str:
    """Call rank 0, which may not listen yet."""
    end = time.monotonic() + SECONDS
    while True:
        try:
            socket.create_connection((address, port), timeout=5).close()
            return ""
        except OSError as error:
            if time.monotonic() > end or isinstance(error, socket.gaierror):
                return "%s:%s: %s" % (address, port, error)
            time.sleep(0.2)


def main() -> None:
    """Meet the others, and print the line."""
    rank, world = number("RANK"), number("WORLD_SIZE")
    card = os.environ.get("GLOO_SOCKET_IFNAME", "")
    versions: Dict[str, Optional[str]] = {"python": platform.python_version()}
    versions.update({name: version(name) for name in LIBRARIES})
    cpus = line_of("/proc/self/status", "Cpus_allowed_list:")
    report = {
        "rank": rank,
        "world_size": world,
        "local_rank": number("LOCAL_RANK"),
        "host": os.environ.get("LAUNCH_HOST"),
        "hostname": socket.gethostname(),
        "master": "%s:%s" % (os.environ.get("MASTER_ADDR"), os.environ.get("MASTER_PORT")),
        "cpus": cpus,
        "memory_nodes": memory_nodes(cpus),
        "memory_allowed": line_of("/proc/self/status", "Mems_allowed_list:"),
        "mtu": line_of("/sys/class/net/%s/mtu" % card) if card else None,
        "trouble": meet(rank, world),
        "environment": {name: value for name, value in os.environ.items() if name.startswith(PREFIXES)},
        "versions": versions,
    }
    # One write, which lines of other ranks cannot fall into.
    sys.stdout.flush()
    os.write(1, ("INSTINCT-RANK %s\n" % json.dumps(report, sort_keys=True)).encode("ascii"))


if __name__ == "__main__":
    main()
