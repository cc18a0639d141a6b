# SPDX-License-Identifier: Apache-2.0
"""Show a node's topology: read in one round trip, explained and drawn on the controller."""

from __future__ import annotations

import dataclasses
import typing as t

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible.utils.color import stringc
from ansible.utils.display import Display

from ansible_collections.instinct.bringup.plugins.action.rccl_topology_lint import profile_rccl
from ansible_collections.instinct.bringup.plugins.module_utils.rccl_model import TopologyError
from ansible_collections.instinct.bringup.plugins.module_utils.rccl_topology import build_topology, render_xml
from ansible_collections.instinct.bringup.plugins.plugin_utils.planning import load_profile
from ansible_collections.instinct.bringup.plugins.plugin_utils.topology.binding import bindings_of
from ansible_collections.instinct.bringup.plugins.plugin_utils.topology.draw_svg import draw_svg
from ansible_collections.instinct.bringup.plugins.plugin_utils.topology.draw_text import draw_text
from ansible_collections.instinct.bringup.plugins.plugin_utils.topology.explain import (
    explain_topology,
    explanation_text,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.topology.picture import picture_of

_COLOURS = {"bad": "red", "soft": "yellow", "title": "bright blue"}
ARGUMENTS = {
    "root": {"type": "path"},
    "rccl_version": {"type": "str"},
    "file": {"type": "path"},
    "show": {"type": "bool", "default": True},
}


class ActionModule(ActionBase):
    """Read the machine with the module of the same name, then tell and draw."""

    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """Return tree, drawing, explanation and binding; fail with the path where RCCL has no topology."""
        variables = task_vars or {}
        result: dict[str, t.Any] = super().run(tmp, variables)
        _validation, arguments = self.validate_argument_spec(ARGUMENTS)
        version = arguments["rccl_version"] or profile_rccl(self, variables)
        profile = load_profile(self, variables)
        answer = self._execute_module(
            module_name="instinct.bringup.topology",
            module_args={"root": arguments["root"] or profile["bringup_root"], "file": arguments["file"]},
            task_vars=variables,
        )
        if answer.get("failed"):
            result.update(answer)
            return result
        machine, host = answer["machine"], str(variables["inventory_hostname"])
        try:
            topology = build_topology(machine, version)
        except TopologyError as error:
            raise AnsibleActionFail(f"{host} has no topology for RCCL: {error}") from error
        picture = picture_of(host, topology, machine, profile["gpu_hive_size"])
        explained = explain_topology(render_xml(topology), version)
        result.update(
            changed=False,
            tree=draw_text(picture),
            svg=draw_svg(picture),
            explained=explained,
            binding=[dataclasses.asdict(binding) for binding in bindings_of(topology, machine)],
        )
        if "file_text" in answer:
            result["file_text"] = answer["file_text"]
        if arguments["show"]:
            Display().display(f"\n{draw_text(picture, _paint)}\n{explanation_text(explained)}")
        return result


def _paint(text: str, state: str) -> str:
    """Colour a text as Ansible does, on a terminal only."""
    return stringc(text, _COLOURS[state]) if state in _COLOURS else text
