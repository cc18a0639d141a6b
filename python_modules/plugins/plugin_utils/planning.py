# SPDX-License-Identifier: Apache-2.0
"""Bring a host's variables and its snapshot together into a profile and a plan.

Only this file knows both Ansible's variables and the pure plan.
"""

from __future__ import annotations

import dataclasses
import json
import pathlib
import typing as t

from ansible.errors import AnsibleError

from ansible_collections.instinct.bringup.plugins.plugin_utils.catalog import Catalog, default_catalog
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.firmware_fields import minimum_problems
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.waivers import waiver_problems
from ansible_collections.instinct.bringup.plugins.plugin_utils.fleet_peers import load_peers
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.build import PlanDict, build_plan
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.model import PlanContext
from ansible_collections.instinct.bringup.plugins.plugin_utils.profile import (
    Problem,
    Profile,
    all_options,
    build_profile,
    unknown_names,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.report.files import read_json, safe_name, write_json
from ansible_collections.instinct.bringup.plugins.plugin_utils.report.run_folder import read_snapshot

if t.TYPE_CHECKING:
    from ansible.plugins.action import ActionBase

Fleet = tuple[tuple[str, int | None], ...]


@dataclasses.dataclass(frozen=True)
class Planned:
    """Hold what plan and verify need of one host."""

    profile: Profile
    catalog: Catalog
    snapshot: dict[str, t.Any]
    plan: PlanDict


def load_profile(action: ActionBase, task_vars: dict[str, t.Any]) -> Profile:
    """Return the host's profile from its variables; what is wrong stands in profile.problems."""
    options = all_options(default_catalog())
    given = {name: _plain(action._templar.template(task_vars[name])) for name in options if name in task_vars}
    profile = build_profile(options, given)
    problems = [
        Problem(name, f"{name} is set, which nothing reads", f"{option}, if that was meant, or another name")
        for name, option in unknown_names(options, task_vars)
    ]
    if not profile.problems:
        problems += _content_problems(profile, task_vars)
    return dataclasses.replace(profile, problems=(*profile.problems, *problems))


def _content_problems(profile: Profile, task_vars: dict[str, t.Any]) -> list[Problem]:
    """Return what is wrong with values that are of the right kind."""
    fields = "a minimum in the form of its field"
    problems = [Problem("fw_minimum", seen, fields) for seen in minimum_problems(profile["fw_minimum"])]
    whole = "a waiver with check, subject, until, reason and owner"
    problems += [Problem("bringup_waivers", seen, whole) for seen in waiver_problems(profile["bringup_waivers"])]
    group = profile["deepspeed_hosts_group"]
    if group not in task_vars.get("groups", {}):
        seen = f"deepspeed_hosts_group is {group!r}, which is not a group of the inventory"
        problems.append(Problem("deepspeed_hosts_group", seen, "a group of the inventory"))
    return problems


def plan_for_host(
    action: ActionBase, task_vars: dict[str, t.Any], run_dir: pathlib.Path, snapshot: dict[str, t.Any] | None = None
) -> Planned:
    """Return the profile, the snapshot and a plan that is made from both now.

    snapshot: another one than the run folder's.
    :raises OSError: the run's folder has no snapshot of this host.
    :raises ValueError: the snapshot there is not JSON.
    """
    host = str(task_vars["inventory_hostname"])
    profile = load_profile(action, task_vars)
    seen = snapshot if snapshot is not None else read_snapshot(run_dir, host)
    ctx = PlanContext(
        host=host,
        run_dir=str(run_dir),
        profile=profile,
        catalog=default_catalog(),
        snapshot=seen,
        fleet=() if profile.problems else _fleet(action, task_vars, run_dir, profile),
        lock=None if profile.problems else read_lock(action, profile),
        deepspeed_lock=None if profile.problems else read_lock(action, profile, "deepspeed_lock_file"),
        local=str(action._play_context.connection) == "local",
        peers={} if profile.problems else load_peers(action, task_vars, run_dir, profile),
    )
    return Planned(profile, ctx.catalog, seen, build_plan(ctx))


def _plain(value: t.Any) -> t.Any:
    """Return the value without what Ansible attaches to it, as JSON would carry it."""
    return json.loads(json.dumps(value, default=str))


def read_lock(action: ActionBase, profile: Profile, option: str = "pytorch_lock_file") -> str | None:
    """Return the text of the lock that an option names, with paths as Ansible resolves them, or None where there is none."""
    if not profile[option]:
        return None
    path = pathlib.Path(action._loader.path_dwim(profile[option]))
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def _fleet(action: ActionBase, task_vars: dict[str, t.Any], run_dir: pathlib.Path, profile: Profile) -> Fleet:
    """Return the hosts of the hostfile with their GPU counts, made once a run.

    Reading every host's variables for every host would grow with the square of the fleet.
    """
    group = str(profile["deepspeed_hosts_group"])
    path = run_dir / f"fleet-{safe_name(group)}.json"
    if not path.is_file():
        hosts = task_vars["groups"][group]
        counts = [(str(host), _gpu_count(action, task_vars["hostvars"][host])) for host in hosts]
        write_json(path, {"hosts": sorted(counts)})
    return tuple((str(host), count) for host, count in read_json(path)["hosts"])


def _gpu_count(action: ActionBase, variables: t.Mapping[str, t.Any]) -> int | None:
    """Return the count that the site declares, else the one seen in this run, else None."""
    declared = variables.get("gpu_count")
    if declared is not None:
        try:
            return int(action._templar.template(declared))
        except (TypeError, ValueError, AnsibleError):
            # That host's own plan refuses it and says why.
            return None
    seen = variables.get("bringup_facts") or {}
    count = seen.get("digest", {}).get("gpu_count")
    return int(count) if count else None
