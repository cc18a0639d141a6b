# SPDX-License-Identifier: Apache-2.0
"""Judge a topology file on the controller. Its text, and the machine, come from the node in one trip."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ansible_collections.instinct.bringup.plugins.plugin_utils.catalog import UnknownEntry, default_catalog
from ansible_collections.instinct.bringup.plugins.plugin_utils.planning import load_profile
from ansible_collections.instinct.bringup.plugins.plugin_utils.rccl_host import lint_host
from ansible_collections.instinct.bringup.plugins.plugin_utils.rccl_lint import SEVERITIES, lint_topology, verdict

ARGUMENTS = {
    "path": {"type": "path"},
    "text": {"type": "str"},
    "rccl_version": {"type": "str"},
    "root": {"type": "path"},
    "fail_above": {"type": "str", "choices": list(reversed(SEVERITIES)), "default": "rejected"},
}


class ActionModule(ActionBase):
    """Return the findings of a file or of a text."""

    _supports_check_mode = True
    # With text alone no node is asked.
    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """Return findings and verdict; fail where the file is worse than fail_above allows."""
        variables = task_vars or {}
        result: dict[str, t.Any] = super().run(tmp, variables)
        _validation, arguments = self.validate_argument_spec(
            ARGUMENTS, mutually_exclusive=[("path", "text")], required_one_of=[("path", "text")]
        )
        version = arguments["rccl_version"] or profile_rccl(self, variables)
        text, machine = arguments["text"], None
        if arguments["path"] or arguments["root"]:
            answer = self._execute_module(
                module_name="instinct.bringup.topology",
                module_args={"file": arguments["path"], "root": arguments["root"]},
                task_vars=variables,
            )
            if answer.get("failed"):
                result.update(answer)
                return result
            text, machine = answer.get("file_text", text), answer.get("machine")
        try:
            findings = lint_topology(text, version)
            if machine is not None:
                findings += lint_host(text, version, machine)
        except ValueError as error:
            raise AnsibleActionFail(str(error)) from error
        findings.sort(key=lambda finding: (finding.line, SEVERITIES.index(finding.severity)))
        worst = verdict(findings)
        result.update(
            changed=False,
            findings=[{"severity": f.severity, "line": f.line, "message": f.message} for f in findings],
            verdict=worst,
        )
        limit = SEVERITIES.index(arguments["fail_above"])
        above = [finding for finding in findings if SEVERITIES.index(finding.severity) < limit]
        if above:
            lines = "; ".join(f"line {finding.line}: {finding.severity}: {finding.message}" for finding in above)
            result.update(failed=True, msg=f"{arguments['path'] or 'the text'}: {lines}")
        return result


def profile_rccl(action: ActionBase, task_vars: dict[str, t.Any]) -> str:
    """Return the RCCL version of the host's release.

    :raises AnsibleActionFail: the host names no known release.
    """
    release = load_profile(action, task_vars)["rocm_release"]
    try:
        return str(default_catalog().release(release)["rccl"])
    except (UnknownEntry, KeyError, TypeError) as error:
        message = f"give rccl_version, or a rocm_release of the catalog; rocm_release is {release!r}"
        raise AnsibleActionFail(message) from error
