# SPDX-License-Identifier: Apache-2.0
"""Run the mirror's container and switch what it serves.

The tree is mounted read-only; `sign`, `unsign` and `serve_as` change the files in it, with no restart.
"""

from __future__ import annotations

import dataclasses
import hashlib
import http.client
import shutil
import socket
import time
from pathlib import Path

from instinct_lab import image, podman, settings

from . import build, signing
from .data import FILES_DIR

PACKAGES = ["nginx-light", "apt-cacher-ng"]
# Always the same, so that no neighbour holds a stale address for seconds after the container was made anew.
MAC = "02:49:4c:4d:00:02"
# Seconds that a freshly started container gets until both ports answer.
START_TIMEOUT = 30.0
_VERSION_LABEL = "instinct-lab-mirror"


@dataclasses.dataclass(frozen=True)
class MirrorStatus:
    """What the mirror does now. `signatures` is the variant that the vendor's suites carry (signing.VARIANTS)."""

    running: bool
    answers: bool
    cache_answers: bool
    signatures: str | None
    content_hash: str | None


def start() -> MirrorStatus:
    """Build the tree when needed, start the container when needed, and wait until it answers.

    Raises:
        podman.LabError: podman failed, or the mirror did not answer in time.
    """
    info = build.build(settings.MIRROR_DIR)
    podman.ensure_network()
    ref = image.ensure_derived("mirror", packages=PACKAGES)
    config = _stage_config()
    version = _version(info.content_hash, ref, config)
    if not _up_to_date(version):
        if podman.exists("container", settings.MIRROR_CONTAINER):
            podman.remove_containers([settings.MIRROR_CONTAINER])
        podman.run(
            "run", "--detach", "--name", settings.MIRROR_CONTAINER, "--hostname", settings.MIRROR_HOST,
            "--label", settings.LABEL, "--label", f"{_VERSION_LABEL}={version}",
            "--network", settings.NETWORK, "--ip", settings.MIRROR_ADDRESS, "--mac-address", MAC, "--restart", "always",
            "--volume", f"{settings.MIRROR_DIR}:/srv/mirror:ro", "--volume", f"{config}:/opt/lab-mirror:ro",
            "--volume", f"{settings.APT_CACHE_VOLUME}:/var/cache/apt-cacher-ng",
            ref, "/bin/sh", "/opt/lab-mirror/serve.sh",
        )  # fmt: skip
    elif not (_answers() and _port_open(settings.APT_PROXY_PORT)):
        podman.run("kill", "--signal", "USR2", settings.MIRROR_CONTAINER)
    _wait(True)
    return status()


def stop() -> None:
    """Halt both servers: port 80 and the cache's port refuse connections. The container stays, `start` resumes it."""
    if podman.running(settings.MIRROR_CONTAINER):
        podman.run("kill", "--signal", "USR1", settings.MIRROR_CONTAINER)
        _wait(False)


def sign() -> None:
    """Sign every vendor suite with the lab's key."""
    serve_as("signed")


def unsign() -> None:
    """Serve every vendor suite without a signature: InRelease is plain text, Release.gpg is gone."""
    serve_as("unsigned")


def serve_as(variant: str) -> None:
    """Serve the vendor's suites as one of signing.VARIANTS. The distribution's suites stay signed."""
    signing.apply(settings.MIRROR_DIR, build.vendor_folders(settings.MIRROR_DIR), settings.KEYS_DIR, variant)


def status() -> MirrorStatus:
    """Ask podman, the ports and the tree."""
    root = settings.MIRROR_DIR
    return MirrorStatus(
        running=podman.running(settings.MIRROR_CONTAINER),
        answers=_answers(),
        cache_answers=_port_open(settings.APT_PROXY_PORT),
        signatures=signing.variant_of(root),
        content_hash=build.stamp_of(root),
    )


def _stage_config() -> Path:
    """Copy the server's files to the state folder: a bind mount of the source would tie the container to it."""
    folder = settings.STATE_DIR / "mirror-server"
    shutil.copytree(FILES_DIR / "server", folder, dirs_exist_ok=True)
    return folder


def _version(content_hash: str, ref: str, config: Path) -> str:
    """Name what a container serves and how; another version means another container."""
    total = hashlib.sha256(f"{content_hash}\0{ref}\0{settings.MIRROR_DIR}\0{settings.MIRROR_ADDRESS}\0".encode())
    for path in sorted(config.rglob("*")):
        total.update(path.read_bytes() if path.is_file() else b"")
    return total.hexdigest()[:16]


def _up_to_date(version: str) -> bool:
    known = podman.inspect(settings.MIRROR_CONTAINER)
    return bool(known and known["State"]["Running"] and known["Config"]["Labels"].get(_VERSION_LABEL) == version)


def _wait(serving: bool) -> None:
    deadline = time.monotonic() + START_TIMEOUT
    while {_answers(), _port_open(settings.APT_PROXY_PORT)} != {serving}:
        if time.monotonic() > deadline:
            log = podman.run("logs", "--tail", "20", settings.MIRROR_CONTAINER, check=False)
            verb = "does not answer" if serving else "still answers"
            raise podman.LabError(f"the mirror {verb} on {settings.MIRROR_ADDRESS}:\n{log.stdout}{log.stderr}")
        time.sleep(0.1)


def _answers() -> bool:
    connection = http.client.HTTPConnection(settings.MIRROR_ADDRESS, 80, timeout=2)
    try:
        connection.request("HEAD", "/rocm/rocm.gpg.key")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _port_open(port: int) -> bool:
    try:
        with socket.create_connection((settings.MIRROR_ADDRESS, port), timeout=2):
            return True
    except OSError:
        return False
