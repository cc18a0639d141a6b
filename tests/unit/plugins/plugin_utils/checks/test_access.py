# SPDX-License-Identifier: Apache-2.0
"""The checks of access.py."""

from __future__ import annotations

from collections.abc import Callable

from support.machines import Json
from support.rows import Row, change, changes, each, hole, not_held
from support.snapshots import node

UDEV = {"gpu_access": "udev"}


def opened(error: str, device: str = "/dev/kfd") -> Callable[[Json], None]:
    return lambda snapshot: snapshot["devices"]["open_as"]["deploy"].update({device: error})


def modes(mode: str, group: str = "render") -> Callable[[Json], None]:
    def apply(snapshot: Json) -> None:
        for device in snapshot["devices"]["nodes"]:
            device.update(mode=mode, group=group)

    return apply


def nobody(snapshot: Json) -> None:
    snapshot["users"]["deploy"].update(exists=False)
    snapshot["devices"]["open_as"] = {}


@each(
    {
        "opened": Row("ok", subject="deploy"),
        "permission": Row("fail", "permission denied (EACCES)", opened("EACCES"), evidence="/dev/kfd"),
        "a render node": Row(
            "fail", "/dev/dri/renderD128", opened("EACCES", "/dev/dri/renderD128"), evidence="/dev/dri/renderD128"
        ),
        "driver state, not permission": Row("fail", "invalid argument", opened("EINVAL")),
        "no memory for the driver": Row("fail", "allocate memory", opened("ENOMEM")),
        "no device": Row("fail", "not there", opened("ENOENT")),
        "an error nobody knows": Row("fail", "open failed (EIO)", opened("EIO")),
        "no such user": Row("fail", "does not exist", nobody),
        "not tried": Row(
            "unknown",
            "may not become",
            changes(
                change("devices/open_as", {}),
                lambda snapshot: snapshot["problems"].append(
                    {"area": "devices", "path": "/dev/kfd", "message": "may not become deploy"}
                ),
            ),
        ),
        "no users named": Row("skipped", "names nobody", options={"bringup_users": []}),
        "captured tree, not tried": Row("skipped", "does not hold", not_held("devices.open_as")),
        "captured tree without devices": Row("skipped", "does not hold", not_held("devices")),
    }
)
def test_dev_kfd_openable_as_user(row: Row) -> None:
    row.assert_holds("dev.kfd_openable_as_user")


def test_only_a_permission_is_answered_with_groups() -> None:
    remedies = {
        error: node(change=opened(error)).check("dev.kfd_openable_as_user")[0].remedy for error in ("EACCES", "EINVAL")
    }
    assert "group that owns the device" in remedies["EACCES"]
    assert "Not a question of groups" in remedies["EINVAL"]


@each(
    {
        "groups": Row("ok", observed="0660 root:render"),
        "video is a group too": Row("ok", change=modes("0660", "video")),
        "groups, but open to all": Row("warn", "open to everybody", modes("0666")),
        "groups, open to all: nobody needs a group": Row(
            "warn", change=changes(modes("0666"), change("users/deploy/groups", ["deploy"])), subject="/dev/kfd"
        ),
        "groups, but root's alone": Row("fail", "no member of render", modes("0600", "root"), evidence="/dev/kfd"),
        "not a member": Row(
            "fail", "deploy is not a member of render", change("users/deploy/groups", ["deploy"]), subject="deploy"
        ),
        "a directory's user, not a member": Row(
            "warn",
            "comes from a directory",
            changes(change("users/deploy/groups", ["lab"]), change("users/deploy/local", False)),
        ),
        "udev": Row("ok", change=modes("0666"), options=UDEV),
        "udev, but not open": Row("fail", "does not apply", options=UDEV, expected="0666"),
        "no device": Row("unknown", "neither", change("devices/nodes", [])),
        "not readable": Row("unknown", "EACCES", hole("devices/nodes", "/dev")),
        "captured tree without devices": Row("skipped", "does not hold", not_held("devices")),
    }
)
def test_access_mode_consistent(row: Row) -> None:
    row.assert_holds("access.mode_consistent")
