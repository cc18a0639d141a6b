# SPDX-License-Identifier: Apache-2.0
"""Check that the people who run jobs can open the GPUs: by trying, not by reading group files."""

from __future__ import annotations

import collections.abc as c

from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.hardware import Json
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.model import (
    FAIL,
    OK,
    WARN,
    CheckContext,
    Finding,
    skipped,
    unknown,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.registry import check

KFD = "/dev/kfd"
DRIVER = "Not a question of groups: the driver refused. Read the kernel log of this boot, then reload or reboot."
# What an error of open() means here, and what to do where groups are not the answer.
ERRORS: dict[str, tuple[str, str | None]] = {
    "EACCES": ("permission denied", None),
    "EPERM": ("permission denied", None),
    "EINVAL": ("the driver refuses the device (invalid argument)", DRIVER),
    "ENOMEM": ("the driver could not allocate memory", DRIVER),
    "ENODEV": ("no driver behind the device", DRIVER),
    "ENXIO": ("no driver behind the device", DRIVER),
    "ENOENT": ("the device is not there", "Load the driver: modprobe amdgpu. See gpu.driver_bound."),
}


@check(
    "dev.kfd_openable_as_user",
    "Every user of the profile can open the GPUs' devices",
    areas=("devices.nodes", "devices.open_as"),
    remedy=(
        "Add the user to the group that owns the device and let it log in again; a user of a directory "
        "gets the group there, or set gpu_access: udev."
    ),
)
def kfd_openable_as_user(context: CheckContext) -> c.Iterator[Finding]:
    """Take the result of a real open() of /dev/kfd and the render nodes as each of bringup_users."""
    users = context.option("bringup_users") or []
    if not users:
        yield skipped("bringup_users names nobody")
        return
    tried: dict[str, dict[str, str]] = context.snapshot["devices"]["open_as"]
    for user in users:
        seen = (context.snapshot.get("users") or {}).get(user)
        results = tried.get(user)
        if seen is not None and not seen.get("exists"):
            yield Finding(FAIL, user, "can open", "no such user", f"user {user} does not exist", KFD)
        elif not results or KFD not in results:
            yield unknown(context.problem(KFD, "devices"), KFD, user, "can open")
        else:
            yield _judge_open(user, results)


def _judge_open(user: str, results: dict[str, str]) -> Finding:
    failed = {path: result for path, result in sorted(results.items()) if result != "ok"}
    if not failed:
        return Finding(OK, user, "can open", f"opened {len(results)} devices", "", KFD)
    path = KFD if KFD in failed else next(iter(failed))
    meaning, remedy = ERRORS.get(failed[path], ("open failed", DRIVER))
    reason = f"{user} cannot open {path}: {meaning} ({failed[path]})"
    return Finding(FAIL, user, "can open", failed[path], reason, path, remedy)


def _open_to_all(device: Json) -> bool:
    return int(str(device["mode"]), 8) & 0o006 == 0o006


@check(
    "access.mode_consistent",
    "The devices' owners and modes are those that gpu_access asks for",
    areas=("devices.nodes",),
    remedy=(
        "Run site.yml. With gpu_access: groups the devices belong to render, mode 0660, and the users are "
        "members; with udev a rule opens them to everybody on the node."
    ),
)
def mode_consistent(context: CheckContext) -> c.Iterator[Finding]:
    """Compare mode and group of /dev/kfd and the render nodes, and the users' groups, with gpu_access.

    Where the devices are open to all, no group is asked of anybody.
    """
    nodes = context.snapshot["devices"].get("nodes") or []
    devices = [node for node in nodes if node["path"] == KFD or "/renderD" in node["path"]]
    if not devices:
        yield unknown("neither /dev/kfd nor a render node is there", KFD)
        return
    wanted = str(context.option("gpu_access", "groups"))
    for device in devices:
        observed = f"{device['mode']} {device.get('owner')}:{device.get('group') or device.get('gid')}"
        if wanted == "udev":
            outcome, reason = (OK, "") if _open_to_all(device) else (FAIL, "the rule does not apply to it")
            yield Finding(outcome, device["path"], "0666", observed, reason, device["path"])
        elif _open_to_all(device):
            reason = "open to everybody, although gpu_access is groups: some other rule opens it"
            yield Finding(WARN, device["path"], "0660 root:render", observed, reason, device["path"])
        elif device.get("group") in ("render", "video") and int(str(device["mode"]), 8) & 0o060 == 0o060:
            yield Finding(OK, device["path"], "0660 root:render", observed, "", device["path"])
        else:
            reason = "no member of render or video can open it"
            yield Finding(FAIL, device["path"], "0660 root:render", observed, reason, device["path"])
    if wanted == "groups":
        yield from _memberships(context, [device for device in devices if not _open_to_all(device)])


def _memberships(context: CheckContext, devices: list[Json]) -> c.Iterator[Finding]:
    groups = {str(device["group"]) for device in devices if device.get("group")}
    for user in context.option("bringup_users") or []:
        seen = (context.snapshot.get("users") or {}).get(user)
        if not seen or not seen.get("exists"):
            continue
        lacking = sorted(groups - set(seen.get("groups") or []))
        if lacking and seen.get("local"):
            reason = f"{user} is not a member of {', '.join(lacking)}"
            yield Finding(FAIL, user, ", ".join(sorted(groups)), "not a member", reason, "/etc/group")
        elif lacking:
            reason = f"{user} comes from a directory and is not in {', '.join(lacking)}; nothing local can change that"
            yield Finding(WARN, user, ", ".join(sorted(groups)), "not a member", reason, "/etc/group")


@check(
    "access.user_local",
    "The users of the profile can be given groups on this node",
    areas=("users",),
    required=False,
    remedy="Give the user the group in the directory, or set gpu_access: udev, which asks no group of anybody.",
)
def user_local(context: CheckContext) -> c.Iterator[Finding]:
    """Say of each of bringup_users whether /etc/passwd knows it: usermod cannot help one from a directory."""
    people = context.option("bringup_users") or []
    if not people or context.option("gpu_access") == "udev":
        yield skipped(
            "bringup_users names nobody" if not people else "gpu_access is udev: no group is asked of anybody"
        )
        return
    groups = context.snapshot.get("groups") or {}
    for name in people:
        user = context.snapshot["users"].get(name)
        if user is None or user.get("local") is None:
            yield unknown(context.problem("/etc/passwd", "users"), "/etc/passwd", name, "local")
        elif not user.get("exists"):
            yield skipped("dev.kfd_openable_as_user says that this user does not exist", name)
        elif user["local"] or set(groups) & set(user.get("groups") or []):
            yield Finding(
                OK, name, "local, or in the groups", "local" if user["local"] else "in the groups", "", "/etc/passwd"
            )
        else:
            reason = "comes from a directory and is in neither render nor video: no playbook can add it"
            yield Finding(WARN, name, "local, or in the groups", "from a directory", reason, "/etc/passwd")


@check(
    "access.gid_conflict",
    "The groups render and video have one number for everybody",
    areas=("users",),
    remedy=(
        "Give the group one number: change the directory's, or the local one with groupmod and a new boot. A device "
        "belongs to a number, and a user of the other one cannot open it."
    ),
)
def gid_conflict(context: CheckContext) -> c.Iterator[Finding]:
    """Compare the local numbers of render and video with those that the name service gives the users."""
    local: dict[str, int] = context.snapshot.get("groups") or {}
    conflicts = [
        (name, group, number, local[group])
        for name, user in sorted(context.snapshot["users"].items())
        for group, number in sorted(((user or {}).get("gids") or {}).items())
        if group in local and number != local[group]
    ]
    if not local:
        yield skipped("neither render nor video is a local group")
    elif not conflicts:
        observed = ", ".join(f"{group}={number}" for group, number in sorted(local.items()))
        yield Finding(OK, "", "one number a group", observed, "", "/etc/group")
    for name, group, number, own in conflicts:
        reason = f"{group} is {own} in /etc/group, and {number} for {name}"
        yield Finding(FAIL, f"{name} {group}", str(own), str(number), reason, "/etc/group")
