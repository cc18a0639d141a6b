# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import copy
import json
import re
import typing as t

import pytest
import yaml

from ansible_collections.instinct.bringup.plugins.plugin_utils.catalog import default_catalog
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.build import ROLES, build_plan, watched_paths
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.pytorch import index_url
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.text import plan_text

from . import made


def roles(plan: dict[str, t.Any]) -> list[str]:
    return [step["role"] for step in plan["steps"]]


def changes(plan: dict[str, t.Any], kind: str) -> dict[str, dict[str, str]]:
    return {change["subject"]: change for step in plan["steps"] for change in step["changes"] if change["kind"] == kind}


def test_a_bare_node_gets_every_role_but_the_purge_in_order() -> None:
    plan = made.plan(made.bare(), bringup_reboot=True)
    assert not plan["refusals"]
    assert roles(plan) == [
        "preflight",
        "rocm",
        "mpi",
        "pytorch",
        "kernel_tuning",
        "reboot",
        "rccl",
        "deepspeed",
        "launch",
    ]


def test_an_old_node_is_purged_first() -> None:
    assert roles(made.plan(made.old()))[:3] == ["preflight", "rocm_purge", "rocm"]


def test_every_change_has_a_reason() -> None:
    plan = made.plan(made.old(), bringup_reboot=True)
    assert all(change["reason"] for step in plan["steps"] for change in step["changes"])


def test_a_node_that_is_as_planned_has_no_steps() -> None:
    plan = made.plan(made.converged(), bringup_reboot=True)
    assert plan["steps"] == []
    assert not plan["reboot"]["needed"]
    assert "nothing to do" in plan_text(plan)


def test_force_enters_every_role_of_a_converged_node_without_changes_probe_or_reboot() -> None:
    plan = made.plan(made.converged(), bringup_force=True, bringup_reboot=True)
    assert roles(plan) == list(ROLES)
    assert not any(step["changes"] for step in plan["steps"])


def test_only_limits_the_steps() -> None:
    assert roles(made.plan(made.bare(), bringup_only=["rccl", "deepspeed"])) == ["preflight", "rccl", "deepspeed"]


def test_a_role_that_does_not_exist_is_refused_by_name() -> None:
    plan = made.plan(made.bare(), bringup_only=["rcl"])
    assert [refusal["id"] for refusal in plan["refusals"]] == ["profile.only"]
    assert plan["steps"] == []


def test_reboot_is_planned_only_when_allowed_and_said_otherwise() -> None:
    plan = made.plan(made.old())
    assert "reboot" not in roles(plan)
    assert plan["reboot"]["needed"]
    assert "bringup_reboot is false" in plan_text(plan)


def test_a_pending_reboot_alone_is_a_plan_of_one_step() -> None:
    snapshot = made.converged()
    snapshot["modules"]["amdgpu"]["version"] = "5.16.9.22.20"
    assert roles(made.plan(snapshot, bringup_reboot=True)) == ["reboot"]


def test_every_managed_file_is_watched() -> None:
    for given in (
        {},
        {"gpu_access": "udev"},
        {"rccl_topology_mode": "always"},
        {"pytorch_venv": "/srv/venv", "deepspeed_directory": "/srv/ds"},
    ):
        plan = made.plan(made.bare(), **given)
        assert {file["path"] for file in plan["files"]} <= set(watched_paths(made.profile(**given)))


def managed_files() -> list[str]:
    return [file["path"] for file in made.plan(made.bare())["files"]]


@pytest.mark.parametrize(
    "damage",
    [{"sha256": "0"}, {"mode": "0666"}, {"owner": "deploy"}, {"group": "deploy"}, {"type": "absent"}, {"type": "link"}],
    ids=str,
)
@pytest.mark.parametrize("path", managed_files())
def test_each_managed_file_tampered_with_is_a_change_of_its_own_role(path: str, damage: dict[str, str]) -> None:
    snapshot = made.converged()
    snapshot["watch"][path].update(damage)
    plan = made.plan(snapshot)
    owner = next(file["role"] for file in plan["files"] if file["path"] == path)
    assert [step["role"] for step in plan["steps"]] == ["preflight", owner]
    assert list(changes(plan, "file")) == [path]


@pytest.mark.parametrize("name", sorted(made.plan(made.bare())["packages"]))
def test_each_managed_package_that_lacks_is_a_change(name: str) -> None:
    snapshot = made.converged()
    del snapshot["dpkg"]["packages"][name]
    assert list(changes(made.plan(snapshot), "package")) == [name]


def test_a_lifted_hold_is_set_again_and_nothing_else() -> None:
    snapshot = made.converged()
    snapshot["dpkg"]["packages"]["amdgpu-dkms"].update(hold=False, status="ii ")
    plan = made.plan(snapshot)
    assert [
        (change["kind"], change["subject"])
        for step in plan["steps"]
        if step["role"] == "rocm"
        for change in step["changes"]
    ] == [("hold", "amdgpu-dkms")]


def test_a_swapped_wheel_is_planned_back() -> None:
    snapshot = made.converged()
    snapshot["python_envs"][0]["distributions"]["torch"]["version"] = "2.9.1"
    assert changes(made.plan(snapshot), "wheel")["torch"]["before"] == "2.9.1"


@pytest.mark.parametrize(
    ("damage", "before"), [({"record": False}, "its RECORD is gone"), ({"uid": 1000}, "owned by uid 1000")]
)
def test_a_damaged_wheel_is_installed_again_alone(damage: dict[str, t.Any], before: str) -> None:
    snapshot = made.converged()
    snapshot["python_envs"][0]["uid"] = 0
    snapshot["python_envs"][0]["distributions"]["torch"].update({"record": True, "uid": 0, **damage})
    plan = made.plan(snapshot)
    assert changes(plan, "wheel")["torch"]["before"] == before
    step = next(step for step in plan["steps"] if step["role"] == "pytorch")
    assert step["inputs"]["reinstall"] == []
    assert step["inputs"]["damaged"]["content"].startswith("torch==2.0.1+rocm5.4.2")
    assert step["inputs"]["damaged"]["content"].count("==") == 1


@pytest.mark.parametrize("link", [None, {"target": "/opt/rocm-5.1.3", "resolved": None}], ids=["gone", "astray"])
def test_the_link_of_the_release_is_planned_back(link: dict[str, t.Any] | None) -> None:
    snapshot = made.converged()
    snapshot["dpkg"]["packages"]["rocm-core"] = made.package("5.4.2.50402-104~22.04", "hi ", hold=True)
    snapshot["opt"] = {
        "rocm_link": link,
        "trees": [{"path": "/opt/rocm-5.4.2", "owners": ["rocm-core"], "version": "5.4.2-104", "unowned_files": 0}],
    }
    step = next(step for step in made.plan(snapshot)["steps"] if step["role"] == "rocm")
    assert [(change["kind"], change["after"]) for change in step["changes"]] == [("link", "/opt/rocm-5.4.2")]
    assert step["inputs"]["link"] == {"path": "/opt/rocm-5.4.2", "priority": 50402}


def test_the_plan_is_a_function_of_its_inputs_and_plain_data() -> None:
    snapshot = made.old()
    untouched = copy.deepcopy(snapshot)
    first = made.plan(snapshot)
    assert snapshot == untouched
    assert json.loads(json.dumps(first)) == made.plan(snapshot)


def test_the_playbook_applies_the_roles_in_the_plans_order() -> None:
    tasks = yaml.safe_load((made.REPOSITORY / "playbooks" / "tasks" / "apply.yml").read_text(encoding="utf-8"))
    applied = [task["ansible.builtin.include_role"]["name"] for task in tasks if "ansible.builtin.include_role" in task]
    given = {"bringup_reboot": True, "kernel_tuning_boot_parameters": ["iommu=pt"]}
    assert applied == roles(made.plan(made.old(), **given))


def holes(snapshot: dict[str, t.Any]) -> t.Iterator[tuple[str, dict[str, t.Any]]]:
    """Give the snapshot with one area, or one value of an area, that nobody could read."""
    for area, value in snapshot.items():
        yield area, {**snapshot, area: None}
        if isinstance(value, dict):
            for key in value:
                yield f"{area}.{key}", {**snapshot, area: {**value, key: None}}


@pytest.mark.parametrize("make", [made.bare, made.old, made.converged], ids=["bare", "old", "converged"])
def test_a_hole_in_the_snapshot_ends_in_a_plan_or_a_refusal(make: t.Callable[[], dict[str, t.Any]]) -> None:
    for name, snapshot in holes(make()):
        if name in ("schema", "root", "problems", "skipped"):
            continue
        plan = made.plan(snapshot)
        assert plan["steps"] or plan["refusals"] or plan["reboot"] is not None, name


def test_a_run_that_was_interrupted_is_told_finished_and_closed() -> None:
    snapshot = made.converged()
    snapshot["journal"]["runs"] = [{"run": "OLD", "state": "begun", "packages": [], "steps": ["rocm"]}]
    snapshot["dpkg"]["packages"]["libucx0"] = made.package("1.12", "iU ")
    plan = made.plan(snapshot)
    assert roles(plan) == ["preflight"]
    assert changes(plan, "journal")["OLD"]["after"] == "finished by this run"
    inputs = plan["steps"][0]["inputs"]
    assert (inputs["closes"], inputs["settle"]) == (["OLD"], True)


JOB = [{"pid": 41, "name": "train.py", "uid": 1000, "paths": ["/dev/kfd"]}]


def busy(snapshot: dict[str, t.Any]) -> list[str]:
    plan = made.plan({**snapshot, "gpu_processes": JOB}, bringup_reboot=True)
    return [refusal["id"] for refusal in plan["refusals"]]


def test_nothing_is_rebooted_or_removed_under_a_running_job() -> None:
    pending, tree = made.converged(), made.converged()
    pending["kernel"]["next_release"] = "5.15.0-99-generic"
    tree["opt"]["trees"] = [{"path": "/opt/rocm-5.1.3", "owners": [], "version": None, "unowned_files": 3}]
    assert busy(pending) == ["gpu.in_use"]
    assert busy(tree) == ["gpu.in_use"]


def test_an_mpi_is_installed_beside_a_running_job() -> None:
    snapshot = made.converged()
    del snapshot["dpkg"]["packages"]["openmpi-bin"]
    assert busy(snapshot) == []


def test_a_part_of_the_plan_leaves_the_reboot_and_says_so() -> None:
    snapshot = made.converged()
    snapshot["modules"]["amdgpu"]["version"] = "5.16.9.22.20"
    plan = made.plan(snapshot, bringup_reboot=True, bringup_only=["rccl"])
    assert plan["steps"] == []
    assert "left for a run without bringup_only" in plan_text(plan)


def test_a_lock_of_another_release_is_refused_before_that_release_is_changed() -> None:
    plan = made.plan(made.converged(), rocm_release="5.7.1")
    assert "py.lock" in [refusal["id"] for refusal in plan["refusals"]]


def test_the_rule_that_opens_the_gpus_goes_when_groups_are_wanted() -> None:
    snapshot = made.converged()
    snapshot["watch"]["/etc/udev/rules.d/70-instinct-bringup.rules"] = {"type": "file"}
    assert changes(made.plan(snapshot), "file")["/etc/udev/rules.d/70-instinct-bringup.rules"]["after"] == "absent"


def test_escape_sequences_and_line_breaks_of_a_node_are_told_as_such() -> None:
    snapshot = made.converged()
    name = "/opt/rocm-x\n  forged\x1b[31m"
    snapshot["opt"]["trees"] = [{"path": name, "owners": [], "version": None, "unowned_files": 0}]
    plan = made.plan(snapshot)
    assert r"/opt/rocm-x\n  forged\x1b[31m" in plan_text(plan)
    assert plan["steps"][1]["inputs"]["trees"] == [name]


def test_a_folder_in_the_place_of_a_file_is_refused_before_anything_is_applied() -> None:
    snapshot = made.converged()
    snapshot["watch"]["/etc/deepspeed/hostfile"]["type"] = "directory"
    plan = made.plan(snapshot)
    assert [refusal["subject"] for refusal in plan["refusals"]] == ["/etc/deepspeed/hostfile"]
    assert plan["steps"] == []


def test_a_key_that_apt_cannot_read_is_put_right() -> None:
    snapshot = made.converged()
    snapshot["watch"]["/etc/apt/keyrings/rocm.gpg"] = {"type": "file", "mode": "0600", "owner": "root"}
    assert "0600 root" in changes(made.plan(snapshot), "key")["/etc/apt/keyrings/rocm.gpg"]["before"]


def test_the_simulation_of_the_purge_is_given_what_its_module_takes() -> None:
    module = made.REPOSITORY / "python_modules" / "plugins" / "modules" / "rocm_purge.py"
    documentation = re.search(r'DOCUMENTATION = r"""(.*?)"""', module.read_text(encoding="utf-8"), re.DOTALL)
    assert documentation is not None
    options = yaml.safe_load(documentation[1])["options"]
    assert set(made.plan(made.old())["steps"][0]["inputs"]["purge"]) <= set(options)


def systems() -> list[tuple[str, str]]:
    """Return every release of the catalog with each Ubuntu that it is for."""
    catalog = default_catalog()
    return [
        (name, system.partition("-")[2])
        for name in catalog.releases
        for system in catalog.release(name)["kernels"]
        if system.startswith("ubuntu-")
    ]


@pytest.mark.parametrize(("release", "version"), systems(), ids=lambda value: value)
def test_every_url_is_asked_before_it_is_used_inferred_or_not(release: str, version: str) -> None:
    snapshot = made.bare()
    snapshot["os"]["version_id"] = version
    torch = default_catalog().release(release)["torch"]
    pins = {**torch["packages"], "numpy": "1.26.4"}
    lock = "".join(f"{name}=={pin} {made.HASH}\n" for name, pin in pins.items())
    snapshot["python"]["tag"] = (torch["pythons"] or ["cp310"])[0]
    snapshot["kernel"]["headers"] = ["5.15.0-91-generic"]
    # The plan for a kernel that the driver does not build on is refused, which is another test's.
    ctx = made.context(snapshot, lock, rocm_release=release, rocm_dkms=False)
    plan = build_plan(ctx)
    assert plan["refusals"] == []
    steps = {step["role"]: step["inputs"] for step in plan["steps"]}
    probe = steps["preflight"]["probe"]
    asked = {probe["key_url"], probe["wheel_index"]["url"], *(entry["url"] for entry in probe["urls"])}
    asked |= {entry["url"] for entry in probe["repositories"]}
    lists = [file["content"] for file in steps["rocm"]["files"] if file["path"].endswith(".list")]
    used = {word for text in lists for word in text.split() if word.startswith("http")}
    used |= {steps["rocm"]["key"]["url"], steps["rocm"]["installer"]["url"], index_url(ctx)}
    assert used <= asked
    assert {entry["suite"] for entry in probe["repositories"]} == {ctx.codename}
