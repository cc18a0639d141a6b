# SPDX-License-Identifier: Apache-2.0
"""The plan renders a topology only where it helps, and says why or why not."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.instinct.bringup.plugins.module_utils.rccl_topology import build_topology, render_xml
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.build import watched_paths
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.rccl import PROFILE_PATH
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.topology import (
    PATHS,
    RANKFILE_PATH,
    TOPOLOGY_PATH,
    WRAPPER_PATH,
    TopologyPlan,
    plan_topology,
)

from . import made

Maker = t.Callable[..., dict[str, t.Any]]


def whole(snapshot: dict[str, t.Any]) -> dict[str, t.Any]:
    """Return a bare node with the hardware of a made machine."""
    snapshot["pci"]["gpus"] = [{**made.GPU, **gpu} for gpu in snapshot["pci"]["gpus"]]
    return made.bare() | snapshot | {"os": made.bare()["os"]}


@pytest.fixture
def quad(machine: Maker) -> dict[str, t.Any]:
    return whole(machine())


@pytest.fixture
def narrow(machine: Maker, slot: Maker) -> dict[str, t.Any]:
    return whole(machine(slots={0x43: slot(16.0, 8, widest=16)}))


def planned(snapshot: dict[str, t.Any], **given: t.Any) -> TopologyPlan:
    return plan_topology(made.context(snapshot, **given))


def paths(plan: TopologyPlan) -> list[str]:
    return [file.path for file in plan.files]


def test_what_rccl_detects_itself_is_not_rendered(quad: dict[str, t.Any]) -> None:
    plan = planned(quad)
    assert plan.topology_file is None
    assert "RCCL detects the same by itself" in plan.notes[0]
    assert set(plan.absent) == set(PATHS)


def test_narrow_link_is_a_fault_to_mend_and_not_to_write_down(narrow: dict[str, t.Any]) -> None:
    assert planned(narrow).topology_file is None


def test_narrow_link_that_the_site_expects_is_a_reason_to_render(narrow: dict[str, t.Any]) -> None:
    plan = planned(narrow, pcie_expected_width=8)
    assert plan.topology_file == TOPOLOGY_PATH
    assert "0000:41:00.0: the link gives 16.0 GT/s PCIe x8" in plan.notes[0]
    assert plan.files[0].content == render_xml(build_topology(narrow, "2.13.4"))


def test_narrow_link_is_none_where_the_site_wants_capabilities(narrow: dict[str, t.Any]) -> None:
    assert planned(narrow, rccl_topology_links="capability").topology_file is None


def test_site_may_want_it_always_or_never(quad: dict[str, t.Any], narrow: dict[str, t.Any]) -> None:
    assert planned(quad, rccl_topology_mode="always").topology_file == TOPOLOGY_PATH
    never = planned(narrow, rccl_topology_mode="never")
    assert (never.topology_file, never.notes) == (None, ("no RCCL topology file: rccl_topology_mode is never",))


def test_node_without_a_driver_gets_none_and_the_reason() -> None:
    plan = planned(made.bare() | {"kfd": None}, rccl_topology_mode="always", rccl_numa_binding=True)
    assert plan.files == ()
    assert all("/sys/class/kfd" in why for why in plan.absent.values())


def test_variable_names_the_file_only_where_there_is_one(quad: dict[str, t.Any]) -> None:
    def profile_of(**given: t.Any) -> str:
        (step,) = [s for s in made.plan(quad, **given)["steps"] if s["role"] == "rccl"]
        (content,) = [file["content"] for file in step["inputs"]["files"] if file["path"] == PROFILE_PATH]
        return str(content)

    assert f"export NCCL_TOPO_FILE={TOPOLOGY_PATH}" in profile_of(rccl_topology_mode="always")
    assert "export NCCL_TOPO_FILE" not in profile_of()


def test_binding_is_rendered_where_a_site_wants_it(quad: dict[str, t.Any]) -> None:
    plan = planned(quad, rccl_numa_binding=True)
    assert {file.path: file.mode for file in plan.files} == {WRAPPER_PATH: "0755", RANKFILE_PATH: "0644"}
    assert set(plan.absent) == {TOPOLOGY_PATH}


def test_binding_needs_every_node(quad: dict[str, t.Any]) -> None:
    for node in quad["numa"]["nodes"]:
        node["cpulist"] = None
    plan = planned(quad, rccl_numa_binding=True)
    assert "not known" in plan.absent[WRAPPER_PATH]


def test_whatever_may_be_managed_is_looked_at() -> None:
    assert set(PATHS) <= set(watched_paths(made.profile()))


def test_plan_says_what_rccl_will_take(quad: dict[str, t.Any]) -> None:
    notes = made.plan(quad)["notes"]
    assert [note for note in notes if "24 channels" in note and "328 to 392 MiB" in note]
    low = made.plan(quad, rccl_profile="low_memory")["notes"]
    assert [note for note in low if "2 channels" in note and "12 to 20 MiB" in note]


def test_second_plan_of_a_node_that_has_the_files_changes_nothing(quad: dict[str, t.Any]) -> None:
    given = {"rccl_topology_mode": "always", "rccl_numa_binding": True}
    (step,) = [s for s in made.plan(quad, **given)["steps"] if s["role"] == "rccl"]
    context = made.context(quad, **given)
    for file in plan_topology(context).files:
        entry = {"type": "file", "sha256": file.sha256, "mode": file.mode, "owner": "root", "group": "root"}
        quad["watch"][file.path] = entry
    again = [s for s in made.plan(quad, **given)["steps"] if s["role"] == "rccl"]
    left = {change["subject"] for s in again for change in s["changes"]}
    assert {change["subject"] for change in step["changes"]} - left == set(PATHS)
