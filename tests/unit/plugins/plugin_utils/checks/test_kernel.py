# SPDX-License-Identifier: Apache-2.0
"""The checks of kernel.py: kernels compared as numbers."""

from __future__ import annotations

import pytest
from support.rows import Row, change, changes, each, hole, not_held

from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.kernel import _upper_bound, kernel_numbers


def running(release: str) -> object:
    return change("kernel/release", release)


@each(
    {
        "in AMD's table": Row("ok", expected="5.15 or 5.17"),
        "known to build": Row("ok", "not in AMD's table", running("5.19.0-38-generic")),
        "known to fail": Row("fail", "does not build on 6.2.0-20", running("6.2.0-20-generic")),
        "known to fail, but no driver is built": Row(
            "warn", "nothing is known", running("6.2.0-20-generic"), options={"rocm_dkms": False}
        ),
        "6.20 is not 6.2, but newer": Row("fail", "newer than 6.2, which fails", running("6.20.0-1-generic")),
        "newer than one that fails": Row(
            "fail", "newer than 6.2", running("6.8.0-44-generic"), observed="6.8.0-44-generic"
        ),
        "older than any known": Row("fail", "older than 5.15", running("5.4.0-150-generic")),
        "neither": Row("warn", "nothing is known", running("6.1.0-18-amd64")),
        "the next boot's fails": Row(
            "fail", "the next boot's kernel: amdgpu-dkms", change("kernel/next_release", "6.2.0-20-generic")
        ),
        "not in the table of this distribution": Row(
            "warn", "ubuntu-20.04", changes(running("5.17.0-1-generic"), change("os/version_id", "20.04"))
        ),
        "not readable": Row("unknown", "EACCES", hole("kernel/release", "/proc/sys/kernel/osrelease")),
        "captured tree without a kernel": Row("skipped", "does not hold", not_held("kernel")),
    }
)
def test_kernel_supported(row: Row) -> None:
    row.assert_holds("kernel.supported")


@each(
    {
        "installed": Row("ok", evidence="/lib/modules/5.15.0-91-generic/build"),
        "missing, with another kernel that has them": Row(
            "fail",
            "installed kernels that have them: 5.15.0-91-generic",
            running("5.15.0-92-generic"),
            evidence="/lib/modules/5.15.0-92-generic/build",
        ),
        "mainline build": Row("fail", "not a distribution's kernel", running("5.13.11-051311-generic")),
        "vendor's evaluation kernel": Row("fail", "not a distribution's", running("5.18.2-mi300-build-000000")),
        "a cloud's kernel is a distribution's": Row("fail", "kernel; installed", running("5.15.0-1073-azure")),
        "no driver is built": Row("skipped", "rocm_dkms", change("kernel/headers", []), options={"rocm_dkms": False}),
        "not readable": Row("unknown", "EACCES", hole("kernel/headers", "/lib/modules")),
        "captured tree without a kernel": Row("skipped", "does not hold", not_held("kernel")),
    }
)
def test_kernel_headers_available(row: Row) -> None:
    row.assert_holds("kernel.headers_available")


@pytest.mark.parametrize(
    ("older", "newer"),
    [("6.8.0-44-generic", "6.14.0-24-generic"), ("6.5.0-45", "6.11.0-1"), ("5.15.0-91", "5.15.0-101")],
)
def test_kernels_are_ordered_as_numbers(older: str, newer: str) -> None:
    assert kernel_numbers(older) < kernel_numbers(newer)


def test_a_name_that_is_no_version_has_no_numbers() -> None:
    assert kernel_numbers("unknown") == ()


TABLE = {
    "known_bad_kernels": [
        {"kernel": "6.8.0-44", "reason": "an update of the series"},
        {"kernel": "4.18.0-490", "reason": "el8"},
    ]
}


@pytest.mark.parametrize(
    ("kernel", "fails"),
    [
        ("6.8.0-41-generic", False),
        ("6.8.0-44-generic", True),
        ("6.8.0-45-generic", True),
        ("6.11.0-1-generic", True),
        ("6.5.0-45-generic", False),
        ("4.18.0-513.el8", False),
        ("4.18.0-490.el8", True),
    ],
)
def test_an_update_within_a_series_may_fail(kernel: str, fails: bool) -> None:
    assert (_upper_bound(TABLE, kernel_numbers(kernel), ["5.15", "6.8"]) is not None) == fails
