# SPDX-License-Identifier: Apache-2.0
"""Every profile sets only what is read in the release, and the five files carry the same."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.instinct.bringup.plugins.plugin_utils.catalog import default_catalog
from ansible_collections.instinct.bringup.plugins.plugin_utils.env import render
from ansible_collections.instinct.bringup.plugins.plugin_utils.env.facts import EXCLUDED, NodeFacts
from ansible_collections.instinct.bringup.plugins.plugin_utils.env.lint import Linter
from ansible_collections.instinct.bringup.plugins.plugin_utils.env.names import Names
from ansible_collections.instinct.bringup.plugins.plugin_utils.env.parsers import parse
from ansible_collections.instinct.bringup.plugins.plugin_utils.env.profile import (
    EnvProfile,
    ProfileError,
    Target,
    make_profile,
    profile_names,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.env.registry import default_registry

CATALOG = default_catalog()
MI210 = CATALOG.gpu("mi210")
RECIPE = (
    *("RCCL_BUFFSIZE", "RCCL_TOPO_FILE", "RCCL_SOCKET_IFNAME", "RCCL_MAX_NCHANNELS", "RCCL_ENABLE_CLIQUE"),
    *("HSA_FORCE_FINE_GRAIN_PCIE", "HSA_CACHE_SIZE", "HCCL_IPC_ACCEPT_WAIT_TIME"),
)
FORMS = {
    "shell": render.as_shell,
    "rccl_conf": render.as_rccl_conf,
    "systemd_environment": render.as_systemd_environment,
    "module_file": render.as_module_file,
    "deepspeed_env": render.as_deepspeed_env,
}
# What is in no hive for pcie_only, since it is refused where every card is bridged.
HIVES = {"pcie_only": (0, 0)}


def snapshot(hives: tuple[int, ...] = (5, 5), names: tuple[str, ...] = ("lo", "eno1"), hcas: int = 0) -> dict[str, Any]:
    nodes: list[dict[str, Any]] = [{"id": 0, "bdf": None, "properties": {"simd_count": 0}}]
    nodes += [
        {"id": place, "bdf": f"0000:{place}3:00.0", "properties": {"simd_count": 416, "hive_id": hive}}
        for place, hive in enumerate(hives, 1)
    ]
    return {
        "kfd": {"nodes": nodes},
        "net": {
            "interfaces": [{"name": name} for name in names],
            "hcas": [{"name": f"mlx5_{number}", "ports": [{"port": 1}]} for number in range(hcas)],
        },
    }


def make(
    name: str = "baseline",
    release: str = "5.4.2",
    extra: dict[str, Any] | None = None,
    seen: dict[str, Any] | None = None,
    topology_file: str | None = None,
    allow_unread: bool = False,
    **options: str,
) -> EnvProfile:
    given = {"rccl_socket_ifname": "auto", "rccl_ib_hca": "auto", **options}
    facts = NodeFacts(seen or snapshot(HIVES.get(name, (5, 5))), given, topology_file)
    return make_profile(name, Target(CATALOG.release(release), MI210, facts), extra, allow_unread)


def carried(env: EnvProfile) -> list[dict[str, str | None]]:
    return [
        {name: found.value for name, found in parse(rendered(env), form).effective().items()}
        for form, rendered in FORMS.items()
    ]


@pytest.mark.parametrize("release", [release for release in CATALOG.releases if release < "6.3"])
@pytest.mark.parametrize("name", profile_names())
def test_every_variable_of_a_profile_is_read_in_the_release(name: str, release: str) -> None:
    env = make(name, release, seen=snapshot(HIVES.get(name, (5, 5)), hcas=2), topology_file="/etc/rccl/topology.xml")
    names = Names(default_registry(), release)
    assert env.variables
    for variable in env.variables:
        judged = names.judge(variable.name)
        assert judged is not None
        assert judged.verdict == "ok", variable
        assert variable.why


@pytest.mark.parametrize("name", profile_names())
def test_the_five_files_carry_the_same_values(name: str) -> None:
    env = make(name, extra={"NCCL_IB_TC": 106}, seen=snapshot(HIVES.get(name, (5, 5)), hcas=2))
    assert carried(env) == [env.values] * 5


SAFE = st.text(alphabet="abcXYZ019_./:,^=+@%-", min_size=1, max_size=20)


@settings(max_examples=40)
@given(st.dictionaries(st.sampled_from(["NCCL_DEBUG_FILE", "NCCL_HOSTID", "NCCL_NET_PLUGIN"]), SAFE))
def test_the_sites_values_are_the_same_in_all_five(extra: dict[str, str]) -> None:
    env = make(extra=extra)
    assert carried(env) == [env.values] * 5
    assert {**env.values, **extra} == env.values


@pytest.mark.parametrize("name", profile_names())
def test_the_lint_finds_nothing_in_what_is_rendered(name: str) -> None:
    seen = snapshot(HIVES.get(name, (5, 5)), hcas=2)
    env = make(name, seen=seen)
    linter = Linter("5.4.2", MI210, NodeFacts(seen, {}).host)
    for form, rendered in FORMS.items():
        lint = linter.text(rendered(env), form=form)
        assert {finding.verdict for finding in lint.findings} == {"ok"}
        assert lint.notes == ()


@pytest.mark.parametrize("name", profile_names())
def test_no_file_chooses_gpus(name: str) -> None:
    env = make(name)
    for rendered in FORMS.values():
        assert not re.search(r"VISIBLE_DEVICES|GPU_DEVICE_ORDINAL", rendered(env))


@pytest.mark.parametrize("rendered", [render.as_shell, render.as_systemd_environment, render.as_module_file])
def test_the_commented_files_say_what_each_line_does(rendered: Any) -> None:
    text = rendered(make("low_memory"))
    for name in RECIPE:
        assert name in text
    unwrapped = re.sub(r"\n(?:#|--) +", " ", text)
    assert "Default: decided in code. Recipes call it RCCL_BUFFSIZE, which nothing reads.\n" in unwrapped
    assert "Size of the large (Simple) buffer" in unwrapped
    assert max(map(len, text.splitlines())) <= 120


def test_a_value_that_begins_with_an_equals_sign_is_quoted_for_shells() -> None:
    assert "export NCCL_SOCKET_IFNAME='=eno1'\n" in render.as_shell(make())


@pytest.mark.parametrize(
    ("hives", "value"),
    [((5, 5), None), ((0, 0), "1"), ((5, 0), "1"), ((), None)],
    ids=["bridged", "unbridged", "one of them", "not seen"],
)
def test_fine_grain_only_where_a_card_is_in_no_hive(hives: tuple[int, ...], value: str | None) -> None:
    env = make(seen=snapshot(hives))
    assert env.values.get("HSA_FORCE_FINE_GRAIN_PCIE") == value
    assert ("HSA_FORCE_FINE_GRAIN_PCIE" in env.unset) is (value is None)


def test_a_topology_file_is_named_where_there_is_one() -> None:
    assert make(topology_file="/etc/rccl/topology.xml").values["NCCL_TOPO_FILE"] == "/etc/rccl/topology.xml"
    assert "NCCL_TOPO_FILE" in make().unset


@pytest.mark.parametrize(
    ("names", "value"),
    [
        (("lo", "eno1"), "=eno1"),
        (("ib0", "eno1", "lo", "docker0", "veth12", "br-12"), "=eno1,ib0"),
        (("lo", "docker0"), EXCLUDED),
        ((), EXCLUDED),
    ],
    ids=["one", "several", "none that lasts", "not seen"],
)
def test_interfaces_are_those_of_the_node_by_name(names: tuple[str, ...], value: str) -> None:
    assert make(seen=snapshot(names=names)).values["NCCL_SOCKET_IFNAME"] == value


def test_adapters_are_those_of_the_node_by_name() -> None:
    assert make(seen=snapshot(hcas=2)).values["NCCL_IB_HCA"] == "=mlx5_0,mlx5_1"
    assert "NCCL_IB_HCA" not in make().values
    assert "NCCL_IB_HCA" not in make(seen=snapshot(hcas=2), rccl_ib_hca="").values


@pytest.mark.parametrize("option", ["rccl_socket_ifname", "rccl_ib_hca"])
def test_a_choice_that_a_shell_would_run_is_refused(option: str) -> None:
    with pytest.raises(ProfileError, match="holds other than letters"):
        make(seen=snapshot(hcas=1), **{option: "=eth0';id;'"})


def test_the_sites_choice_of_devices_wins() -> None:
    env = make(seen=snapshot(hcas=2), rccl_socket_ifname="^lo,docker", rccl_ib_hca="=mlx5_1")
    assert (env.values["NCCL_SOCKET_IFNAME"], env.values["NCCL_IB_HCA"]) == ("^lo,docker", "=mlx5_1")


def test_low_memory_is_what_the_recipe_wants() -> None:
    values = make("low_memory").values
    assert (values["NCCL_MAX_NCHANNELS"], values["NCCL_BUFFSIZE"]) == ("2", "1048576")


def test_pcie_only_is_refused_where_every_card_is_bridged() -> None:
    with pytest.raises(ProfileError, match="every card here is in a hive"):
        make("pcie_only", seen=snapshot((5, 5)))


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        pytest.param({"RCCL_BUFFSIZE": 1}, "NCCL_BUFFSIZE is the name", id="unread"),
        pytest.param({"NCCL_BUFSIZE": 1}, r"typo.*Use NCCL_BUFFSIZE", id="typo"),
        pytest.param({"RCCL_ENABLE_CLIQUE": 0}, "up to 5.2.1", id="obsolete"),
        pytest.param({"RCCL_MSCCL_ENABLE": 0}, "not_yet", id="not yet"),
        pytest.param({"HIP_PATH": "/opt/rocm"}, "build_time_only", id="build"),
        pytest.param({"HIP_VISIBLE_DEVICES": "0"}, "in the job", id="visible devices"),
        pytest.param({"NCCL_BUFFSIZE": "4M"}, "write 4194304", id="unit"),
        pytest.param({"NCCL_MAX_NCHANNELS": 0}, "out of range", id="range"),
        pytest.param({"HSA_OVERRIDE_GFX_VERSION": "9.0.10"}, "supported as it is", id="conflict"),
        pytest.param({"NCCL_MIN_NCHANNELS": 8, "NCCL_MAX_NCHANNELS": 4}, "is above", id="conflict of two"),
        pytest.param({"NCCL_DEBUG_FILE": "/a b"}, "other characters", id="space"),
        pytest.param({"NCCL_DEBUG_FILE": "$(id)"}, "other characters", id="shell"),
        pytest.param({"NCCL_DEBUG": "WARN\nPATH=/tmp"}, "other characters", id="line end"),
        pytest.param({"NCCL_DEBUG": ""}, "empty", id="empty"),
        pytest.param({"NCCL DEBUG": "WARN"}, "no name of a variable", id="name"),
    ],
)
def test_an_addition_that_does_not_do_what_it_looks_like_is_refused(extra: dict[str, Any], message: str) -> None:
    with pytest.raises(ProfileError, match=message):
        make(extra=extra)


def test_unread_names_are_taken_where_the_site_says_so_and_told() -> None:
    env = make(extra={"RCCL_BUFFSIZE": 1, "HIP_PATH": "/opt/rocm"}, allow_unread=True)
    assert env.values["RCCL_BUFFSIZE"] == "1"
    assert any("RCCL_BUFFSIZE (unread)" in note for note in env.notes)


@pytest.mark.parametrize("extra", [{"NCCL_BUFFSIZE": "4M"}, {"HIP_VISIBLE_DEVICES": "0"}], ids=["value", "visible"])
def test_that_does_not_allow_anything_else(extra: dict[str, Any]) -> None:
    with pytest.raises(ProfileError):
        make(extra=extra, allow_unread=True)


def test_a_device_that_is_not_there_yet_is_a_note() -> None:
    env = make(extra={"NCCL_IB_HCA": "=mlx5_7"}, seen=snapshot(hcas=1))
    assert any("mlx5_7 is no adapter" in note for note in env.notes)


def test_names_of_other_programs_are_taken() -> None:
    assert make(extra={"OMP_NUM_THREADS": 8, "UCX_SOMETHING": "x"}).values["OMP_NUM_THREADS"] == "8"


def test_the_sites_value_wins_and_booleans_become_numbers() -> None:
    env = make("low_memory", extra={"NCCL_BUFFSIZE": 2097152, "NCCL_IB_DISABLE": True})
    assert (env.values["NCCL_BUFFSIZE"], env.values["NCCL_IB_DISABLE"]) == ("2097152", "1")


def test_an_unknown_profile_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ProfileError, match="baseline, low_memory, throughput, debug, pcie_only"):
        make("fast")


@pytest.mark.parametrize(("release", "value"), [("7.13.0", "1"), ("7.2.0", None)], ids=["from 7.13 on", "before"])
def test_scratch_is_kept_where_a_report_says_so(release: str, value: str | None) -> None:
    entry = {**CATALOG.release("5.7.1"), "release": release}
    facts = NodeFacts(snapshot(), {"rccl_socket_ifname": "auto", "rccl_ib_hca": "auto"})
    assert make_profile("baseline", Target(entry, MI210, facts)).values.get("HSA_NO_SCRATCH_RECLAIM") == value
    other = {**MI210, "gfx": "gfx942"}
    assert "HSA_NO_SCRATCH_RECLAIM" not in make_profile("baseline", Target(entry, other, facts)).values
