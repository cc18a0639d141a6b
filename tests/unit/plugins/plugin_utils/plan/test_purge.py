# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import typing as t

import pytest

from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.purge import plan_purge
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.purge_apt import is_vendor_uri

from . import made


def purge(snapshot: dict[str, t.Any], **given: t.Any) -> dict[str, t.Any]:
    return plan_purge(made.context(snapshot, **given))[0].inputs


def kept(snapshot: dict[str, t.Any]) -> list[str]:
    return [entry["subject"] for entry in plan_purge(made.context(snapshot))[1]]


def test_the_old_release_and_what_shadows_the_new_go_and_nothing_else() -> None:
    assert purge(made.old())["packages"] == ["amdgpu-dkms", "amdgpu-install", "rocm-cmake", "rocm-core", "rocm-hip-sdk"]


def test_only_holds_on_what_goes_are_lifted() -> None:
    assert purge(made.old())["unhold"] == ["rocm-hip-sdk"]
    assert "hold on linux-image-generic" in kept(made.old())


def test_lists_of_others_stay_and_a_mixed_list_is_named() -> None:
    assert purge(made.old())["files"] == ["/etc/apt/sources.list.d/rocm-old.list"]
    assert "/etc/apt/sources.list.d/mixed.list" in kept(made.old())


def test_orphans_of_dkms_go_and_other_modules_stay() -> None:
    assert purge(made.old())["dkms_trees"] == [{"module": "amdgpu", "version": "5.13.20.22.10-1420322.20.04"}]


def test_trees_and_alternatives_of_other_releases_go() -> None:
    assert purge(made.old())["trees"] == ["/opt/rocm-5.1.3", "/opt/rocm-5.2.0"]
    assert purge(made.old())["alternatives"] == ["rocm"]


def test_nothing_goes_from_a_converged_or_a_bare_node() -> None:
    for snapshot in (made.converged(), made.bare()):
        assert not plan_purge(made.context(snapshot))[0].changes


def test_a_package_of_the_wanted_release_for_another_suite_goes() -> None:
    snapshot = made.converged()
    snapshot["dpkg"]["packages"]["rocm-core"] = made.package("5.4.2.50402-104~20.04")
    assert purge(snapshot)["packages"] == ["rocm-core"]


def test_residual_configuration_goes_too() -> None:
    snapshot = made.bare()
    snapshot["dpkg"]["packages"]["rocm-core5.7.1"] = made.package("5.7.1.50701-98~22.04", "rc ")
    assert purge(snapshot)["packages"] == ["rocm-core5.7.1"]


def test_a_protected_package_is_a_refusal_that_names_it() -> None:
    plan = made.plan(made.old(), rocm_purge_protect=["rocm-cmake"])
    assert [(refusal["id"], refusal["subject"]) for refusal in plan["refusals"]] == [("purge.protected", "rocm-cmake")]


@pytest.mark.parametrize(
    ("uri", "base", "vendor"),
    [
        ("https://repo.radeon.com/rocm/apt/5.2", "https://repo.radeon.com", True),
        ("https://repo.radeon.com/amdgpu/22.20/ubuntu", "http://mirror.example", True),
        ("http://mirror.example/rocm/apt/5.2", "http://mirror.example", True),
        ("http://mirror.example/amd/rocm/apt/5.2", "http://mirror.example/amd", True),
        ("http://mirror.example/ubuntu", "http://mirror.example", False),
        ("http://mirror.example:8080/rocm/apt/5.2", "http://mirror.example", False),
        ("https://vendor.example/rocm/apt/5.2", "http://mirror.example", False),
    ],
)
def test_a_vendor_source_is_told_by_host_and_path(uri: str, base: str, vendor: bool) -> None:
    assert is_vendor_uri(made.context(made.bare(), rocm_base_url=base), uri) is vendor


SITE_KEY = "A" * 40
RING = "/etc/apt/keyrings/x.gpg"
VENDOR_SOURCE = made.source("/etc/apt/sources.list.d/rocm-old.list", "https://repo.radeon.com/rocm/apt/5.2")
OTHER_SOURCE = made.source("/etc/apt/sources.list.d/other.list", "https://vendor.example/apt")


@pytest.mark.parametrize(
    ("key", "named_by", "goes"),
    [
        (made.FINGERPRINT, [], True),
        (made.FINGERPRINT, [VENDOR_SOURCE], True),
        (made.FINGERPRINT, [OTHER_SOURCE], False),
        (SITE_KEY, [], False),
        (SITE_KEY, [VENDOR_SOURCE], True),
        (SITE_KEY, [VENDOR_SOURCE, OTHER_SOURCE], False),
        ("0" * 40, [VENDOR_SOURCE], False),
    ],
    ids=[
        "AMD's key, named by nobody",
        "AMD's key of a source that goes",
        "AMD's key that another source needs",
        "the mirror's key, named by nobody",
        "the mirror's key of a source that goes",
        "the mirror's key that another source needs",
        "a key that is neither",
    ],
)
def test_a_key_goes_only_when_no_source_needs_it(key: str, named_by: list[dict[str, t.Any]], goes: bool) -> None:
    snapshot = made.bare()
    snapshot["apt"]["keyrings"] = [
        {"path": RING, "keys": [{"fingerprint": key, "created": "", "expires": None}], "problem": None}
    ]
    snapshot["apt"]["sources"] = [{**source, "options": {"signed-by": RING}} for source in named_by]
    assert (RING in purge(snapshot, rocm_key_fingerprint=SITE_KEY)["files"]) is goes
