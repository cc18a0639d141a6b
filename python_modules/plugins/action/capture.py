# SPDX-License-Identifier: Apache-2.0
"""Capture a node and write its manifest, or a bundle for a support ticket, on the controller."""

from __future__ import annotations

import io
import json
import pathlib
import tarfile
import typing as t

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.build import watched_paths
from ansible_collections.instinct.bringup.plugins.plugin_utils.planning import load_profile
from ansible_collections.instinct.bringup.plugins.plugin_utils.report.files import safe_name, write_text
from ansible_collections.instinct.bringup.plugins.plugin_utils.report.run_folder import read_node

NODE_ARGUMENTS = ("root", "watch", "users", "venvs", "bundle")


class ActionModule(ActionBase):
    """Run the module of the same name with what the profile manages, and keep what it returns."""

    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """Return the paths that were written and how many entries the manifest has."""
        variables = task_vars or {}
        result: dict[str, t.Any] = super().run(tmp, variables)
        arguments = dict(self._task.args)
        dest, run_dir = arguments.pop("dest", None), arguments.pop("run_dir", None)
        profile = load_profile(self, variables)
        if profile.problems:
            result.update(
                failed=True,
                msg="the profile cannot be used: " + "; ".join(problem.seen for problem in profile.problems),
            )
            return result
        wanted = {
            "root": profile["bringup_root"],
            "watch": watched_paths(profile),
            "users": list(profile["bringup_users"]),
            "venvs": [str(profile["pytorch_venv"])],
        }
        answer = self._execute_module(
            module_name="instinct.bringup.capture",
            module_args={**wanted, **{key: value for key, value in arguments.items() if key in NODE_ARGUMENTS}},
            task_vars=variables,
        )
        if "manifest" not in answer or dest is None:
            result.update(answer)
            return result
        host = str(variables["inventory_hostname"])
        paths = [] if self._task.check_mode else _write(pathlib.Path(str(dest)), host, answer, run_dir)
        result.update(
            changed=bool(paths),
            paths=[str(path) for path in paths],
            entries=answer["manifest"].count("\n"),
            problems=answer["problems"],
        )
        return result


def _write(dest: pathlib.Path, host: str, answer: dict[str, t.Any], run_dir: object) -> list[pathlib.Path]:
    """Write the manifest, and with a bundle the archive. Raises AnsibleActionFail."""
    name = safe_name(host)
    try:
        dest.mkdir(parents=True, exist_ok=True)
        manifest = dest / f"{name}.manifest"
        write_text(manifest, answer["manifest"])
        if answer.get("packages") is None:
            return [manifest]
        members = {
            "machine.manifest": answer["manifest"],
            "packages.txt": answer["packages"],
            "kernel.log": answer["kernel_log"] or "The kernel log could not be read.\n",
            "problems.json": json.dumps(answer["problems"], indent=1) + "\n",
        }
        if run_dir is not None:
            record = read_node(pathlib.Path(str(run_dir)), host)
            members["plan.json"] = json.dumps(record["plan"], indent=1).replace(host, "node") + "\n"
            members["report.json"] = json.dumps({**record, "host": "node"}, indent=1).replace(host, "node") + "\n"
        bundle = dest / f"{name}.bundle.tar.gz"
        bundle.write_bytes(_archive(members))
    except OSError as error:
        raise AnsibleActionFail(f"the capture cannot be written below {dest}: {error}") from error
    return [manifest, bundle]


def _archive(members: dict[str, str]) -> bytes:
    """Return a tar.gz of texts; the same texts give the same members, whoever makes it."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, text in sorted(members.items()):
            data = text.encode("utf-8")
            info = tarfile.TarInfo(f"capture/{name}")
            info.size, info.mode = len(data), 0o644
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()
