# SPDX-License-Identifier: Apache-2.0
"""The purge's field cases, P-01 to P-12: what the plan says of each, on made snapshots of their shape."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.instinct.bringup.plugins.plugin_utils.catalog import default_catalog
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.text import plan_text

from . import made

LISTS = "/etc/apt/sources.list.d"
PINS = "/etc/apt/preferences.d"


def purged(plan: dict[str, t.Any]) -> dict[str, dict[str, str]]:
    return {
        change["subject"]: change
        for step in plan["steps"]
        if step["role"] == "rocm_purge"
        for change in step["changes"]
        if change["kind"] != "hold"
    }


def with_packages(**rows: str) -> dict[str, t.Any]:
    """Return a bare node with packages: name with - as _, version and state with a blank between."""
    snapshot = made.bare()
    for name, row in rows.items():
        version, _, state = row.partition(" ")
        state = f"{state or 'ii'} "[:3]
        snapshot["dpkg"]["packages"][name.replace("_", "-")] = made.package(version, state, hold=state[0] == "h")
    return snapshot


def ring(path: str, *keys: str, problem: str | None = None, expires: str | None = None) -> dict[str, t.Any]:
    found = [{"fingerprint": key, "created": "", "expires": expires} for key in keys]
    return {"path": path, "keys": found, "problem": problem}


def test_p01_the_pin_is_planned_before_anything_is_installed() -> None:
    step = next(step for step in made.plan(made.bare())["steps"] if step["role"] == "rocm")
    kinds = [change["kind"] for change in step["changes"]]
    subjects = [change["subject"] for change in step["changes"]]
    assert subjects.index(f"{PINS}/rocm-pin-600") < kinds.index("package")


def test_p02_a_pin_on_one_physical_line_goes_and_says_what_is_wrong_with_it() -> None:
    snapshot = made.bare()
    message = "holds \\n as two characters: the file was written without line ends"
    snapshot["apt"]["preference_problems"] = [
        {"path": f"{PINS}/rocm-pin-500", "line": 1, "message": message},
        {"path": f"{PINS}/site-pin", "line": 1, "message": message},
    ]
    gone = purged(made.plan(snapshot))
    assert list(gone) == [f"{PINS}/rocm-pin-500"]
    assert "two characters" in gone[f"{PINS}/rocm-pin-500"]["before"]


def test_p03_the_distributions_package_of_the_same_name_goes_whatever_its_version() -> None:
    gone = purged(made.plan(with_packages(rocminfo="7.1.1-0ubuntu1", hipcc="5.7.1-3")))
    assert sorted(gone) == ["hipcc", "rocminfo"]
    assert "it would win" in gone["hipcc"]["reason"]


def test_p03_a_list_that_an_upgrade_of_the_distribution_disabled_goes_and_is_called_so() -> None:
    snapshot = made.bare()
    snapshot["apt"]["sources"] = [
        {**made.source(f"{LISTS}/radeon.list", "https://repo.radeon.com/rocm/apt/7.2.2"), "enabled": False}
    ]
    assert "disabled" in purged(made.plan(snapshot))[f"{LISTS}/radeon.list"]["reason"]


@pytest.mark.parametrize(
    ("keyring", "goes", "says"),
    [
        (ring("/etc/apt/trusted.gpg.d/old-rocm.gpg", made.FINGERPRINT, expires="2021-08-01T00:00:00Z"), True, "2021"),
        (ring("/etc/apt/trusted.gpg", made.FINGERPRINT), True, made.FINGERPRINT),
        (ring("/etc/apt/trusted.gpg", made.FINGERPRINT, "B" * 40), False, "other keys too"),
        (
            ring("/etc/apt/trusted.gpg.d/rocm.asc", problem="not OpenPGP: starts with '<!DOCTYPE html>'"),
            True,
            "<!DOCTYPE",
        ),
        (ring("/etc/apt/trusted.gpg.d/site.asc", problem="not OpenPGP: starts with '<!DOCTYPE html>'"), False, ""),
        (ring("/etc/apt/keyrings/rocm-x.gpg", problem="cannot be read"), False, ""),
    ],
    ids=["expired", "in the global ring", "beside other keys", "a page of an error", "another's page", "unreadable"],
)
def test_p04_keys_in_the_global_rings(keyring: dict[str, t.Any], goes: bool, says: str) -> None:
    snapshot = made.bare()
    snapshot["apt"]["keyrings"] = [keyring]
    plan = made.plan(snapshot)
    assert (keyring["path"] in purged(plan)) is goes
    told = [change["before"] for change in purged(plan).values()] + [entry["reason"] for entry in plan["kept"]]
    assert not says or any(says in text for text in told)


def test_p04_a_list_without_signed_by_is_replaced_by_ours() -> None:
    snapshot = made.bare()
    snapshot["apt"]["sources"] = [made.source(f"{LISTS}/rocm-56.list", "https://repo.radeon.com/rocm/apt/5.6")]
    plan = made.plan(snapshot)
    assert f"{LISTS}/rocm-56.list" in purged(plan)
    ours = next(file for file in plan["files"] if file["path"] == f"{LISTS}/rocm.list")
    assert "signed-by=/etc/apt/keyrings/rocm.gpg" in ours["content"]


def test_p05_trees_and_alternatives_of_a_release_that_is_gone() -> None:
    snapshot = made.bare()
    snapshot["opt"] = {
        "rocm_link": {"target": "/opt/rocm-6.1.2", "resolved": "/opt/rocm-6.1.2"},
        "trees": [
            {"path": "/opt/rocm-6.1.2", "owners": [], "version": None, "unowned_files": 1},
            {"path": "/opt/rocm", "owners": [], "version": None, "unowned_files": 4},
        ],
    }
    snapshot["alternatives"] = [
        {"name": "hipcc", "value": "/opt/rocm-6.1.2/bin/hipcc", "target_exists": False, "choices": []}
    ]
    gone = purged(made.plan(snapshot))
    assert "1 files without a package" in gone["/opt/rocm-6.1.2"]["before"]
    assert "/opt/rocm" in gone
    assert gone["hipcc"]["reason"] == "leads to what is gone"


@pytest.mark.parametrize(
    ("version", "has_source", "goes"),
    [
        ("6.7.0-1787201.22.04", False, True),
        ("6.8.5-2009582.22.04", True, True),
        ("5.18.13-1510348.22.04", True, False),
        ("5.18.13-1510348.22.04", False, True),
    ],
    ids=["orphan", "another driver", "the wanted driver", "the wanted driver without its source"],
)
def test_p06_trees_of_dkms(version: str, has_source: bool, goes: bool) -> None:
    snapshot = made.bare()
    snapshot["dkms"]["trees"] = [
        {"module": "amdgpu", "version": version, "path": "p", "has_source": has_source, "kernels": {}}
    ]
    assert (f"amdgpu/{version}" in purged(made.plan(snapshot))) is goes


def test_p07_packages_of_two_streams_go_each_with_its_own_reason() -> None:
    snapshot = with_packages(
        amdgpu_dkms="1:6.7.0.60102-1781449.22.04",
        amdgpu_lib="1:6.1.60102-1781449.22.04",
        rocm_hip_runtime="6.2.1.60201-112~22.04",
        rocm_core="5.4.2.50402-104~20.04",
    )
    gone = purged(made.plan(snapshot))
    assert gone["amdgpu-dkms"]["reason"] == "of ROCm 6.1.2, wanted is 5.4.2"
    assert gone["amdgpu-lib"]["reason"] == "of ROCm 6.1.2, wanted is 5.4.2"
    assert gone["rocm-hip-runtime"]["reason"] == "of ROCm 6.2.1, wanted is 5.4.2"
    assert gone["rocm-core"]["reason"] == "built for 20.04, the node is 22.04"


def test_p07_a_driver_of_another_release_stays_where_the_site_wants_that_pair() -> None:
    snapshot = with_packages(amdgpu_dkms="1:6.1.5.50600-1609671.22.04")
    assert "amdgpu-dkms" in purged(made.plan(snapshot))
    plan = made.plan(snapshot, rocm_driver_release="5.6.0")
    assert not plan["refusals"]
    assert "amdgpu-dkms" not in purged(plan)
    assert plan["packages"]["amdgpu-dkms"] == "1:6.1.5.50600-*"
    driver_list = next(file for file in plan["files"] if file["path"].endswith("/amdgpu.list"))
    assert "/amdgpu/5.6/ubuntu jammy" in driver_list["content"]


def test_p07_a_pair_that_is_not_tested_is_refused_with_those_that_are() -> None:
    (refusal,) = made.plan(made.bare(), rocm_driver_release="6.2.0")["refusals"]
    assert refusal["id"] == "rocm.pair_untested"
    assert refusal["wanted"].startswith("a user space of 6.0, 6.1, 6.2, 6.3")


def test_p08_every_state_of_dpkg_is_on_the_list_with_its_state() -> None:
    states = {
        "amdgpu-dkms": ("1:6.7.0.60102-1781449.22.04", "iF "),
        "amdgpu-dkms-firmware": ("1:6.7.0.60102-1781449.22.04", "iHR"),
        "rocm-core5.7.1": ("5.7.1.50701-98~22.04", "rc "),
        "rocm-hip-runtime": ("6.1.2.60102-119~22.04", "hi "),
        "rocm-llvm": ("6.1.2.60102-119~22.04", "iU "),
        "rccl": ("6.1.2.60102-119~22.04", "iW "),
    }
    snapshot = made.bare()
    snapshot["dpkg"]["packages"] = {
        name: made.package(version, state, hold=state[0] == "h") for name, (version, state) in states.items()
    }
    gone = purged(made.plan(snapshot))
    assert {name: gone[name]["before"].rpartition("(")[2].rstrip(")") for name in states} == {
        name: state.strip() for name, (_version, state) in states.items()
    }


@pytest.mark.parametrize("name", default_catalog().releases)
def test_p09_a_release_with_a_zero_at_its_end_has_paths_without_it(name: str) -> None:
    entry = default_catalog().release(name)
    short = name.removesuffix(".0")
    assert entry["apt_path"] == f"rocm/apt/{short}"
    assert "latest" not in entry["installer"]["path"]


def test_p12_holds_are_lifted_only_on_what_goes_and_it_is_said_whose_they_were() -> None:
    snapshot = with_packages(
        rocm_core="6.4.1.60401-83~22.04 hi", rccl="6.4.1.60401-83~22.04 hi", linux_image_generic="5.15.0.91.88 hi"
    )
    snapshot["journal"]["holds"] = ["rocm-core"]
    plan = made.plan(snapshot)
    holds = {
        change["subject"]: change["reason"]
        for step in plan["steps"]
        for change in step["changes"]
        if change["kind"] == "hold" and step["role"] == "rocm_purge"
    }
    assert holds["rocm-core"].startswith("a hold of ours")
    assert holds["rccl"].startswith("a hold that somebody else set")
    assert {"subject": "hold on linux-image-generic", "reason": "the site's own"} in plan["kept"]


@pytest.mark.parametrize(
    "name", ["rocm-core5.7.1", "rocm-hip-sdk5.4.2", "amdrocm-core7.11", "amdrocm-base", "rocm-core"]
)
def test_packages_with_a_number_in_their_name_and_those_of_the_new_naming_go(name: str) -> None:
    version = "5.4.2.50402-104~22.04" if name.endswith("5.4.2") else "7.11.0.71100-1~22.04"
    snapshot = made.bare()
    snapshot["dpkg"]["packages"][name] = made.package(version)
    assert name in purged(made.plan(snapshot))


def test_a_source_of_the_second_host_is_the_vendors() -> None:
    snapshot = made.bare()
    path = f"{LISTS}/rocm-new.list"
    snapshot["apt"]["sources"] = [made.source(path, "https://repo.amd.com/rocm/packages/ubuntu2404")]
    assert path in purged(made.plan(snapshot))


def test_a_hand_made_install_of_the_wanted_release_is_adopted() -> None:
    snapshot = made.converged()
    for row in snapshot["dpkg"]["packages"].values():
        row.update(hold=False, status="ii ")
    for path in (f"{PINS}/rocm-pin-600", "/etc/ld.so.conf.d/rocm.conf"):
        snapshot["watch"][path]["type"] = "absent"
    plan = made.plan(snapshot)
    kinds = {change["kind"] for step in plan["steps"] for change in step["changes"]}
    assert kinds == {"probe", "hold", "file"}
    assert not purged(plan)
    assert "adopted" in plan_text(plan)


def test_leftovers_go_only_where_no_package_that_stays_owns_them() -> None:
    snapshot = with_packages(amdgpu_core="1:6.1.60102-1781449.22.04", site_tool="1.0")
    snapshot["leftovers"] = [
        {"path": "/opt/amdgpu", "type": "directory", "owners": ["amdgpu-core"]},
        {"path": "/etc/amdgpu-install", "type": "directory", "owners": []},
        {"path": "/lib/firmware/updates/amdgpu", "type": "directory", "owners": ["site-tool"]},
        {"path": "/usr/src/amdgpu-5.18.13-1", "type": "directory", "owners": []},
        {"path": "/usr/bin/amdgpu-uninstall", "type": "link", "owners": []},
        {"path": "/var/lib/amdgpu", "type": "directory", "owners": None},
    ]
    snapshot["dkms"]["trees"] = [
        {"module": "amdgpu", "version": "5.18.13-1", "path": "p", "has_source": True, "kernels": {}}
    ]
    gone = set(purged(made.plan(snapshot)))
    assert gone == {"amdgpu-core", "/opt/amdgpu", "/etc/amdgpu-install", "/usr/bin/amdgpu-uninstall"}


def test_wheels_of_another_release_go_from_the_environments_that_a_site_names() -> None:
    snapshot = made.converged()
    snapshot["python_envs"][0]["distributions"]["triton"] = {"version": "3.3.0", "requires": []}
    versions = {"torch": "2.2.2+rocm5.7", "torchvision": "0.15.2+rocm5.4.2", "triton": "2.2.0", "torchaudio": "2.0.2"}
    distributions = {name: {"version": version, "requires": []} for name, version in versions.items()}
    snapshot["python_envs"].append({"path": "/srv/venv", "exists": True, "distributions": distributions})
    plan = made.plan(snapshot, rocm_purge_venvs=["/srv/venv"])
    assert sorted(purged(plan)) == ["/opt/instinct-bringup/venv: triton", "/srv/venv: torch"]
