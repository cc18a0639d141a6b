# SPDX-License-Identifier: Apache-2.0
"""The checks of apt.py: what apt would do, not what its files ask for."""

from __future__ import annotations

from collections.abc import Callable

from support.machines import Json
from support.rows import Row, change, changes, each, hole, not_held
from support.snapshots import KEY, PACKAGES, policy, source

NO_POLICY = Row("unknown", "not understood", hole("apt/policy", "apt-cache", "its answer is not understood"))
NOT_ASKED = Row("skipped", "does not hold", not_held("apt.policy"))
NO_APT = Row("unknown", "EACCES", hole("apt/sources", "/etc/apt/sources.list"))
NOT_HELD = Row("skipped", "does not hold", not_held("apt"))
OLD_RING = "/etc/apt/trusted.gpg.d/old-rocm.gpg"


def keyring(path: str, expires: str | None, problem: str | None = None) -> Callable[[Json], object]:
    keys = [] if problem else [{"fingerprint": KEY, "created": "2016-08-01T00:00:00Z", "expires": expires}]
    return lambda snapshot: snapshot["apt"]["keyrings"].append({"path": path, "keys": keys, "problem": problem})


def old_list(snapshot: Json) -> None:
    """Add a list from before signed-by."""
    entry = source("/etc/apt/sources.list.d/rocm-old.list", "https://repo.radeon.com/rocm/apt/5.2", {"arch": "amd64"})
    snapshot["apt"]["sources"].append({**entry, "line": 1})


WEAK = change("apt/policy/hipcc", policy(PACKAGES["hipcc"], priority=500, shadow="5.0.0-1"))


@each(
    {
        "applied": Row("ok", observed="priority 600", evidence="apt-cache policy"),
        "not applied": Row("fail", "apt gives hipcc of AMD's repository priority 500", WEAK, expected="priority 600"),
        "the file is one line": Row(
            "fail",
            r"rocm-pin-600: a line with a written-out \n",
            changes(
                WEAK,
                change(
                    "apt/preference_problems",
                    [
                        {
                            "path": "/etc/apt/preferences.d/rocm-pin-600",
                            "line": 1,
                            "message": r"a line with a written-out \n",
                        }
                    ],
                ),
            ),
        ),
        "AMD's repository is unknown to apt": Row("fail", "never updated", change("apt/policy", {})),
        "no pin planned": Row("skipped", "no pin", plan=lambda plan: plan.update(files=[])),
        "apt's answer is odd": NO_POLICY,
        "captured tree, apt not asked": NOT_ASKED,
        "captured tree without apt": NOT_HELD,
    }
)
def test_apt_pin_effective(row: Row) -> None:
    row.assert_holds("apt.pin_effective")


@each(
    {
        "AMD's": Row("ok"),
        "the distribution's wins": Row(
            "fail",
            "apt would take hipcc 5.0.0-1 from http://mirror.example/ubuntu jammy/universe",
            change("apt/policy/hipcc/candidate", "5.0.0-1"),
            subject="hipcc",
            expected=PACKAGES["hipcc"],
            observed="5.0.0-1",
        ),
        "a name that AMD does not offer": Row(
            "ok", change=change("apt/policy/foo", {"installed": None, "candidate": None, "versions": []})
        ),
        "AMD's repository is unknown to apt": Row("fail", "never updated", change("apt/policy", {})),
        "apt's answer is odd": NO_POLICY,
        "captured tree, apt not asked": NOT_ASKED,
    }
)
def test_apt_vendor_candidate(row: Row) -> None:
    row.assert_holds("apt.vendor_candidate")


@each(
    {
        "named": Row("ok", observed="/etc/apt/keyrings/rocm.gpg", evidence="/etc/apt/sources.list.d/rocm.list:2"),
        "an old list without": Row(
            "fail", "has no signed-by", old_list, evidence="/etc/apt/sources.list.d/rocm-old.list:1"
        ),
        "an old list without, switched off": Row(
            "ok", change=changes(old_list, change("apt/sources/3/enabled", False))
        ),
        "no source of AMD's": Row("skipped", "no source of AMD's", change("apt/sources", [])),
        "sources not readable": NO_APT,
        "captured tree without apt": NOT_HELD,
    }
)
def test_apt_signed_by_missing(row: Row) -> None:
    row.assert_holds("apt.signed_by_missing")


@each(
    {
        "not expired": Row("ok", observed="2033-01-01T00:00:00Z"),
        "never expires": Row("ok", change=change("apt/keyrings/0/keys/0/expires", None), observed="never expires"),
        "expired": Row(
            "fail",
            "/etc/apt/keyrings/rocm.gpg expired on 2021-07-24T00:00:00Z",
            change("apt/keyrings/0/keys/0/expires", "2021-07-24T00:00:00Z"),
            subject=KEY,
            evidence="/etc/apt/keyrings/rocm.gpg",
        ),
        "an old copy in the global ring": Row("warn", OLD_RING, keyring(OLD_RING, "2021-07-24T00:00:00Z")),
        "another vendor's key is none of ours": Row(
            "ok",
            change=changes(
                keyring(OLD_RING, "2021-07-24T00:00:00Z"), change("apt/keyrings/1/keys/0/fingerprint", "F" * 40)
            ),
        ),
        "no key": Row("skipped", "no key of AMD's", change("apt/keyrings", [])),
        "keyrings not readable": Row("unknown", "EACCES", hole("apt/keyrings", "/etc/apt/keyrings")),
        "captured tree without apt": NOT_HELD,
    }
)
def test_apt_key_expired(row: Row) -> None:
    row.assert_holds("apt.key_expired")


HTML = "not OpenPGP: starts with '<!DOCTYPE'"


@each(
    {
        "all are": Row("ok"),
        "the one that AMD's sources use is an error page": Row(
            "fail",
            HTML,
            changes(change("apt/keyrings", []), keyring("/etc/apt/keyrings/rocm.gpg", None, HTML)),
            observed=HTML,
            evidence="/etc/apt/keyrings/rocm.gpg",
        ),
        "another one": Row("warn", HTML, keyring("/etc/apt/keyrings/other.gpg", None, HTML)),
        "none": Row("skipped", "no keyring", change("apt/keyrings", [])),
        "keyrings not readable": Row("unknown", "EACCES", hole("apt/keyrings", "/etc/apt/keyrings")),
        "captured tree without apt": NOT_HELD,
    }
)
def test_apt_key_not_openpgp(row: Row) -> None:
    row.assert_holds("apt.key_not_openpgp")
