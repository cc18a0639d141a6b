# SPDX-License-Identifier: Apache-2.0
"""Write the baseline of a run's nodes. No connection is made."""

from __future__ import annotations

import pathlib
import typing as t

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ansible_collections.instinct.bringup.plugins.plugin_utils.fleet import (
    baseline_text,
    fleet_facts,
    make_baseline,
    odd_ones_out,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.report.files import read_json, write_text

ARGUMENTS = {"run_dir": {"type": "path", "required": True}, "dest": {"type": "path", "required": True}}


class ActionModule(ActionBase):
    """Take the majority of the run's snapshots as what every node must be like."""

    _supports_check_mode = True
    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """Return the file, and the nodes that differ from what it says."""
        result: dict[str, t.Any] = super().run(tmp, task_vars or {})
        _validation, arguments = self.validate_argument_spec(ARGUMENTS)
        folder, dest = pathlib.Path(arguments["run_dir"]) / "snapshots", pathlib.Path(arguments["dest"]).absolute()
        nodes = {path.stem: fleet_facts(read_json(path)) for path in sorted(folder.glob("*.json"))}
        if not nodes:
            raise AnsibleActionFail(f"{folder} holds no snapshot to make a baseline of")
        text = baseline_text(make_baseline(nodes))
        before = dest.read_text(encoding="utf-8") if dest.is_file() else ""
        if not self._task.check_mode and text != before:
            write_text(dest, text)
        odd = [one.sentence() for one in odd_ones_out(nodes)]
        result.update(changed=text != before, path=str(dest), nodes=len(nodes), odd=odd)
        if self._task.diff:
            result["diff"] = {"before": before, "after": text}
        return result
