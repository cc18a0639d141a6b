# SPDX-License-Identifier: Apache-2.0
"""Judge a node on the controller, from its snapshot and a fresh plan. No connection is made."""

from __future__ import annotations

import collections
import datetime
import json
import pathlib
import typing as t

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ansible_collections.instinct.bringup.plugins.plugin_utils.checks import CheckContext, run_checks, verdict
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.waivers import apply_waivers
from ansible_collections.instinct.bringup.plugins.plugin_utils.fleet import BaselineError, fleet_facts, load_baseline
from ansible_collections.instinct.bringup.plugins.plugin_utils.planning import Planned, plan_for_host
from ansible_collections.instinct.bringup.plugins.plugin_utils.printable import printable
from ansible_collections.instinct.bringup.plugins.plugin_utils.report.run_folder import write_node
from ansible_collections.instinct.bringup.plugins.plugin_utils.report.summary import (
    TOLD_AT_LENGTH,
    decisive,
    failure_message,
    verdict_reason,
)

ARGUMENTS = {"run_dir": {"type": "path", "required": True}, "snapshot": {"type": "path"}}


class ActionModule(ActionBase):
    """Run every check and keep the results in the run's folder; fail the host unless it passes."""

    _supports_check_mode = True
    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """Return the verdict, how many checks had which outcome, and those that decided."""
        variables = task_vars or {}
        result: dict[str, t.Any] = super().run(tmp, variables)
        _validation, arguments = self.validate_argument_spec(ARGUMENTS)
        host = str(variables["inventory_hostname"])
        run_dir = pathlib.Path(arguments["run_dir"])
        if self._task.check_mode:
            result.update(skipped=True, msg="check mode: nothing is judged")
            return result
        planned = self._planned(variables, run_dir, arguments["snapshot"])
        unusable = [entry["seen"] for entry in planned.plan["refusals"] if entry["id"].startswith("profile.")]
        if unusable:
            return _refused(result, host, run_dir, unusable)
        try:
            baseline = self._baseline(planned)
        except BaselineError as error:
            return _refused(result, host, run_dir, [str(error)])
        context = CheckContext(planned.profile, planned.catalog, planned.snapshot, planned.plan, baseline)
        today = datetime.datetime.now(datetime.UTC).date()
        results = apply_waivers(run_checks(context), planned.profile["bringup_waivers"] or [], today)
        outcome, checks = verdict(results), [printable(entry.as_dict()) for entry in results]
        reason = verdict_reason(outcome, checks)
        facts = fleet_facts(planned.snapshot)
        write_node(run_dir, host, {"verdict": outcome, "reason": reason, "checks": checks, "fleet": facts})
        result.update(
            changed=False,
            verdict=outcome,
            counts=dict(collections.Counter(entry.outcome for entry in results)),
            # Ansible prints a failed result whole: sixty checks a bare node were a fifth of what its main process did.
            problems=decisive(checks)[:TOLD_AT_LENGTH],
        )
        if outcome != "pass":
            result.update(failed=True, msg=failure_message(host, outcome, checks))
        return result

    def _baseline(self, planned: Planned) -> dict[str, t.Any] | None:
        """Return the fleet's baseline, None where the profile names none. Raises BaselineError."""
        name = planned.profile["bringup_baseline"]
        return load_baseline(self._loader.path_dwim(name)) if name else None

    def _planned(self, variables: dict[str, t.Any], run_dir: pathlib.Path, path: str | None) -> Planned:
        """Return the node's fresh plan, of the run's snapshot or of another one.

        :raises AnsibleActionFail: there is no snapshot, or it is not JSON.
        """
        try:
            snapshot = json.loads(pathlib.Path(path).read_text(encoding="utf-8")) if path else None
            return plan_for_host(self, variables, run_dir, snapshot)
        except (OSError, ValueError) as error:
            raise AnsibleActionFail(f"no snapshot to judge; run instinct.bringup.node_facts first: {error}") from error


def _refused(result: dict[str, t.Any], host: str, run_dir: pathlib.Path, unusable: list[str]) -> dict[str, t.Any]:
    """Say that a profile which cannot be used judges nothing."""
    reason = "the profile cannot be used: " + "; ".join(unusable)
    write_node(run_dir, host, {"verdict": "refused", "reason": reason, "checks": []})
    result.update(changed=False, failed=True, verdict="refused", counts={}, problems=[], msg=f"{host}: {reason}")
    return result
