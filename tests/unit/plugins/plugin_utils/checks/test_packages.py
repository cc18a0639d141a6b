# SPDX-License-Identifier: Apache-2.0
"""The checks of packages.py."""

from __future__ import annotations

from collections.abc import Callable

from support.machines import Json
from support.rows import Row, change, changes, each, hole, not_held

NO_DPKG = Row("unknown", "EACCES", hole("dpkg/packages", "/var/lib/dpkg/status"))
NOT_HELD = Row("skipped", "does not hold", not_held("dpkg"))


def package(name: str, version: str, status: str = "ii ", hold: bool = False) -> Callable[[Json], None]:
    return change(f"dpkg/packages/{name}", {"version": version, "status": status, "hold": hold, "auto": None})


def without(name: str) -> Callable[[Json], object]:
    return lambda snapshot: snapshot["dpkg"]["packages"].pop(name)


@each(
    {
        "all": Row("ok"),
        "one missing": Row("fail", "rocm-hip-sdk is not installed", without("rocm-hip-sdk"), subject="rocm-hip-sdk"),
        "of an older release": Row(
            "fail",
            "another version",
            package("rocm-hip-sdk", "5.2.0.50200-65~22.04"),
            observed="5.2.0.50200-65~22.04",
            evidence="dpkg-query --show",
        ),
        "removed, configuration left": Row(
            "fail", "not installed", package("amdgpu-dkms", "1:5.18.13.50402-1510348.22.04", "rc ")
        ),
        "half-configured": Row("fail", "not installed", package("amdgpu-dkms", "1:5.18.13.50402-1.22.04", "iF ")),
        "nothing managed": Row("skipped", "manages no package", plan=lambda plan: plan.update(packages={})),
        "dpkg not readable": NO_DPKG,
        "captured tree without dpkg": NOT_HELD,
    }
)
def test_pkg_release_complete(row: Row) -> None:
    row.assert_holds("pkg.release_complete")


@each(
    {
        "AMD's only": Row("ok"),
        "the distribution's of a shadowed name": Row(
            "fail",
            "that AMD's release also has",
            package("rocminfo", "5.0.0-1"),
            subject="rocminfo",
            observed="5.0.0-1",
        ),
        "the distribution's, removed": Row("ok", change=package("rocminfo", "5.0.0-1", "rc ")),
        "the distribution's of a name that AMD has not": Row(
            "warn", "no such package", package("hip-dev-clang", "5.0.0-1")
        ),
        "a package of no ROCm name": Row("ok", change=package("libamdhip64-5", "5.2.3-1")),
        "dpkg not readable": NO_DPKG,
        "captured tree without dpkg": NOT_HELD,
    }
)
def test_pkg_foreign_rocm(row: Row) -> None:
    row.assert_holds("pkg.foreign_rocm")


@each(
    {
        "one release, this distribution": Row("ok", expected="ROCm 5.4.2 built for 22.04"),
        "a package of another release": Row(
            "fail", "ROCm 5.2.0 beside ROCm 5.4.2", package("rocblas", "2.44.0.50200-65~22.04"), subject="ROCm 5.2.0"
        ),
        "a driver of another release, told by its branch": Row(
            "fail", "ROCm 5.2.0", package("amdgpu-dkms", "1:5.16.9.22.20-1438746.22.04")
        ),
        "built for another distribution": Row(
            "fail", "builds for 20.04", package("rocblas", "2.46.0.50402-104~20.04"), subject="builds for 20.04"
        ),
        "everything built for another distribution": Row("fail", "builds for 22.04", change("os/version_id", "24.04")),
        "none of AMD's": Row("skipped", "no package of AMD's", change("dpkg/packages", {})),
        "distribution not known": Row("unknown", "ENOENT", hole("os/version_id", "/etc/os-release", "ENOENT")),
        "dpkg not readable": NO_DPKG,
        "captured tree without dpkg": NOT_HELD,
    }
)
def test_pkg_stream_coherent(row: Row) -> None:
    row.assert_holds("pkg.stream_coherent")


@each(
    {
        "all held": Row("ok"),
        "the site's own hold is named and right": Row(
            "ok", "not by us: linux-image-generic", change("dpkg/packages/linux-image-generic/hold", True)
        ),
        "one not held": Row(
            "fail",
            "an upgrade may replace it",
            change("dpkg/packages/rccl/hold", False),
            subject="rccl",
            evidence="apt-mark showhold",
        ),
        "one not installed": Row("fail", "not installed", without("rccl")),
        "nothing to hold": Row("skipped", "holds no package", plan=lambda plan: plan.update(holds=[])),
        "dpkg not readable": NO_DPKG,
        "captured tree without dpkg": NOT_HELD,
    }
)
def test_pkg_hold_state(row: Row) -> None:
    row.assert_holds("pkg.hold_state")


@each(
    {
        "none": Row("ok"),
        "removed, configuration left": Row("ok", change=package("rocm-core5.7.1", "5.7.1", "rc ")),
        "held": Row("ok", change=package("rocm-hip-runtime", "5.4.2", "hi ", hold=True)),
        "half-configured": Row(
            "fail",
            "dpkg status iF",
            package("linux-headers-6.8.0-44-generic", "6.8", "iF "),
            observed="half-configured",
        ),
        "unpacked": Row("fail", change=package("linux-headers-generic", "6.8", "iU "), subject="linux-headers-generic"),
        "half-installed, to be reinstalled": Row(
            "fail", "must be reinstalled", package("amdgpu-dkms-firmware", "1:5.18", "iHR")
        ),
        "triggers pending": Row("fail", change=package("man-db", "2", "it "), observed="triggers pending"),
        "installed, to be reinstalled": Row("fail", change=package("x", "1", "iiR"), observed="must be reinstalled"),
        "dpkg not readable": NO_DPKG,
        "captured tree without dpkg": NOT_HELD,
    }
)
def test_dpkg_unfinished(row: Row) -> None:
    row.assert_holds("dpkg.unfinished")


def test_every_wrong_package_has_its_own_result() -> None:
    made = Row("fail", change=changes(without("rccl"), without("rocm-core"), without("rocm-hip-sdk"))).node()
    made.plan["packages"]["rccl"] = "*"
    assert [result.subject for result in made.check("pkg.release_complete")] == ["rccl", "rocm-hip-sdk"]
