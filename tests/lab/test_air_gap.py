# SPDX-License-Identifier: Apache-2.0
"""The whole journey with the outside cut off, from a mirror that holds what playbooks/mirror.yml lists and no more.

What the distribution gives comes from the lab's stand-in for a site's mirror of it; the vendor's files may not.
"""

from __future__ import annotations

import functools
import http.server
import json
import shutil
import subprocess
import threading
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from instinct_lab import podman, settings

from .conftest import Lab, Playbook, Run

pytestmark = [pytest.mark.lab, pytest.mark.slow]
NODE = "node2"
ADDRESS = settings.node_address(NODE)
# The controller, as a node sees it.
CONTROLLER = f"{settings.SUBNET_PREFIX}1"
# Whatever a node sends beyond the lab's own network is refused by the controller, over reboots of the node too.
WALL = ["FORWARD", "-s", ADDRESS, "!", "-d", settings.SUBNET, "-j", "REJECT"]


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves files, never a listing, and notes who asked for what."""

    asked: ClassVar[list[tuple[str, str]]] = []

    def list_directory(self, path: Any) -> None:
        """Answer that there is nothing."""
        self.send_error(404)

    def log_message(self, format: str, *args: Any) -> None:
        """Note the request in place of printing it."""
        self.asked.append((self.client_address[0], urllib.parse.unquote(self.path)))


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the reduced mirror."""
    return tmp_path_factory.mktemp("mirror")


@pytest.fixture(scope="module")
def url(root: Path) -> Iterator[str]:
    """Serve the reduced mirror and return its URL."""
    server = http.server.ThreadingHTTPServer((CONTROLLER, 0), functools.partial(Handler, directory=str(root)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://{CONTROLLER}:{server.server_address[1]}"
    server.shutdown()


@pytest.fixture(scope="module")
def wall() -> Iterator[None]:
    """Let the node reach the lab's network only."""
    subprocess.run(["iptables", "-I", *WALL], check=True)
    yield
    subprocess.run(["iptables", "-D", *WALL], check=True)


def paths_of(listed: dict[str, Any]) -> set[str]:
    """Return the paths of everything that a list names."""
    files = [*listed["files"], *listed["wheel_files"], listed["installer"]]
    urls = [*listed["indexes"], *(file["url"] for file in files)]
    return {urllib.parse.unquote(urllib.parse.urlsplit(url).path) for url in urls}


def reduce(paths: set[str], root: Path) -> None:
    """Copy what the list names from the lab's mirror, and nothing else."""
    for path in paths:
        name = f"{path}index.html" if path.endswith("/") else path
        target = root / name.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(settings.MIRROR_DIR / name.lstrip("/"), target)


def test_the_list_is_enough_for_the_whole_journey_without_the_outside(
    lab: Lab, playbook: Playbook, tmp_path: Path, root: Path, url: str, wall: None
) -> None:
    lab.command("reset", NODE)
    lock = tmp_path / "mirror-lock.json"
    done = playbook(
        "playbooks/mirror.yml", "--limit", NODE, bringup_mirror_file=str(lock), bringup_mirror_codenames=["jammy"]
    )
    assert done.code == 0, done.output
    paths = paths_of(json.loads(lock.read_text(encoding="utf-8"))["jammy"])
    assert {path.partition("/")[2].partition("/")[0] for path in paths} == {"rocm", "amdgpu", "amdgpu-install", "whl"}
    reduce(paths, root)

    site = {
        "rocm_base_url": url,
        "pytorch_base_url": f"{url}/whl",
        "pytorch_wheelhouse": str(tmp_path / "wheelhouse"),
    }
    # The lab's nodes ask a cache for everything but the lab's mirror; the site's mirror is asked directly too.
    direct = f'Acquire::http::Proxy::{CONTROLLER} "DIRECT";'
    lab.on(NODE, f"echo '{direct}' >/etc/apt/apt.conf.d/02site-mirror")
    # The wall holds: the network's own gateway answers no further than itself.
    lab.on(NODE, "! timeout 5 bash -c 'exec 3<>/dev/tcp/192.0.2.1/80' 2>/dev/null")
    began = len(podman.run("logs", settings.MIRROR_CONTAINER).stdout.splitlines())
    run = playbook("site.yml", "--limit", NODE, **site)
    assert run.code == 0, run.output
    assert run.results["nodes"][NODE]["verdict"] == "pass"
    # The lab's own mirror gave only what is the distribution's.
    log = podman.run("logs", settings.MIRROR_CONTAINER).stdout.splitlines()[began:]
    asked = {line.split('"')[1].split()[1] for line in log if line.startswith(f"{ADDRESS} ") and line.count('"') > 1}
    assert {path for path in asked if not path.startswith("/ubuntu/")} == set()
    # The controller brought the wheels.
    assert not [path for client, path in Handler.asked if client == ADDRESS and path.startswith("/whl/")]
    again = playbook("site.yml", "--limit", NODE, **site)
    assert "changed=0" in again.output


@pytest.mark.parametrize(
    "pattern",
    ["rocm/apt/**/rocm-core_*.deb", "amdgpu/**/amdgpu-dkms_*.deb", "whl/**/torch-*.whl", "amdgpu-install/**/*.deb",
     "rocm/apt/**/Packages.gz", "whl/**/numpy/index.html"],
)  # fmt: skip
def test_one_missing_file_is_named(playbook: Playbook, tmp_path: Path, root: Path, url: str, pattern: str) -> None:
    (file,) = root.glob(pattern)
    away = tmp_path / "away"
    shutil.move(file, away)
    try:
        lacking = complete(playbook, tmp_path, url)
    finally:
        shutil.move(away, file)
    assert lacking.code != 0
    named = str(file.relative_to(root)).removesuffix("index.html")
    assert named in urllib.parse.unquote("".join(lacking.output.split()))


def test_a_whole_mirror_is_known_to_be_whole(playbook: Playbook, tmp_path: Path, url: str) -> None:
    done = complete(playbook, tmp_path, url)
    assert done.code == 0, done.output


def complete(playbook: Playbook, tmp_path: Path, url: str) -> Run:
    """Ask whether the reduced mirror is whole."""
    return playbook(
        "playbooks/mirror.yml",
        "--limit",
        NODE,
        rocm_base_url=url,
        pytorch_base_url=f"{url}/whl",
        bringup_mirror_complete=True,
        bringup_mirror_codenames=["jammy"],
        bringup_mirror_file=str(tmp_path / "mirror-lock.json"),
    )
