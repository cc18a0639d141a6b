# SPDX-License-Identifier: Apache-2.0
"""Measure what the toolkit costs beside what it does, as ratios in one run on the lab's nodes; prints JSON.

first_run: site.yml on a bare node, without the reboot, against the same apt and pip commands by hand over one ssh.
second_run: site.yml on eight nodes where nothing is to change, against `ansible -m ping` on the same nodes.
It leaves the eight nodes brought up, which is how benchmarks/verify_ping.py then finds them.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
import typing as t
from pathlib import Path

import yaml

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(REPOSITORY / "molecule" / "lab"), str(REPOSITORY / "collections")]
from ansible_collections.instinct.bringup.plugins.plugin_utils.catalog import default_catalog  # noqa: E402
from instinct_lab import settings  # noqa: E402

NODES = 8
# Of these, the one that is brought up from bare for first_run.
NODE = "node2"
CODENAME = "jammy"
VENV = "/opt/instinct-bringup/venv"
TARGETS = {"first_run": 1.25, "second_run": 2.0}
# A short measure is taken so often, in turn with what it is held against, and the median counts.
REPEATS = 5


def timed(command: list[str | Path], *, stdin: bytes = b"", fails: bool = False) -> float:
    """Return how long a command takes in seconds. fails: it may end with another status than 0."""
    environment = {**os.environ, "ANSIBLE_CONFIG": str(REPOSITORY / "ansible.cfg"), "LC_ALL": "C.UTF-8"}
    began = time.monotonic()
    done = subprocess.run(
        command,
        cwd=REPOSITORY,
        env=environment,
        input=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    took = time.monotonic() - began
    if done.returncode != 0 and not fails:
        sys.exit(f"{command[0]} failed:\n{done.stdout.decode(errors='replace')[-4000:]}")
    return took


def tool(name: str) -> Path:
    """Return a program of the environment that runs this."""
    return Path(sys.executable).with_name(name)


def lab(*words: str) -> None:
    """Run a command of the lab."""
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY / "molecule" / "lab")}
    subprocess.run(
        [sys.executable, "-m", "instinct_lab", *words],
        cwd=REPOSITORY,
        env=environment,
        check=True,
        stdout=subprocess.DEVNULL,
    )


def by_hand() -> float:
    """Return the seconds that the commands of by_hand.sh take over one ssh."""
    variables = yaml.safe_load((settings.INVENTORY_DIR / "group_vars" / "gpu_nodes.yml").read_text(encoding="utf-8"))
    entry = default_catalog().release(variables["rocm_release"])
    url = settings.MIRROR_URL
    info = json.loads(settings.MIRROR_INFO.read_text(encoding="utf-8"))
    lock = (REPOSITORY / info["pytorch_lock"][entry["release"]]).read_bytes()
    script = (REPOSITORY / "benchmarks" / "by_hand.sh").read_text(encoding="utf-8")
    arguments = [
        url,
        f"{url}/{entry['key_path']}",
        CODENAME,
        entry["apt_path"],
        entry["driver"]["path"],
        f"{url}/{entry['installer']['path'].format(codename=CODENAME)}",
        VENV,
        f"{url}/whl/{entry['torch']['index_tag']}",
    ]
    remote = "cat >/tmp/lock; sudo sh -c {} by_hand {} </tmp/lock".format(
        _quoted(script), " ".join(map(_quoted, arguments))
    )
    ssh = ["ssh", "-o", "BatchMode=yes", "-o", f"UserKnownHostsFile={settings.KNOWN_HOSTS}", "-i",
           str(settings.KEYS_DIR / "id_ed25519"), f"{settings.SSH_USER}@{settings.node_address(NODE)}", remote]  # fmt: skip
    return timed(ssh, stdin=lock)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def site(*words: str, **variables: object) -> list[str | Path]:
    """Return the command line of site.yml on the lab."""
    extra = json.dumps(variables)
    return [tool("ansible-playbook"), "-i", settings.INVENTORY_DIR, "site.yml", "-e", extra, *words]


def measure(name: str, ours: list[float], other: list[float]) -> dict[str, t.Any]:
    """Return one ratio with what it is made of, in seconds."""
    seconds, reference = statistics.median(ours), statistics.median(other)
    ratio = round(seconds / reference, 2)
    return {
        "ratio": ratio,
        "target": TARGETS[name],
        "met": ratio <= TARGETS[name],
        "seconds": round(seconds, 1),
        "reference_seconds": round(reference, 1),
    }


def main() -> int:
    """Measure, print, and fail where a target is missed."""
    lab("up", "-N", str(NODES))
    # Once before: what the lab's package cache does not have yet would be counted to the first of the two.
    lab("reset", NODE)
    by_hand()
    lab("reset", NODE)
    hand = by_hand()
    lab("reset", NODE)
    # Without the reboot, which by_hand does not do either; verify then rightly says that one is pending.
    ours = timed(site("--limit", NODE, bringup_reboot=False), fails=True)
    results = {"first_run": measure("first_run", [ours], [hand])}
    timed(site())
    ping = [tool("ansible"), "-i", settings.INVENTORY_DIR, "all", "-m", "ansible.builtin.ping"]
    timed(ping)
    rounds = [(timed(site()), timed(ping)) for _ in range(REPEATS)]
    results["second_run"] = {
        **measure("second_run", [run for run, _ping in rounds], [seconds for _run, seconds in rounds]),
        "nodes": NODES,
    }
    print(json.dumps(results, indent=2))
    return 0 if all(result["met"] for result in results.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
