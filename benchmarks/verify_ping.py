#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measure verify.yml against `ansible -m ping` on the same nodes in the same run, and print JSON.

    .venv/bin/python benchmarks/verify_ping.py -i inventory/lab [--rounds 5]

The nodes are measured as they are, and the verdicts are told: nodes that fail many checks cost more printing.
The two take turns, so that what else the machine does falls on both, and the fastest round of each counts: a
slower one measures the neighbours. Exit code 1 when the ratio is above the target.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

REPOSITORY = pathlib.Path(__file__).resolve().parents[1]
TOOLS = pathlib.Path(sys.executable).parent
# What the design asks for: one module call a node, and the rest on the controller.
TARGET = 1.6


def timed(command: list[str], folder: pathlib.Path) -> tuple[float, subprocess.CompletedProcess[str]]:
    """Run a command from the repository and return the seconds that it took, and what it said."""
    environment = {**os.environ, "ANSIBLE_CONFIG": str(REPOSITORY / "ansible.cfg"), "LC_ALL": "C.UTF-8"}
    log = folder / "output"
    with log.open("w") as stream:
        began = time.monotonic()
        done = subprocess.run(
            command, cwd=REPOSITORY, stdout=stream, stderr=subprocess.STDOUT, env=environment, check=False
        )
        seconds = time.monotonic() - began
    return seconds, subprocess.CompletedProcess(command, done.returncode, log.read_text(encoding="utf-8"), "")


def ping(inventory: str, folder: pathlib.Path) -> float:
    """Return the seconds of a ping of every node. Raises SystemExit where one does not answer."""
    seconds, done = timed([str(TOOLS / "ansible"), "-i", inventory, "all", "-m", "ansible.builtin.ping"], folder)
    if done.returncode != 0:
        raise SystemExit(f"not every node answers a ping:\n{done.stdout[-2000:]}")
    return seconds


def verify(inventory: str, folder: pathlib.Path) -> tuple[float, dict[str, str]]:
    """Return the seconds of verify.yml and each node's verdict. A node that fails its checks is measured too."""
    command = [str(TOOLS / "ansible-playbook"), "-i", inventory, "playbooks/verify.yml"]
    seconds, done = timed([*command, "-e", f"bringup_report_dir={folder / 'reports'}"], folder)
    try:
        results = json.loads((folder / "reports/latest/results.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SystemExit(f"verify.yml wrote no results ({error}):\n{done.stdout[-2000:]}") from error
    unjudged = [host for host, node in results["nodes"].items() if not node["checks"]]
    if unjudged or not results["complete"]:
        raise SystemExit(f"not every node was judged: {', '.join(unjudged)}\n{done.stdout[-2000:]}")
    return seconds, {host: str(node["verdict"]) for host, node in results["nodes"].items()}


def main() -> int:
    """Measure, print one JSON object, and say by the exit code whether the target was met."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-i", "--inventory", default="inventory/lab")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    pings: list[float] = []
    verifies: list[float] = []
    verdicts: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="instinct-bench-") as name:
        folder = pathlib.Path(name)
        # The first contact opens the connections and compiles, which neither of the two shall pay for.
        ping(options.inventory, folder)
        for _round in range(options.rounds):
            pings.append(ping(options.inventory, folder))
            seconds, verdicts = verify(options.inventory, folder)
            verifies.append(seconds)
    ratio = min(verifies) / min(pings)
    print(
        json.dumps(
            {
                "benchmark": "verify_ping",
                "nodes": len(verdicts),
                "verdicts": verdicts,
                "ping_seconds": [round(seconds, 2) for seconds in pings],
                "verify_seconds": [round(seconds, 2) for seconds in verifies],
                "ratio": round(ratio, 2),
                "target": TARGET,
                "met": ratio <= TARGET,
            },
            indent=1,
        )
    )
    return 0 if ratio <= TARGET else 1


if __name__ == "__main__":
    raise SystemExit(main())
