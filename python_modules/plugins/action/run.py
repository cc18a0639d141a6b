# SPDX-License-Identifier: Apache-2.0
"""Open the folder that one run's snapshots, records and report go to."""

from __future__ import annotations

import pathlib
import typing as t

from ansible import constants as C
from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ansible_collections.instinct.bringup.plugins.plugin_utils.planning import load_profile
from ansible_collections.instinct.bringup.plugins.plugin_utils.report.run_folder import create_run_folder

ARGUMENTS = {
    "report_dir": {"type": "path", "default": "reports"},
    "hosts": {"type": "list", "elements": "str", "required": True},
    "verb": {"type": "str", "default": "site"},
    "rocm_release": {"type": "str"},
}


CALLBACK = "instinct.bringup.bringup"
# What a person might name as a tag to get a part of the journey.
ROLES = ("preflight", "rocm_purge", "kernel_tuning", "rocm", "mpi", "pytorch", "reboot", "rccl", "deepspeed")


class ActionModule(ActionBase):
    """Make the run's folder on the controller. Nothing is done on a node."""

    _supports_check_mode = True
    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """Return where the run's folder is. In check mode there is one too: it holds the plans."""
        variables = task_vars or {}
        result: dict[str, t.Any] = super().run(tmp, variables)
        _validation, arguments = self.validate_argument_spec(ARGUMENTS)
        _refuse_tags(variables)
        profile = load_profile(self, variables)
        if arguments["verb"] == "site" and profile["bringup_root"] != "/":
            raise AnsibleActionFail(
                f"bringup_root is {profile['bringup_root']}, a saved tree, and site.yml would change the machine that "
                "holds it. Plan the tree with playbooks/plan.yml, and judge it with playbooks/verify.yml"
            )
        if CALLBACK not in C.CALLBACKS_ENABLED:
            self._display.warning(
                f"The callback {CALLBACK} is not enabled: no plan is shown and no results.json is written as hosts finish. "
                "Add it to callbacks_enabled (or ANSIBLE_CALLBACKS_ENABLED), or run playbooks/report.yml at the end"
            )
        release = arguments["rocm_release"] or profile["rocm_release"]
        # Relative to where ansible-playbook was started, as the README's commands are.
        report_dir = pathlib.Path(arguments["report_dir"]).absolute()
        try:
            folder = create_run_folder(
                report_dir,
                [str(host) for host in arguments["hosts"]],
                verb=str(arguments["verb"]),
                rocm_release=str(release),
                check_mode=bool(self._task.check_mode),
            )
        except OSError as error:
            raise AnsibleActionFail(f"the run's folder cannot be made below {report_dir}: {error}") from error
        info = folder.info
        result.update(changed=False, run={"id": info["id"], "dir": str(folder.path), "started": info["started"]})
        return result


def _refuse_tags(variables: t.Mapping[str, t.Any]) -> None:
    """Refuse tags: they would silently leave out the snapshot, the plan or the verdict.

    :raises AnsibleActionFail: the playbook was called with tags, or with a role's name to skip.
    """
    run_tags = [str(tag) for tag in variables.get("ansible_run_tags") or ["all"]]
    skipped = [str(tag) for tag in variables.get("ansible_skip_tags") or [] if tag in ROLES]
    if run_tags != ["all"] or skipped:
        named = " ".join(
            [*(f"--tags {tag}" for tag in run_tags if tag != "all"), *(f"--skip-tags {tag}" for tag in skipped)]
        )
        raise AnsibleActionFail(
            f"called with {named}, which would silently leave out a part of the run. A part of the plan is applied "
            """with -e '{"bringup_only": ["rccl"]}', and every role is entered with -e bringup_force=true."""
        )
