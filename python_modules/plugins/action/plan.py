# SPDX-License-Identifier: Apache-2.0
"""Make a node's plan on the controller, from its snapshot and its profile. No connection is made."""

from __future__ import annotations

import pathlib
import typing as t

from ansible.plugins.action import ActionBase

from ansible_collections.instinct.bringup.plugins.plugin_utils.managed import ManagedFile, file_diff
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.build import PlanDict
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.text import plan_text
from ansible_collections.instinct.bringup.plugins.plugin_utils.planning import plan_for_host
from ansible_collections.instinct.bringup.plugins.plugin_utils.report import run_folder

ARGUMENTS = {"run_dir": {"type": "path", "required": True}, "again": {"type": "bool", "default": False}}


class ActionModule(ActionBase):
    """Return the plan, its text, and a diff of every file that would change."""

    _supports_check_mode = True
    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """Return the steps; fail with what to do where the plan refuses."""
        variables = task_vars or {}
        result: dict[str, t.Any] = super().run(tmp, variables)
        _validation, arguments = self.validate_argument_spec(ARGUMENTS)
        run_dir = pathlib.Path(arguments["run_dir"])
        host = str(variables["inventory_hostname"])
        planned = plan_for_host(self, variables, run_dir)
        plan, check = planned.plan, bool(self._task.check_mode)
        refused = "; ".join(_refusal_sentence(refusal) for refusal in plan["refusals"])
        if not arguments["again"]:
            run_folder.write_node(run_dir, host, {"plan": _told(plan)})
        changes = [change for step in plan["steps"] for change in step["changes"]]
        result.update(
            # What the plan says is not done by the plan: in check mode it is the prediction.
            changed=check and bool(changes),
            plan={
                "apply": {step["role"]: step for step in plan["steps"]},
                "reboot": plan["reboot"],
                "gpus_seen": bool((planned.snapshot.get("kfd") or {}).get("nodes")),
            },
            plan_text=plan_text(plan, check=check),
        )
        if self._task.diff:
            result["diff"] = _diffs(plan, planned.snapshot)
        if refused:
            # The message says it all; what Ansible prints of a failed task is long enough.
            for key in ("plan", "plan_text", "diff"):
                result.pop(key, None)
            result.update(failed=True, msg=f"{host} is refused, nothing was changed: {refused}")
        return result


def _refusal_sentence(refusal: dict[str, str]) -> str:
    return f"{refusal['subject']}: {refusal['seen']}; wanted {refusal['wanted']}; {refusal['remedy']}"


def _told(plan: PlanDict) -> PlanDict:
    """Return what the report keeps of a plan: not the roles' inputs, which hold whole files."""
    told = {key: plan[key] for key in ("refusals", "notes", "kept", "reboot")}
    return {**told, "steps": [{key: step[key] for key in ("role", "reasons", "changes")} for step in plan["steps"]]}


def _diffs(plan: PlanDict, snapshot: dict[str, t.Any]) -> list[dict[str, str]]:
    """Return a diff of each file that a step of the plan writes, as it is now and as it becomes."""
    roles = {step["role"] for step in plan["steps"]}
    changing = {change["subject"] for step in plan["steps"] for change in step["changes"] if change["kind"] == "file"}
    watched = snapshot.get("watch") or {}
    files = [
        ManagedFile(**{key: value for key, value in entry.items() if key != "role"})
        for entry in plan["files"]
        if entry["role"] in roles and entry["path"] in changing
    ]
    return [file_diff(file, watched.get(file.path)) for file in files]
