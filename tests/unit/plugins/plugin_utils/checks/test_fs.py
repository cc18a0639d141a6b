# SPDX-License-Identifier: Apache-2.0
"""The checks of fs.py."""

from __future__ import annotations

from support.machines import Json
from support.rows import Row, change, changes, each, hole, not_held

NO_OPT = Row("unknown", "EACCES", hole("opt/trees", "/opt"))
NOT_HELD = Row("skipped", "does not hold", not_held("opt"))


def with_orphan(snapshot: Json) -> None:
    tree = {"path": "/opt/rocm-5.1.3", "owners": [], "version": "5.1.3-66", "unowned_files": 3}
    snapshot["opt"]["trees"].append(tree)


NO_OWNERS = change("opt/trees/0/owners", None)


@each(
    {
        "none": Row("ok", observed="/opt/rocm-5.4.2"),
        "a tree without an owner": Row(
            "fail", "no package owns /opt/rocm-5.1.3 (3 files)", with_orphan, evidence="/opt/rocm-5.1.3"
        ),
        "owners not readable": Row(
            "unknown", "EACCES", changes(NO_OWNERS, hole("dpkg/packages", "/var/lib/dpkg/info"))
        ),
        "captured tree that cannot tell owners": Row(
            "skipped", "dpkg was not looked at", changes(NO_OWNERS, not_held("dpkg"))
        ),
        "opt not readable": NO_OPT,
        "captured tree without opt": NOT_HELD,
    }
)
def test_fs_rocm_orphan_tree(row: Row) -> None:
    row.assert_holds("fs.rocm_orphan_tree")


DANGLING = change("opt/rocm_link", {"target": "/etc/alternatives/rocm", "resolved": None})


@each(
    {
        "leads to a tree": Row("ok", observed="/opt/rocm-5.4.2"),
        "leads nowhere": Row(
            "fail", "leads nowhere", DANGLING, observed="/etc/alternatives/rocm", evidence="/opt/rocm"
        ),
        "absent": Row("fail", "not there", change("opt/rocm_link", None), observed="absent"),
        "absent, and no ROCm wanted": Row(
            "skipped", "no ROCm is wanted", change("opt/rocm_link", None), plan=lambda plan: plan.update(packages={})
        ),
        "not readable": Row("unknown", "EACCES", hole("opt/rocm_link", "/opt/rocm")),
        "opt not readable": NO_OPT,
        "captured tree without opt": NOT_HELD,
    }
)
def test_fs_opt_rocm_dangling(row: Row) -> None:
    row.assert_holds("fs.opt_rocm_dangling")


@each(
    {
        "the release's": Row("ok", expected="/opt/rocm-5.4.2"),
        "another release's tree": Row(
            "fail",
            "leads to /opt/rocm-5.2.0; rocm-core 5.4.2.50402-104~22.04",
            change("opt/rocm_link/resolved", "/opt/rocm-5.2.0"),
        ),
        "rocm-core of another release": Row(
            "fail", "is of another release", change("dpkg/packages/rocm-core/version", "5.7.1.50701-98~22.04")
        ),
        "captured tree, dpkg not asked": Row("ok", change=not_held("dpkg")),
        "leads nowhere": Row("skipped", "see fs.opt_rocm_dangling", DANGLING),
        "opt not readable": NO_OPT,
        "captured tree without opt": NOT_HELD,
    }
)
def test_fs_opt_rocm_version_mismatch(row: Row) -> None:
    row.assert_holds("fs.opt_rocm_version_mismatch")


@each(
    {
        "all there": Row("ok"),
        "target gone": Row(
            "fail",
            "/etc/alternatives/hipcc leads to /opt/rocm-6.1.2/bin/hipcc, which is gone",
            change(
                "alternatives",
                [{"name": "hipcc", "value": "/opt/rocm-6.1.2/bin/hipcc", "target_exists": False, "choices": []}],
            ),
            evidence="/etc/alternatives/hipcc",
        ),
        "not readable": Row("unknown", "EACCES", hole("alternatives", "/etc/alternatives")),
        "captured tree without alternatives": Row("skipped", "does not hold", not_held("alternatives")),
    }
)
def test_alt_target_missing(row: Row) -> None:
    row.assert_holds("alt.target_missing")
