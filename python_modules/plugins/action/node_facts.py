# SPDX-License-Identifier: Apache-2.0
"""Take a node's snapshot in one round trip and keep it in the run's folder.

The module of the same name runs on the node. Only a digest travels on through Ansible's
variables: at 300 kB a node, a thousand nodes would cost 2 GB and five times the time.
"""

from __future__ import annotations

import json
import pathlib
import typing as t

from ansible.errors import AnsibleConnectionFailure, AnsibleError
from ansible.plugins.action import ActionBase

from ansible_collections.instinct.bringup.plugins.plugin_utils.catalog import UnknownEntry, default_catalog
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.build import policy_packages, watched_paths
from ansible_collections.instinct.bringup.plugins.plugin_utils.planning import load_profile
from ansible_collections.instinct.bringup.plugins.plugin_utils.profile import Profile
from ansible_collections.instinct.bringup.plugins.plugin_utils.report import run_folder

_SUDO_WORDS = ("sudo", "become", "password is required", "a terminal is required")


class ActionModule(ActionBase):
    """Run node_facts with what the profile manages, and store what it returns."""

    _supports_check_mode = True
    _supports_async = False

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """Return a digest; a node that gives no root rights is refused with what to do."""
        variables = task_vars or {}
        result: dict[str, t.Any] = super().run(tmp, variables)
        arguments = dict(self._task.args)
        run_dir = pathlib.Path(arguments.pop("run_dir")) if "run_dir" in arguments else None
        profile = load_profile(self, variables)
        arguments = _with_profile(arguments, profile)
        try:
            answer = self._execute_module(
                module_name="instinct.bringup.node_facts", module_args=arguments, task_vars=variables
            )
        except AnsibleConnectionFailure:
            raise
        except AnsibleError as error:
            answer = {"failed": True, "msg": str(error)}
        snapshot = _taken_apart(answer.pop("snapshot", None))
        if snapshot is None:
            result.update(answer, failed=True)
            return _explained(result, str(variables["inventory_hostname"]), run_dir)
        if run_dir is None:
            result.update(answer, snapshot=snapshot)
            return result
        path = run_folder.write_snapshot(run_dir, str(variables["inventory_hostname"]), snapshot)
        result.update(changed=False, snapshot_file=str(path), digest=_digest(snapshot))
        return result


def _with_profile(arguments: dict[str, t.Any], profile: Profile) -> dict[str, t.Any]:
    """Add what the profile manages. A profile that cannot be used is the plan's to refuse."""
    if profile.problems:
        return arguments
    try:
        packages = policy_packages(profile, default_catalog())
    except UnknownEntry:
        packages = []
    venv = str(profile["pytorch_venv"])
    leftovers = default_catalog().leftovers["leftovers"]
    wanted = {
        "watch": watched_paths(profile),
        "users": list(profile["bringup_users"]),
        "packages": packages,
        "venvs": list(dict.fromkeys([venv, *profile["rocm_purge_venvs"]])),
        "spaces": ["/opt", "/var", venv],
        "env_logs": [profile["rccl_debug_log"]] if profile["rccl_debug_log"] else [],
        "leftovers": [entry["path"] for entry in leftovers],
    }
    merged = {name: [*arguments.get(name, []), *values] for name, values in wanted.items()}
    return {"root": profile["bringup_root"], "tools": profile["bringup_tools"], **arguments, **merged}


def _taken_apart(text: object) -> dict[str, t.Any] | None:
    """Return the snapshot that the module hands over as one text, None where there is none or it is damaged."""
    try:
        value = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _explained(result: dict[str, t.Any], host: str, run_dir: pathlib.Path | None) -> dict[str, t.Any]:
    """Say in words what a failed snapshot means, and keep it for the report."""
    raw = " ".join(str(result.get(key, "")) for key in ("msg", "module_stderr", "module_stdout")).strip()
    if any(word in raw.lower() for word in _SUDO_WORDS):
        result["msg"] = (
            f"The snapshot needs root on {host}, and sudo did not give it: {raw[:300]}. "
            "Allow the user sudo without a password, or give the password with --ask-become-pass."
        )
    else:
        result["msg"] = (
            f"The snapshot of {host} could not be taken: {raw[:500]}. "
            "The node needs /usr/bin/python3, 3.8 or newer; try the module alone with -vvv."
        )
    if run_dir is not None:
        run_folder.write_node(run_dir, host, {"verdict": "refused", "reason": result["msg"]})
    return result


def _digest(snapshot: dict[str, t.Any]) -> dict[str, t.Any]:
    """Return the few facts that other hosts' plans and people's conditions use."""
    modules, system, kernel = (snapshot.get(area) or {} for area in ("modules", "os", "kernel"))
    return {
        "os": f"{system.get('id')} {system.get('version_id')}",
        "kernel": kernel.get("release"),
        "driver": (modules.get("amdgpu") or {}).get("version"),
        "gpu_count": sum(gpu["driver"] == "amdgpu" for gpu in (snapshot.get("pci") or {}).get("gpus") or []),
        "problems": len(snapshot.get("problems") or []),
    }
