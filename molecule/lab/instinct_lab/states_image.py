# SPDX-License-Identifier: Apache-2.0
"""Images of nodes that are not bare: made once by a script in a fresh node, then kept."""

from __future__ import annotations

import hashlib
import json

from . import image, podman, settings
from .podman import LabError


def ensure(state: str, release: str) -> str:
    """Return the image in which a node of this state starts.

    A state other than bare is made by states/STATE.sh, run as root in a fresh
    node with the mirror up; it is made again when the script, the mirror's
    content or the node image has changed.
    """
    node_image = image.ensure_node(release)
    if state.startswith("bare"):
        return node_image
    script = settings.STATES_DIR / f"{state.replace('-', '_')}.sh"
    if not script.exists():
        raise LabError(f"state {state}: {script.relative_to(settings.REPOSITORY)} is missing")
    parts = hashlib.sha256()
    for path in sorted(settings.STATES_DIR.iterdir()):
        if path.is_file():
            parts.update(path.name.encode() + b"\0" + path.read_bytes())
    ref = image.reference(
        f"state-{state}", image.digest(parts.hexdigest(), _mirror_content(), image.image_id(node_image))
    )  # fmt: skip
    if not podman.exists("image", ref):
        _make(state, release, node_image, ref)
    return ref


def _mirror_content() -> str:
    if not settings.MIRROR_INFO.exists():
        raise LabError("there is no mirror: this state is installed from it")
    return str(json.loads(settings.MIRROR_INFO.read_text())["content_hash"])


def _make(state: str, release: str, node_image: str, ref: str) -> None:
    # Imported here: nodes needs this module to find its images.
    from . import nodes

    maker = nodes.Node(settings.MAKER, f"bare-{release}", "mi210-8gpu-2hives")
    nodes.create(maker, node_image)
    try:
        nodes.wait_systemd(maker)
        podman.run("cp", f"{settings.STATES_DIR}/.", f"{maker.container}:/run/instinct-lab-states")
        script = f"/run/instinct-lab-states/{state.replace('-', '_')}.sh"
        done = podman.run("exec", maker.container, "sh", script, check=False)
        if done.returncode != 0:
            raise LabError(f"state {state} failed ({done.returncode}):\n{(done.stdout + done.stderr)[-4000:]}")
        podman.run(
            "exec", maker.container, "sh", "-c",
            "rm -rf /var/log/journal/* /etc/ssh/ssh_host_* && : >/etc/machine-id && apt-get clean",
        )  # fmt: skip
        podman.run("commit", "--quiet", maker.container, ref)
    finally:
        nodes.remove([maker])
