# SPDX-License-Identifier: Apache-2.0
"""Plan that the job's user reaches every node of a job from the first one, without a prompt."""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.errors import ConfigError
from ansible_collections.instinct.bringup.plugins.plugin_utils.launch import ssh
from ansible_collections.instinct.bringup.plugins.plugin_utils.launch.model import LaunchModel
from ansible_collections.instinct.bringup.plugins.plugin_utils.managed import Change, ManagedFile
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.model import PlanContext

_USER = re.compile(r"[a-z_][a-z0-9_.-]*\$?", re.IGNORECASE)


@dataclasses.dataclass(frozen=True)
class SshPlan:
    """Hold what the role does. inputs: None where the site does not ask for it."""

    files: tuple[ManagedFile, ...] = ()
    changes: tuple[Change, ...] = ()
    inputs: dict[str, t.Any] | None = None
    notes: tuple[str, ...] = ()


def plan_ssh(ctx: PlanContext, model: LaunchModel, user: str) -> SshPlan:
    """Return what this node needs so that the first one reaches it, and the first one what it needs for all.

    :raises ConfigError: nobody says whose jobs they are, or the name cannot stand in a file.
    """
    if not ctx.profile["launch_ssh"]:
        return SshPlan()
    if not _USER.fullmatch(user):
        raise ConfigError(f"the job's user is {user!r}; launch_ssh needs launch_user, or a user in bringup_users")
    first = ctx.host == model.master
    peer = ctx.peers.get(model.master)
    key = peer.public_key if peer and ssh.PUBLIC_KEY.fullmatch(peer.public_key) else ""
    changes: list[Change] = []
    if first and not key:
        reason = "with it the job's user reaches the nodes of a job"
        changes.append(Change("key", ssh.key_path(model, user), "absent", "a key of its own", reason))
    line = ssh.authorized_line(key) if key else ""
    if not line or (ctx.area("launch").get("authorized") or []) != [line]:
        home = ctx.area("launch").get("home") or f"~{user}"
        subject = f"{home}/.ssh/authorized_keys"
        reason = f"{user} reaches this node from {model.master}, which starts the ranks"
        changes.append(Change("key", subject, "another key or none", f"the key of {model.master}", reason))
    files, notes = _files(ctx, model, user) if first else ([], [])
    inputs = {
        "user": user,
        "key_path": ssh.key_path(model, user),
        "master": model.master,
        "public_key": key,
        "first": first,
    }
    return SshPlan(tuple(files), tuple(changes), inputs, tuple(notes))


def _files(ctx: PlanContext, model: LaunchModel, user: str) -> tuple[list[ManagedFile], list[str]]:
    path = model.path("known_hosts")
    text = ssh.known_hosts(model, ctx.peers, str((ctx.watched(path) or {}).get("text") or ""))
    files = [
        ManagedFile(path, text, "the host keys of the job's nodes: no first contact asks, no changed key is taken"),
        ManagedFile(ssh.CONFIG_PATH, ssh.ssh_config(model, user), f"how {user} reaches them: one key, no prompt"),
    ]
    notes = [
        f"{host}: no host key is known, so {user} does not reach it; run without --limit"
        for host in ssh.unknown_hosts(model, text)
    ]
    return files, notes
