# SPDX-License-Identifier: Apache-2.0
"""The Ansible inventory of the lab, written to inventory/lab/."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import yaml

from . import nodes, settings
from .hardware.machine import load

ROCM_RELEASE = "5.4.2"
_HEADER = "# Written by the lab (make lab); changes here are lost.\n"


def write(cluster: list[nodes.Node]) -> Path:
    """Write hosts.yml and group_vars/gpu_nodes.yml and return the path of the first."""
    info = mirror_info()
    hosts = {node.name: host_variables(node, info) for node in cluster}
    folder = settings.INVENTORY_DIR
    (folder / "group_vars").mkdir(mode=0o755, parents=True, exist_ok=True)
    _dump(folder / "hosts.yml", {"all": {"children": {"gpu_nodes": {"hosts": hosts}}}})
    _dump(folder / "group_vars" / "gpu_nodes.yml", group_variables(info))
    return folder / "hosts.yml"


def mirror_info() -> dict[str, Any]:
    """Return what the mirror says of itself, empty when there is none."""
    if not settings.MIRROR_INFO.exists():
        return {}
    info: dict[str, Any] = json.loads(settings.MIRROR_INFO.read_text())
    return info


def host_variables(node: nodes.Node, info: dict[str, Any]) -> dict[str, Any]:
    """Return one host's variables: its address and what its machine really has."""
    shape = load(node.machine)
    sizes = [sum(gpu.hive == hive for gpu in shape.gpus) for hive in shape.hives()]
    variables: dict[str, Any] = {
        "ansible_host": settings.node_address(node.name),
        "gpu_count": len(shape.gpus),
        "gpu_hive_size": max(sizes, default=1),
    }
    digest = info.get("installer_sha256", {}).get(ROCM_RELEASE, {}).get(node.release)
    if digest:
        variables["rocm_installer_sha256"] = digest
    return variables


def group_variables(info: dict[str, Any]) -> dict[str, Any]:
    """Return the variables of all hosts. Paths are relative to the inventory, so that a clone can move."""
    variables: dict[str, Any] = {
        "ansible_user": settings.SSH_USER,
        "ansible_ssh_private_key_file": _relative(settings.KEYS_DIR / "id_ed25519"),
        "ansible_ssh_common_args": (
            # Quoted twice, for Ansible and for ssh: the repository may lie in a folder with a space.
            f"""-o 'UserKnownHostsFile="{_relative(settings.KNOWN_HOSTS)}"' """
            "-o StrictHostKeyChecking=yes -o IdentitiesOnly=yes"
        ),
        "rocm_release": ROCM_RELEASE,
        "gpu_model": "mi210",
        "bringup_reboot": True,
        # A stock node has neither, and several GPUs fail without them.
        "kernel_tuning_boot_parameters": ["iommu=pt"],
        "kernel_tuning_sysctl": {"kernel.numa_balancing": "0"},
        "bringup_users": [settings.SSH_USER],
        "rocm_base_url": settings.MIRROR_URL,
        "pytorch_base_url": f"{settings.MIRROR_URL}/whl",
        # The mirror's packages and wheels have the real names and next to no content.
        "preflight_rocm_space_gib": 1,
        "preflight_var_space_gib": 1,
        "preflight_pytorch_space_gib": 1,
    }
    if "key_fingerprint" in info:
        variables["rocm_key_fingerprint"] = info["key_fingerprint"]
    lock = info.get("pytorch_lock", {}).get(ROCM_RELEASE)
    if lock:
        # The mirror names it relative to the repository.
        variables["pytorch_lock_file"] = _relative(settings.REPOSITORY / lock)
    return variables


def _relative(path: Path) -> str:
    return "{{ inventory_dir }}/" + os.path.relpath(path, settings.INVENTORY_DIR)


def _dump(path: Path, content: dict[str, Any]) -> None:
    path.write_text(_HEADER + "---\n" + yaml.safe_dump(content, sort_keys=False, width=200))
