# SPDX-License-Identifier: Apache-2.0
"""Fetch a config of DeepSpeed or FSDP from the node in one trip, and judge it on the controller."""

from __future__ import annotations

import base64
import typing as t
import zlib

from ansible.plugins.action import ActionBase

from ansible_collections.instinct.bringup.plugins.plugin_utils.catalog import UnknownEntry, default_catalog
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed import judge, parse
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.errors import ConfigError
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.version import deepspeed_version, torch_version
from ansible_collections.instinct.bringup.plugins.plugin_utils.planning import load_profile

Json = dict[str, t.Any]

# The path stays as it is here: a ~ is the node's to replace.
SPEC: dict[str, Json] = {
    "path": {"type": "str"},
    "text": {"type": "str"},
    "form": {"type": "str", "default": "auto", "choices": ["auto", *judge.FORMS]},
    "deepspeed_version": {"type": "str"},
    "torch_version": {"type": "str"},
    "world_size": {"type": "int"},
}


class ActionModule(ActionBase):
    """Return a finding for each mistake. Findings do not fail the task: the caller decides."""

    _supports_check_mode = True
    _supports_async = False

    def run(self, tmp: str | None = None, task_vars: Json | None = None) -> Json:
        """Return findings; fail where there is nothing to judge or nothing to judge it by."""
        variables = task_vars or {}
        result: Json = super().run(tmp, variables)
        for name in ("deepspeed_version", "torch_version"):
            given = self._task.args.get(name)
            if given is not None and not isinstance(given, str):
                return _failed(result, f'{name} is {given!r}, a number: quote it, such as "0.9.3"')
        _validation, arguments = self.validate_argument_spec(
            SPEC, mutually_exclusive=[("path", "text")], required_one_of=[("path", "text")]
        )
        try:
            reader = self._reader(arguments, variables)
            data = self._data(arguments, variables)
            if isinstance(data, dict):
                return {**result, **data, "failed": True}
            form = judge.form_of(arguments["form"], arguments["path"] or "")
            findings = judge.judge_text(parse.decode(data), form, reader, arguments["world_size"])
        except (UnknownEntry, ValueError) as error:
            return _failed(result, f"{arguments['path'] or 'the text'} was not judged: {error}")
        result.update(
            changed=False,
            findings=[finding.as_dict() for finding in findings],
            matters=any(finding.matters for finding in findings),
            form=form,
            deepspeed_version=reader.deepspeed,
            torch_version=reader.torch,
        )
        return result

    def _reader(self, arguments: Json, variables: Json) -> judge.Reader:
        """Return the versions that will read the config.

        :raises ConfigError: the catalog does not know one.
        """
        profile, catalog = load_profile(self, variables), default_catalog()
        release = catalog.release(profile["rocm_release"])
        given = arguments["deepspeed_version"]
        options = {**profile, "deepspeed_version": given} if given else profile
        torch = arguments["torch_version"] or torch_version(release)
        if not judge.VERSION.fullmatch(torch):
            raise ConfigError(f'torch_version is {torch!r}; it must be three numbers, such as "2.0.1"')
        return judge.Reader(deepspeed_version(options, release, catalog), torch, catalog)

    def _data(self, arguments: Json, variables: Json) -> bytes | Json:
        """Return the bytes, or the answer of a module that failed."""
        if arguments["text"] is not None:
            return str(arguments["text"]).encode("utf-8")
        answer: Json = self._execute_module(
            module_name="instinct.bringup.env_source", module_args={"path": arguments["path"]}, task_vars=variables
        )
        return zlib.decompress(base64.b64decode(answer["data"])) if "data" in answer else answer


def _failed(result: Json, message: str) -> Json:
    return {**result, "failed": True, "msg": message}
