# SPDX-License-Identifier: Apache-2.0
"""Take a node's snapshot in one round trip and keep it in the run's folder.

The module of the same name runs on the node. Only a digest travels on through Ansible's
variables: at 300 kB a node, a thousand nodes would cost 2 GB and five times the time.
"""

from __future__ import annotations

import json
import pathlib
import re
import shlex
import time
import typing as t

from ansible.errors import AnsibleConnectionFailure, AnsibleError
from ansible.module_utils.parsing.convert_bool import boolean
from ansible.plugins.action import ActionBase
from ansible.release import __version__ as ansible_version

from ansible_collections.instinct.bringup.plugins.plugin_utils.catalog import UnknownEntry, default_catalog
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.build import policy_packages, watched_paths
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.launch import launch_user
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.mpi import mpi_prefix
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.space import ARCHIVES
from ansible_collections.instinct.bringup.plugins.plugin_utils.planning import load_profile
from ansible_collections.instinct.bringup.plugins.plugin_utils.profile import Profile
from ansible_collections.instinct.bringup.plugins.plugin_utils.report import run_folder

# What ansible-core runs its modules with, on a node: its own documentation's table of releases.
_OLDEST_PYTHON = (3, 8) if ansible_version.startswith("2.19.") else (3, 9)
# Seconds between two attempts to reach a node that reboots.
_PAUSE = 3
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
        settled = boolean(arguments.pop("settled", False)) and not self._task.check_mode
        host = str(variables["inventory_hostname"])
        profile = load_profile(self, variables)
        arguments = _with_profile(arguments, profile)

        def may_reboot() -> int:
            cut = settled and run_dir is not None and run_folder.was_cut_before_reboot(run_dir, host)
            return int(profile["reboot_timeout"]) if cut and not profile.problems else 0

        def ask(name: str, given: dict[str, t.Any]) -> dict[str, t.Any]:
            return _taken_apart(self._ask(name, given, variables, may_reboot))

        answer = ask("node_facts", arguments)
        if settled and is_busy(answer.get("snapshot") or {}):
            for lock in (answer["snapshot"].get("apt") or {}).get("locks") or []:
                self._display.display(f"{host} waits: {lock['path']} is held by {lock['name']} (pid {lock['pid']})")
            waited = ask("node_idle", {})
            if "left" in waited:
                answer = ask("node_facts", arguments)
                answer.get("snapshot", {})["waited"] = {key: waited[key] for key in ("waited_for", "left")}
        if "snapshot" not in answer:
            result.update(answer, failed=True)
            return _explained(result, host, run_dir, self._interpreter(variables))
        snapshot = answer.pop("snapshot")
        if run_dir is None:
            result.update(answer, snapshot=snapshot)
            return result
        path = run_folder.write_snapshot(run_dir, host, snapshot)
        result.update(changed=False, snapshot_file=str(path), digest=_digest(snapshot))
        return result

    def _interpreter(self, variables: dict[str, t.Any]) -> str:
        """Return the node's interpreter and what it says of itself, asked without a module, which it may not understand."""
        name = str(variables.get("ansible_python_interpreter") or "/usr/bin/python3")
        try:
            said = self._low_level_execute_command(f"{shlex.quote(name)} --version", sudoable=False)
        except AnsibleError:
            return name
        words = f"{said.get('stdout') or ''} {said.get('stderr') or ''}".split()
        return f"{name} is {' '.join(words[:2])}" if words[:1] == ["Python"] else name

    def _ask(
        self, module: str, arguments: dict[str, t.Any], variables: dict[str, t.Any], may_reboot: t.Callable[[], int]
    ) -> dict[str, t.Any]:
        """Run a module on the node. may_reboot: for how many seconds a node that does not answer may be rebooting."""
        end: float | None = None
        while True:
            try:
                answer: dict[str, t.Any] = self._execute_module(
                    module_name=f"instinct.bringup.{module}", module_args=arguments, task_vars=variables
                )
                return answer
            except AnsibleConnectionFailure:
                if end is None:
                    end = time.monotonic() + may_reboot()
                left = end - time.monotonic()
                if left <= 0:
                    raise
                host = variables["inventory_hostname"]
                self._display.display(
                    f"{host} does not answer. The run before was to reboot it: waiting up to {left:.0f} s"
                )
                time.sleep(_PAUSE)
                self._connection.reset()
            except AnsibleError as error:
                return {"failed": True, "msg": str(error)}


def _too_old(interpreter: str) -> bool:
    found = re.search(r" is Python (\d+)\.(\d+)", interpreter)
    return found is not None and (int(found[1]), int(found[2])) < _OLDEST_PYTHON


def is_busy(snapshot: dict[str, t.Any]) -> bool:
    """Say whether something may be at work on the node: a lock is held, or a run was interrupted and may go on."""
    runs = (snapshot.get("journal") or {}).get("runs") or []
    return bool((snapshot.get("apt") or {}).get("locks")) or any(run["state"] == "begun" for run in runs)


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
        "spaces": ["/opt", "/var", ARCHIVES, "/tmp", venv],
        "env_logs": [profile["rccl_debug_log"]] if profile["rccl_debug_log"] else [],
        "leftovers": [entry["path"] for entry in leftovers],
    }
    merged = {name: [*arguments.get(name, []), *values] for name, values in wanted.items()}
    user = launch_user(profile)
    ops = {
        "user": user,
        "venv": venv,
        "rocm_home": f"/opt/rocm-{profile['rocm_release']}",
        "arch": str(default_catalog().gpu(profile["gpu_model"])["gfx"]),
    }
    asked = {
        "root": profile["bringup_root"],
        "tools": profile["bringup_tools"],
        "launch_user": user,
        "mpi_prefix": mpi_prefix(profile),
        "deepspeed_ops": ops if profile["deepspeed_probe_ops"] and user else None,
    }
    return {**asked, **arguments, **merged}


def _taken_apart(answer: dict[str, t.Any]) -> dict[str, t.Any]:
    """Return a module's answer with the snapshot, which it hands over as one text; without one that is damaged."""
    rest = {key: value for key, value in answer.items() if key != "snapshot"}
    try:
        value = json.loads(answer.get("snapshot", ""))
    except (TypeError, ValueError, RecursionError):
        return rest
    return {**rest, "snapshot": value} if isinstance(value, dict) else rest


def _explained(
    result: dict[str, t.Any], host: str, run_dir: pathlib.Path | None, interpreter: str = "/usr/bin/python3"
) -> dict[str, t.Any]:
    """Say in words what a failed snapshot means, and keep it for the report."""
    oldest = ".".join(str(part) for part in _OLDEST_PYTHON)
    raw = " ".join(str(result.get(key, "")) for key in ("msg", "module_stderr", "module_stdout")).strip()
    if _too_old(interpreter):
        # The modules end in a SyntaxError, which names neither version.
        result["msg"] = (
            f"{host} cannot be looked at: {interpreter}, and ansible-core {ansible_version} on the controller needs Python "
            f"{oldest} or newer on a node. Set ansible_python_interpreter for this host to a newer one, or upgrade its system."
        )
    elif any(word in raw.lower() for word in _SUDO_WORDS):
        result["msg"] = (
            f"The snapshot needs root on {host}, and sudo did not give it: {raw[:300]}. "
            "Allow the user sudo without a password, or give the password with --ask-become-pass."
        )
    else:
        result["msg"] = (
            f"The snapshot of {host} could not be taken: {raw[:500]}. "
            f"The node needs Python {oldest} or newer, and its interpreter is {interpreter}; try the module alone with -vvv."
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
