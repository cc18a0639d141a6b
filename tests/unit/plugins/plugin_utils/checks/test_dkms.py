# SPDX-License-Identifier: Apache-2.0
"""The checks of dkms.py: built, loaded, and nothing dead beside it."""

from __future__ import annotations

from collections.abc import Callable

from support.machines import Json
from support.rows import Row, change, changes, each, hole, not_held
from support.snapshots import DRIVER, KERNEL

OWN = {"rocm_dkms": False}
TREE = f"/var/lib/dkms/amdgpu/{DRIVER}"


def orphan(module: str, version: str) -> Callable[[Json], None]:
    def apply(snapshot: Json) -> None:
        path = f"/var/lib/dkms/{module}/{version}"
        tree = {"module": module, "version": version, "path": path, "has_source": False, "kernels": {}}
        snapshot["dkms"]["trees"].append(tree)

    return apply


@each(
    {
        "installed": Row("ok", subject=f"amdgpu/{DRIVER}", evidence=TREE),
        "built, not installed": Row("fail", "it is built", change(f"dkms/trees/0/kernels/{KERNEL}", "built")),
        "for another kernel": Row(
            "fail", "it is not built", change("kernel/release", "5.15.0-92-generic"), observed="not built"
        ),
        "another driver": Row(
            "fail", "dkms does not know", change("dkms/trees/0/version", "5.16.9.22.20-1438746.20.04")
        ),
        "5.18.130 is not 5.18.13": Row("fail", change=change("dkms/trees/0/version", "5.18.130-1")),
        "no tree": Row("fail", "dkms does not know", change("dkms/trees", []), observed="no tree"),
        "the kernel's own driver": Row("skipped", "rocm_dkms", change("dkms/trees", []), options=OWN),
        "kernel not readable": Row("unknown", "EACCES", hole("kernel/release", "/proc/sys/kernel/osrelease")),
        "dkms not readable": Row("unknown", "EACCES", hole("dkms", "/var/lib/dkms")),
        "captured tree without dkms": Row("skipped", "does not hold", not_held("dkms")),
    }
)
def test_dkms_built_for_running(row: Row) -> None:
    row.assert_holds("dkms.built_for_running")


@each(
    {
        "none": Row("ok", observed="1 trees, all with a source"),
        "of amdgpu": Row(
            "fail",
            "dkms.conf is gone",
            orphan("amdgpu", "5.13.20.22.10-1420322.20.04"),
            subject="amdgpu/5.13.20.22.10-1420322.20.04",
            evidence="/var/lib/dkms/amdgpu/5.13.20.22.10-1420322.20.04",
        ),
        "of another module": Row("warn", change=orphan("amdxdna", "1.0")),
        "dkms not readable": Row("unknown", "EACCES", hole("dkms/trees", "/var/lib/dkms")),
        "captured tree without dkms": Row("skipped", "does not hold", not_held("dkms")),
    }
)
def test_dkms_orphan_tree(row: Row) -> None:
    row.assert_holds("dkms.orphan_tree")


NOT_BUILT = change("dkms/trees", [])


@each(
    {
        "the release's": Row("ok", observed="5.18.13", evidence="/sys/module/amdgpu/version"),
        "older, the wanted one is installed": Row(
            "fail",
            "reboot pending: amdgpu 5.16.9",
            change("modules/amdgpu/version", "5.16.9.22.20"),
            expected="5.18.13",
        ),
        "older, and nothing else installed": Row(
            "fail", "amdgpu 5.16.9", changes(NOT_BUILT, change("modules/amdgpu/version", "5.16.9.22.20"))
        ),
        "the kernel's own, the wanted one is installed": Row(
            "fail", "reboot pending: the kernel's own", change("modules/amdgpu/version", None)
        ),
        "not loaded": Row("fail", "not loaded", changes(NOT_BUILT, change("modules/amdgpu/loaded", False))),
        "the kernel's own is wanted": Row("skipped", "rocm_dkms", options=OWN),
        "not readable": Row("unknown", "EACCES", hole("modules/amdgpu", "/sys/module/amdgpu")),
        "captured tree without modules": Row("skipped", "does not hold", not_held("modules")),
    }
)
def test_driver_version_loaded(row: Row) -> None:
    row.assert_holds("driver.version_loaded")


def test_no_reboot_is_asked_for_where_the_driver_is_not_built() -> None:
    made = Row("fail", change=changes(NOT_BUILT, change("modules/amdgpu/version", "5.16.9"))).node()
    assert "reboot pending" not in made.check("driver.version_loaded")[0].reason
