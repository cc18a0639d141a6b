# SPDX-License-Identifier: Apache-2.0
"""Fetch a file of variables from the node in one trip, and judge it on the controller."""

from __future__ import annotations

import base64
import pathlib
import typing as t
import zlib

from ansible.plugins.action import ActionBase

from ansible_collections.instinct.bringup.plugins.module_utils.env_source import read_host
from ansible_collections.instinct.bringup.plugins.plugin_utils.catalog import UnknownEntry, default_catalog
from ansible_collections.instinct.bringup.plugins.plugin_utils.env import parsers
from ansible_collections.instinct.bringup.plugins.plugin_utils.env.host import host_from
from ansible_collections.instinct.bringup.plugins.plugin_utils.env.lint import Linter
from ansible_collections.instinct.bringup.plugins.plugin_utils.env.table import lint_table
from ansible_collections.instinct.bringup.plugins.plugin_utils.planning import load_profile

Json = dict[str, t.Any]

# The paths stay as they are here: a ~ is the node's to replace.
SPEC: dict[str, Json] = {
    "path": {"type": "str"},
    "text": {"type": "str"},
    "form": {"type": "str", "default": "auto", "choices": ["auto", *parsers.FORMS]},
    "rocm_release": {"type": "str"},
    "gpu_model": {"type": "str"},
    "root": {"type": "str"},
}


class ActionModule(ActionBase):
    """Return a finding for each assignment. Findings do not fail the task: the caller decides."""

    _supports_check_mode = True
    _supports_async = False

    def run(self, tmp: str | None = None, task_vars: Json | None = None) -> Json:
        """Return findings, notes and a table; fail where there is nothing to judge or nothing to judge it by."""
        variables = task_vars or {}
        result: Json = super().run(tmp, variables)
        given = self._task.args.get("rocm_release")
        if given is not None and not isinstance(given, str):
            return _failed(result, f"rocm_release is {given!r}, a number: YAML reads an unquoted 6.10 as 6.1; quote it")
        _validation, arguments = self.validate_argument_spec(
            SPEC, mutually_exclusive=[("path", "text")], required_one_of=[("path", "text")]
        )
        profile = load_profile(self, variables)
        try:
            gpu = default_catalog().gpu(arguments["gpu_model"] or profile["gpu_model"])
            release = str(arguments["rocm_release"] or profile["rocm_release"])
            source = self._source(arguments, variables)
            if "data" not in source:
                return {**result, **source, "failed": True}
            text = parsers.decode(source["data"])
            host = host_from(source["host"] or {}, (source["host"] or {}).get("files"))
            lint = Linter(release, gpu, host).text(text, arguments["path"] or "", arguments["form"])
        except (UnknownEntry, ValueError) as error:
            return _failed(result, f"{arguments['path'] or 'the text'} was not judged: {error}")
        result.update(
            changed=False,
            findings=[finding.as_dict() for finding in lint.findings],
            notes=[{"line": note.line, "message": note.message} for note in lint.notes],
            form=lint.form,
            matters=lint.matters,
            table=lint_table(lint, arguments["path"] or "the text", release),
        )
        return result

    def _source(self, arguments: Json, variables: Json) -> Json:
        """Return the bytes and the host, or the answer of a module that failed."""
        if arguments["text"] is not None:
            data = str(arguments["text"]).encode("utf-8")
            if not arguments["root"]:
                return {"data": data, "host": None}
            root = pathlib.Path(arguments["root"]).expanduser()
            if not root.is_dir():
                raise ValueError(f"root {root} is not a folder on the controller")
            return {"data": data, "host": read_host(str(root), data)}
        answer: Json = self._execute_module(
            module_name="instinct.bringup.env_source",
            module_args={"path": arguments["path"], "root": arguments["root"]},
            task_vars=variables,
        )
        if "data" in answer:
            answer["data"] = zlib.decompress(base64.b64decode(answer["data"]))
        return answer


def _failed(result: Json, message: str) -> Json:
    return {**result, "failed": True, "msg": message}
