# SPDX-License-Identifier: Apache-2.0
"""The checks of launch.py. CASES D-01, D-02, D-06."""

from __future__ import annotations

import typing as t

from support.machines import Json
from support.rows import Row, change, changes, each, hole, not_held
from support.snapshots import VENV

PATH = "/etc/deepspeed/hostfile"
SSH = "/etc/ssh/ssh_config.d/50-instinct-launch.conf"


def hostfile(text: str | None, **fields: t.Any) -> t.Callable[[Json], None]:
    """Return a change of the node's hostfile."""

    def apply(snapshot: Json) -> None:
        snapshot["watch"][PATH].update(text=text, size=len(text or ""), **fields)

    return apply


def unreadable(snapshot: Json) -> None:
    snapshot["watch"][PATH] = None
    snapshot["problems"].append({"area": "watch", "path": PATH, "message": "Permission denied (EACCES)"})


def no_launch(plan: Json) -> None:
    plan["launch"] = None


@each(
    {
        "there": Row("ok", expected="a regular file, readable, not empty"),
        "absent, D-01": Row("fail", "no file here", hostfile(None, type="absent"), subject=PATH),
        "a folder": Row("fail", "no file here", hostfile(None, type="directory")),
        "empty": Row("fail", "is empty", hostfile("")),
        "only root reads it": Row("fail", "cannot read it", hostfile("gpu01 slots=8\n", mode="0600")),
        "not readable": Row("unknown", "EACCES", unreadable),
        "its mode not known": Row("unknown", "", hostfile("gpu01 slots=8\n", mode=None)),
        "no job here": Row("skipped", "no job runs", plan=no_launch),
        "captured tree": Row("skipped", "does not hold", not_held("watch")),
    }
)
def test_hostfile_present(row: Row) -> None:
    row.assert_holds("ds.hostfile_present")


@each(
    {
        "right": Row("ok", observed="1 hosts"),
        "misspelled": Row("fail", "line 1, 'gpu01 lots=8'", hostfile("gpu01 lots=8\n"), evidence=f"{PATH}:1"),
        "too long for a snapshot": Row("unknown", "longer than", hostfile(None)),
        "absent": Row("skipped", "no file", hostfile(None, type="absent")),
        "no job here": Row("skipped", "no job runs", plan=no_launch),
    }
)
def test_hostfile_syntax(row: Row) -> None:
    row.assert_holds("ds.hostfile_syntax")


def test_of_many_wrong_lines_the_first_are_told_and_the_rest_counted() -> None:
    found = Row("fail", change=hostfile("gpu01 lots=8\n" * 10_000)).node().check("ds.hostfile_syntax")
    assert len(found) == 21
    assert found[-1].reason == "9981 more lines are wrong"


@each(
    {
        "as many": Row("ok", observed="8 slots"),
        "more slots": Row("fail", "9 slots and 8 GPUs", hostfile("gpu01 slots=9\n"), expected="8 slots"),
        "fewer slots": Row("warn", "4 GPUs stay idle", hostfile("gpu01 slots=4\n")),
        "not named": Row("fail", "does not name gpu01", hostfile("gpu02 slots=8\n"), subject="gpu01"),
        "no job here": Row("skipped", "no job runs", plan=no_launch),
        "captured tree": Row("skipped", "does not hold", not_held("pci")),
    }
)
def test_slots_vs_gpus(row: Row) -> None:
    row.assert_holds("ds.slots_vs_gpus")


@each(
    {
        "as planned": Row("ok", observed="8 ranks on 1 hosts"),
        "a host too many": Row("fail", "gpu02 is not of the inventory", hostfile("gpu01 slots=8\ngpu02 slots=8\n")),
        "a host missing": Row("fail", "gpu01 is missing", hostfile("gpu02 slots=8\n"), expected="8 ranks on 1 hosts"),
        "other slots": Row(
            "fail", "gpu01 has 2 slots, not 8", hostfile("gpu01 slots=2\n"), observed="2 ranks on 1 hosts"
        ),
        "no job here": Row("skipped", "no job runs", plan=no_launch),
    }
)
def test_world_size_expected(row: Row) -> None:
    row.assert_holds("ds.world_size_expected")


@each(
    {
        "pdsh is there": Row("ok", subject="pdsh"),
        "no pdsh, D-06": Row(
            "fail", "stops without it", lambda snapshot: snapshot["dpkg"]["packages"].pop("pdsh"), subject="pdsh"
        ),
        "no venv": Row("fail", "is not there", change("python_envs/0/exists", False), subject=VENV),
        "the site's own keys": Row("ok", subject="pdsh"),
        "our key": Row("ok", options={"launch_ssh": True}),
        "no key of ours": Row(
            "fail",
            "deploy does not reach",
            change("launch/authorized", []),
            options={"launch_ssh": True},
            subject="ssh",
        ),
        "keys that sshd does not trust": Row(
            "fail", "others may write", change("launch/unsafe", ["/home/deploy (0775)"]), options={"launch_ssh": True}
        ),
        "keys not readable": Row(
            "unknown",
            "EACCES",
            changes(change("launch/authorized", None), hole("launch/home", "/home/deploy/.ssh")),
            options={"launch_ssh": True},
        ),
        "no configuration": Row(
            "fail",
            "would not use the key",
            lambda snapshot: snapshot["watch"][SSH].update(type="absent"),
            options={"launch_ssh": True},
            subject="ssh configuration",
        ),
        "no job here": Row("skipped", "no job runs", plan=no_launch),
        "dpkg not readable": Row("unknown", "EACCES", hole("dpkg/packages", "/var/lib/dpkg/status")),
    }
)
def test_launcher_available(row: Row) -> None:
    row.assert_holds("ds.launcher_available")


@each(
    {
        "free": Row("ok", observed="free"),
        "in use": Row("warn", "something listens at port 29500", change("launch/listening", [22, 29500])),
        "in use on another node": Row(
            "ok", change=change("launch/listening", [29500]), plan=lambda plan: plan["launch"].update(master="gpu00")
        ),
        "in the range": Row("warn", "outgoing connections", options={"launch_port": 40000}, subject="port 40000"),
        "no job here": Row("skipped", "no job runs", plan=no_launch),
        "not this machine's": Row("skipped", "machine that runs this", change("launch/listening", None)),
    }
)
def test_launch_port(row: Row) -> None:
    row.assert_holds("launch.port")


@each(
    {
        "the profile's": Row("ok", subject="eth0", observed="MTU 1500"),
        "a name that is not there": Row(
            "fail", "names no card that is up", options={"launch_interface": "=eth7"}, subject="=eth7"
        ),
        "none is up": Row(
            "warn", "up are: none", change("net/interfaces", []), plan=lambda plan: plan["launch"].update(interface="")
        ),
        "no job here": Row("skipped", "no job runs", plan=no_launch),
    }
)
def test_launch_interface(row: Row) -> None:
    row.assert_holds("launch.interface")
