# SPDX-License-Identifier: Apache-2.0
"""The checks of kernel_packages.py and slurm.py, the driver of the next boot, and users. CASES K-01, K-02, A-02, A-03."""

from __future__ import annotations

from typing import Any

from support.rows import Row, change, changes, each, not_held

NEXT = "6.8.0-44-generic"


def package(name: str, status: str, hold: bool = False) -> Any:
    return change(f"dpkg/packages/{name}", {"version": "1", "status": status, "hold": hold, "auto": None})


@each(
    {
        "none": Row("ok", observed="none"),
        "K-02, free to move": Row(
            "warn", "next version", package("linux-generic-hwe-24.04", "ii "), observed="not held"
        ),
        "held": Row("ok", change=package("linux-generic-hwe-24.04", "hi ", True), observed="linux-generic-hwe-24.04"),
        "removed": Row("ok", change=package("linux-generic-hwe-24.04", "rc ")),
        "no driver is built": Row("skipped", "rocm_dkms", options={"rocm_dkms": False}),
        "captured tree without dpkg": Row("skipped", "does not hold", not_held("dpkg")),
    }
)
def test_hwe_meta(row: Row) -> None:
    row.assert_holds("kernel.hwe_meta_installed")


@each(
    {
        "well": Row("ok"),
        "K-01": Row("fail", "is iF", package(f"linux-headers-{NEXT}", "iF "), subject=f"linux-headers-{NEXT}"),
        "K-01, unpacked": Row("fail", "is iU", package("linux-headers-generic", "iU ")),
        "another package": Row("ok", change=package("cowsay", "iF ")),
    }
)
def test_half_configured(row: Row) -> None:
    row.assert_holds("kernel.half_configured")


HCA = change("net/hcas", [{"name": "mlx5_0", "bdf": None, "numa_node": 0, "ports": []}])


@each(
    {
        "no RDMA": Row("skipped", "no RDMA"),
        "all set": Row("ok", change=HCA),
        "one is not": Row(
            "warn", "CONFIG_PCI_P2PDMA not set", changes(HCA, change("kernel/config/CONFIG_PCI_P2PDMA", "n"))
        ),
        "no configuration": Row("unknown", "not hold", changes(HCA, change("kernel/config", None))),
    }
)
def test_peer_config(row: Row) -> None:
    row.assert_holds("kernel.peer_config")


@each(
    {
        "the same kernel": Row("ok", observed="installed"),
        "K-01, the next is another": Row(
            "fail", f"the next boot starts {NEXT}", change("kernel/next_release", NEXT), observed="not built"
        ),
        "no tree": Row("fail", "does not know", change("dkms/trees", []), observed="no tree"),
        "not known": Row("unknown", "not known", change("kernel/next_release", None), required=False),
        "no driver is built": Row("skipped", "rocm_dkms", options={"rocm_dkms": False}),
    }
)
def test_built_for_next_boot(row: Row) -> None:
    row.assert_holds("dkms.built_for_next_boot")


def lines(*values: dict[str, str]) -> Any:
    found = [{"path": "/etc/slurm/gres.conf", "line": 1 + at, "values": value} for at, value in enumerate(values)]
    return change("slurm/lines", found)


@each(
    {
        "no Slurm": Row("skipped", "no gres.conf"),
        "A-03": Row(
            "fail", "no detection 'amdgpu'", lines({"autodetect": "amdgpu"}), evidence="/etc/slurm/gres.conf:1"
        ),
        "the right word": Row("ok", change=lines({"autodetect": "rsmi"})),
    }
)
def test_gres_autodetect(row: Row) -> None:
    row.assert_holds("slurm.gres_autodetect")


@each(
    {
        "no Slurm": Row("skipped", "no GPU"),
        "A-03, gres.conf": Row("fail", "the type is '8'", lines({"name": "gpu", "type": "8", "count": "1"})),
        "A-03, slurm.conf": Row("fail", "the type is '8'", lines({"gres": "gpu:8:1"})),
        "a count": Row("ok", change=lines({"gres": "gpu:8"})),
        "a type and a count": Row("ok", change=lines({"gres": "gpu:mi210:8(S:0-1),craynetwork:2"})),
        "another count": Row("warn", "KFD shows 8", lines({"gres": "gpu:mi210:4"})),
    }
)
def test_gres_type_numeric(row: Row) -> None:
    row.assert_holds("slurm.gres_type_numeric")


@each(
    {
        "local": Row("ok", observed="local"),
        "A-02, from a directory": Row(
            "warn", "no playbook", changes(change("users/deploy/local", False), change("users/deploy/groups", ["lab"]))
        ),
        "A-02, in the groups all the same": Row("ok", change=change("users/deploy/local", False)),
        "A-02, by a rule": Row("skipped", "udev", options={"gpu_access": "udev"}),
        "nobody": Row("skipped", "nobody", options={"bringup_users": []}),
    }
)
def test_user_local(row: Row) -> None:
    row.assert_holds("access.user_local")


@each(
    {
        "one number": Row("ok", observed="render=104, video=44"),
        "A-02": Row("fail", "video is 44 in /etc/group, and 39", change("users/deploy/gids/video", 39)),
        "no such groups": Row("skipped", "neither", change("groups", {})),
    }
)
def test_gid_conflict(row: Row) -> None:
    row.assert_holds("access.gid_conflict")
