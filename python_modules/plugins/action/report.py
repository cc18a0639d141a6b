# SPDX-License-Identifier: Apache-2.0
"""Make a run's report again from its files, or one report of several runs."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ansible_collections.instinct.bringup.plugins.plugin_utils.report.results import (
    merge_runs,
    results_of,
    write_report,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.report.run_folder import RunFolderError, open_run_folder

ARGUMENTS = {"run_dirs": {"type": "list", "elements": "path", "required": True}}


class ActionModule(ActionBase):
    """Write results.json, index.html and junit.xml on the controller. Nothing is done on a node."""

    _supports_check_mode = True
    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """Return the folder that was written and the summary of its nodes."""
        result: dict[str, t.Any] = super().run(tmp, task_vars or {})
        _validation, arguments = self.validate_argument_spec(ARGUMENTS)
        if not arguments["run_dirs"]:
            raise AnsibleActionFail("run_dirs names no folder of a run")
        try:
            folders = [open_run_folder(path) for path in arguments["run_dirs"]]
            writes = not self._task.check_mode
            folder = merge_runs(folders) if writes and len(folders) > 1 else folders[0]
            results = results_of(folder)
            paths = write_report(folder, results) if writes else []
        except (OSError, RunFolderError) as error:
            raise AnsibleActionFail(
                f"the report cannot be made: {error}. Name the folder of a run: one below the report folder, or its link latest"
            ) from error
        result.update(
            changed=True,
            run_dir=str(folder.path),
            files=[str(path) for path in paths],
            complete=results["complete"],
            summary=results["summary"],
        )
        return result
