# SPDX-License-Identifier: Apache-2.0
"""Compare on the controller what the ranks of a started job told with what the plan expects of them."""

from __future__ import annotations

import pathlib
import typing as t

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ansible_collections.instinct.bringup.plugins.plugin_utils.launch.outcome import Started, judge
from ansible_collections.instinct.bringup.plugins.plugin_utils.planning import plan_for_host
from ansible_collections.instinct.bringup.plugins.plugin_utils.printable import printable
from ansible_collections.instinct.bringup.plugins.plugin_utils.report.run_folder import write_node
from ansible_collections.instinct.bringup.plugins.plugin_utils.report.summary import (
    decisive,
    failure_message,
    verdict_reason,
)

ARGUMENTS = {
    "run_dir": {"type": "path", "required": True},
    "launcher": {"type": "str", "choices": ["deepspeed", "torchrun", "openmpi", "slurm"], "default": "deepspeed"},
    "output": {"type": "str"},
    "code": {"type": "int", "default": 0},
    "called": {"type": "dict"},
}


class ActionModule(ActionBase):
    """Say what a job must be, or, given what its ranks printed, whether it was that."""

    _supports_check_mode = True
    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """Return what is expected; with an output the verdict too, and fail the host unless it passes."""
        variables = task_vars or {}
        result: dict[str, t.Any] = super().run(tmp, variables)
        _validation, arguments = self.validate_argument_spec(ARGUMENTS)
        host, run_dir = str(variables["inventory_hostname"]), pathlib.Path(arguments["run_dir"])
        try:
            planned = plan_for_host(self, variables, run_dir)
        except (OSError, ValueError) as error:
            raise AnsibleActionFail(
                f"no snapshot to plan from; run instinct.bringup.node_facts first: {error}"
            ) from error
        unusable = [entry["seen"] for entry in planned.plan["refusals"] if entry["id"].startswith("profile.")]
        launch = planned.plan["launch"]
        if launch is not None and not launch["user"]:
            # Ansible takes an empty become_user for root.
            unusable.append("nobody says whose jobs these are: set launch_user, or a user in bringup_users")
        if unusable:
            reason = "the profile cannot be used: " + "; ".join(unusable)
            write_node(run_dir, host, {"verdict": "refused", "reason": reason, "checks": []})
            result.update(changed=False, failed=True, msg=f"{host}: {reason}")
            return result
        result.update(changed=False, expected=launch)
        if arguments["output"] is None:
            return result
        started = Started(arguments["launcher"], arguments["output"], arguments["code"], arguments["called"])
        outcome, results = judge(planned.plan, host, started)
        checks = [printable(entry.as_dict()) for entry in results]
        reason = verdict_reason(outcome, checks)
        write_node(run_dir, host, {"verdict": outcome, "reason": reason, "checks": checks})
        result.update(verdict=outcome, problems=decisive(checks))
        if outcome != "pass":
            result.update(failed=True, msg=failure_message(host, outcome, checks))
        return result
