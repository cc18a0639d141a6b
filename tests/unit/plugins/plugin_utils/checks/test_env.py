# SPDX-License-Identifier: Apache-2.0
"""The checks of env.py and rccl_env.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from support.rows import Row, each
from support.snapshots import node

SHELL = "/etc/profile.d/site.sh"
CONF = "/etc/rccl.conf"
LOG = "/var/tmp/rccl.log"


def file(text: str, path: str = SHELL, user: str | None = None) -> Callable[[dict[str, Any]], None]:
    return lambda seen: seen["environment"]["files"].append({"path": path, "user": user, "text": text})


def process(**variables: str) -> Callable[[dict[str, Any]], None]:
    entry = {"pid": 12, "name": "python", "variables": variables}
    return lambda seen: seen["environment"]["processes"].append(entry)


def without(path: str) -> Callable[[dict[str, Any]], None]:
    def apply(seen: dict[str, Any]) -> None:
        seen["environment"]["files"] = [entry for entry in seen["environment"]["files"] if entry["path"] != path]

    return apply


def log(taken: dict[str, str] | None) -> Callable[[dict[str, Any]], None]:
    return lambda seen: seen["environment"]["logs"].append({"path": LOG, "taken": taken})


@each(
    {
        "nothing of the kind": Row("ok"),
        "unread": Row("warn", "nothing reads it", file("\nexport RCCL_BUFFSIZE=1"), evidence=f"{SHELL}:2"),
        "a slip": Row("warn", "NCCL_MIN_NCHANNELS", file("export NCCL_MIN_NCHANNEL=1"), observed="typo"),
        "in a running job": Row("warn", change=process(HSA_CACHE_SIZE="1"), evidence="process 12 (python)"),
        "of no release": Row("ok", change=file("export UCX_SOMETHING=1")),
    }
)
def test_unknown_var(row: Row) -> None:
    row.assert_holds("env.unknown_var")


@each(
    {
        "nothing of the kind": Row("ok"),
        "of older releases": Row("warn", "up to 5.2.1", file("export RCCL_ENABLE_CLIQUE=0"), observed="obsolete"),
        "of newer releases": Row("warn", "from 5.5.0 on", file("export RCCL_MSCCL_ENABLE=0"), observed="not_yet"),
        "of builds": Row("ok", change=file("export HIP_PATH=/opt/rocm")),
    }
)
def test_obsolete_var(row: Row) -> None:
    row.assert_holds("env.obsolete_var")


@each(
    {
        "as they should be": Row("ok"),
        "a unit": Row("fail", "write 4194304", file("NCCL_LL_BUFFSIZE=4M", "/home/a/.rccl.conf", "a")),
        "an adapter": Row("fail", "mlxl5_7 is no adapter", file("export NCCL_IB_HCA=mlxl5_7")),
        "interfaces are told elsewhere": Row("ok", change=file("export NCCL_SOCKET_IFNAME=ib9")),
    }
)
def test_value_refs_exist(row: Row) -> None:
    row.assert_holds("env.value_refs_exist")


@each(
    {
        "none": Row("ok"),
        "in a job": Row("ok", change=process(HIP_VISIBLE_DEVICES="0,1")),
        "none is left": Row(
            "fail",
            "devices that are left: none",
            process(ROCR_VISIBLE_DEVICES="1", HIP_VISIBLE_DEVICES="1"),
            observed="none",
        ),
        "two of them": Row(
            "warn",
            "devices that are left: 0000:43:00.0",
            process(ROCR_VISIBLE_DEVICES="0,1", HIP_VISIBLE_DEVICES="1"),
        ),
        "for every job": Row("warn", "every job on the node", file("export HIP_VISIBLE_DEVICES=0")),
    }
)
def test_visible_conflict(row: Row) -> None:
    row.assert_holds("env.visible_conflict")


def interfaces(*names: str) -> Callable[[dict[str, Any]], None]:
    def apply(seen: dict[str, Any]) -> None:
        seen["net"]["interfaces"] = [{"name": name} for name in names]

    return apply


@each(
    {
        "the profile's": Row("ok", observed="=eth0 is eth0"),
        "gone": Row("fail", "there are eno1, lo", interfaces("eno1", "lo"), observed="=eth0 is none"),
        "a prefix of several": Row(
            "warn",
            "bond0 is the beginning of bond0, bond0.2093",
            lambda seen: (
                interfaces("lo", "eth0", "bond0", "bond0.2093")(seen),
                file("export NCCL_SOCKET_IFNAME=bond0")(seen),
            ),
        ),
        "one of two": Row("warn", "ib0 matches no interface", file("export NCCL_SOCKET_IFNAME=eth0,ib0")),
        "all but some": Row("ok", options={"rccl_socket_ifname": "^lo,docker"}, observed="^lo,docker is eth0"),
        "not set": Row("skipped", "is not set", lambda seen: seen["environment"].update(files=[])),
    }
)
def test_ifname_expands(row: Row) -> None:
    row.assert_holds("net.ifname_expands")


@each(
    {
        "the profile's": Row("ok"),
        "another value wins": Row(
            "warn",
            "the profile says =eth0, a job gets eno1",
            file("export NCCL_SOCKET_IFNAME=eno1"),
            evidence=f"{SHELL}:1",
        ),
        "a user's own": Row("ok", change=file("NCCL_IB_TC=1", "/home/a/.rccl.conf", "a")),
        "places differ": Row(
            "warn",
            "places differ; a job gets 1",
            lambda seen: (file("export NCCL_IB_TC=1")(seen), file("NCCL_IB_TC=2", "/home/a/.rccl.conf", "a")(seen)),
        ),
        "the profile is nowhere": Row(
            "warn", "lack it", lambda seen: seen["environment"].update(files=[]), observed="set nowhere"
        ),
    }
)
def test_conf_sources(row: Row) -> None:
    row.assert_holds("rccl.conf_sources")


def test_each_value_is_told_with_where_it_comes_from() -> None:
    made = node("mi210-2gpu-pcie", rccl_profile="low_memory")
    told = {result.subject: result.observed for result in made.check("rccl.conf_sources")}
    assert told["NCCL_BUFFSIZE"].startswith("1048576 from /etc/profile.d/rccl.sh:")
    assert told["NCCL_BUFFSIZE"].endswith("; 1048576 from /etc/rccl.conf:2")


@each(
    {
        "none": Row("ok"),
        "in a file of the image": Row(
            "fail",
            "ends the job",
            file("NCCL_GRAPH_FILE=/opt/g.xml", CONF),
            observed="/opt/g.xml",
            evidence=f"{CONF}:1",
        ),
        "of a path that is not known": Row("fail", change=file("export NCCL_GRAPH_FILE=$D/g.xml"), observed="/g.xml"),
    }
)
def test_graph_file_injected(row: Row) -> None:
    row.assert_holds("rccl.graph_file_injected")


def image(text: str | None) -> Callable[[dict[str, Any]], None]:
    """Return a node with an image's rccl.conf that names a topology of another machine."""

    def apply(seen: dict[str, Any]) -> None:
        file("NCCL_TOPO_FILE=/opt/vendor/topo.xml", CONF)(seen)
        seen["environment"]["referenced"]["/opt/vendor/topo.xml"] = text

    return apply


FOREIGN = '<system version="2"><cpu numaid="0"><pci busid="0001:00:00.0"><gpu dev="0"/></pci></cpu></system>'


@each(
    {
        "none": Row("skipped", "is not there"),
        "of another machine": Row("fail", "not on this host", image(FOREIGN), subject="/opt/vendor/topo.xml"),
        "not there": Row("fail", "RCCL warns", image(None), evidence=f"{CONF}:1"),
        "not looked at": Row("unknown", "was not looked at", file("NCCL_TOPO_FILE=/x.xml", CONF), subject="/x.xml"),
    }
)
def test_topology_that_a_file_names(row: Row) -> None:
    row.assert_holds("rccl.topo_matches_host")


LOW = {"rccl_profile": "low_memory"}
TAKEN = {"NCCL_BUFFSIZE": "1048576", "NCCL_MAX_NCHANNELS": "2", "NCCL_MAX_P2P_NCHANNELS": "2"}


@each(
    {
        "no log": Row("skipped", "names no log"),
        "unreadable": Row("unknown", change=log(None), required=False),
        "all of it": Row("ok", change=log(TAKEN), options=LOW),
        "one less": Row(
            "warn",
            "did not take it",
            log({name: value for name, value in TAKEN.items() if name != "NCCL_BUFFSIZE"}),
            options=LOW,
            subject="NCCL_BUFFSIZE",
        ),
        "another value": Row("warn", "another value", log({**TAKEN, "NCCL_BUFFSIZE": "4"}), options=LOW, observed="4"),
        "more": Row("ok", change=log({**TAKEN, "NCCL_ALGO": "Ring"}), options=LOW),
    }
)
def test_applied(row: Row) -> None:
    row.assert_holds("env.applied")


@pytest.mark.parametrize(
    "check_id", ["env.unknown_var", "env.value_refs_exist", "rccl.graph_file_injected", "env.visible_conflict"]
)
def test_an_area_that_is_not_there_is_never_ok(check_id: str) -> None:
    made = node()
    made.snapshot["environment"] = None
    assert {result.outcome for result in made.check(check_id)} == {"unknown"}


def test_the_report_tells_what_the_profile_costs() -> None:
    found = node("mi210-8gpu-2hives", rccl_profile="low_memory").check("rccl.memory")
    assert [result.subject for result in found] == [
        "RCCL's memory without a profile",
        "RCCL's memory with profile low_memory",
    ]
    assert "104 to 128 MiB" in found[0].observed
    assert "12 to 16 MiB" in found[1].observed
    assert "Not counted" in found[1].observed


def test_a_profile_that_changes_no_memory_is_told_once() -> None:
    assert len(node("mi210-8gpu-2hives").check("rccl.memory")) == 1


def test_without_gpus_there_is_nothing_to_tell() -> None:
    made = node()
    made.plan["notes"] = []
    assert [result.outcome for result in made.check("rccl.memory")] == ["skipped"]
