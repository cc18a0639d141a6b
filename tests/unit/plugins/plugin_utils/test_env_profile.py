# SPDX-License-Identifier: Apache-2.0
"""The rendered environment holds what RCCL reads, says why, and sets nothing that belongs to a job."""

from __future__ import annotations

import csv
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.instinct.bringup.plugins.plugin_utils.catalog import CATALOG_DIR, default_catalog, release_key
from ansible_collections.instinct.bringup.plugins.plugin_utils.env_profile import (
    EnvProfile,
    ProfileError,
    as_profile_d,
    as_rccl_conf,
    render_profile,
)

Maker = Callable[..., dict[str, Any]]
IFNAME = "^lo,docker,veth,virbr"
PROFILES = ("baseline", "low_memory")


def node(hive_id: int = 7) -> dict[str, Any]:
    return {
        "kfd": {"nodes": [{"bdf": None, "properties": {}}, {"bdf": "0000:23:00.0", "properties": {"hive_id": hive_id}}]}
    }


def render(
    name: str = "low_memory", hive_id: int = 7, extra: dict[str, Any] | None = None, topology_file: str | None = None
) -> EnvProfile:
    catalog = default_catalog()
    options = {"rccl_socket_ifname": IFNAME, "rccl_extra_env": extra or {}}
    return render_profile(name, catalog.release("5.4.2"), catalog.gpu("mi210"), node(hive_id), options, topology_file)


def names(env: EnvProfile) -> list[str]:
    return [variable.name for variable in env.variables]


def test_baseline_of_a_bridged_node_sets_the_interfaces_only() -> None:
    env = render("baseline")
    assert names(env) == ["NCCL_SOCKET_IFNAME"]
    assert env.value("NCCL_SOCKET_IFNAME") == IFNAME


def test_low_memory_bounds_channels_and_buffers_with_whole_numbers() -> None:
    env = render()
    assert {name: env.value(name) for name in names(env)} == {
        "NCCL_BUFFSIZE": "1048576",
        "NCCL_MAX_NCHANNELS": "2",
        "NCCL_MAX_P2P_NCHANNELS": "2",
        "NCCL_SOCKET_IFNAME": IFNAME,
    }


def test_topology_file_is_named_only_where_there_is_one() -> None:
    assert render(topology_file="/etc/rccl/topology.xml").value("NCCL_TOPO_FILE") == "/etc/rccl/topology.xml"
    assert render().value("NCCL_TOPO_FILE") is None


def test_fine_grained_memory_is_asked_for_only_without_a_bridge() -> None:
    assert render(hive_id=0).value("HSA_FORCE_FINE_GRAIN_PCIE") == "1"
    bridged = render(hive_id=7)
    assert bridged.value("HSA_FORCE_FINE_GRAIN_PCIE") is None
    assert "every card is in one" in bridged.unset["HSA_FORCE_FINE_GRAIN_PCIE"]
    assert "#   HSA_FORCE_FINE_GRAIN_PCIE: " in as_profile_d(bridged)


@pytest.mark.parametrize("profile", PROFILES)
def test_profile_d_and_rccl_conf_carry_the_same_values(profile: str) -> None:
    env = render(profile, hive_id=0, topology_file="/etc/rccl/topology.xml", extra={"NCCL_DEBUG": "WARN"})
    shell = subprocess.run(
        ["/bin/sh", "-c", f"{as_profile_d(env)}\nenv"], env={}, capture_output=True, text=True, check=True
    ).stdout
    exported = dict(line.split("=", 1) for line in shell.splitlines())
    for variable in env.variables:
        assert exported[variable.name] == variable.value
    # The form of RCCL's own reader: every line a name, "=" and a value; nothing is a comment.
    conf = dict(line.split("=", 1) for line in as_rccl_conf(env).splitlines())
    assert conf == {entry.name: entry.value for entry in env.variables if entry.name.startswith("NCCL_")}


def test_every_variable_is_explained_and_every_name_of_the_recipe_too() -> None:
    text = as_profile_d(render(hive_id=0, topology_file="/x"))
    for line in text.splitlines():
        assert line == "" or line.startswith(("# ", "export ")), line
    recipe = yaml.safe_load((CATALOG_DIR / "env_profiles.yml").read_text(encoding="utf-8"))["recipe"]
    for name in recipe:
        assert name in text
    assert re.search(r"Recipes call it RCCL_BUFFSIZE, which nothing reads.\nexport NCCL_BUFFSIZE=1048576", text)


@pytest.mark.parametrize("profile", PROFILES)
def test_no_variable_chooses_gpus(profile: str) -> None:
    env = render(profile, hive_id=0)
    assert not re.search("VISIBLE_DEVICES=", as_profile_d(env) + as_rccl_conf(env))


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        pytest.param({"RCCL_BUFFSIZE": 1}, "NCCL_BUFFSIZE is the name", id="recipe"),
        pytest.param({"RCCL_ENABLE_CLIQUE": 0}, "up to ROCm 5.2.1 only", id="obsolete"),
        pytest.param({"HIP_VISIBLE_DEVICES": "0"}, "in the job", id="visible-devices"),
        pytest.param({"NCCL_BUFFSIZE": "4M"}, "no whole number", id="unit-of-a-known-name"),
        pytest.param({"NCCL_MAX_NCHANNELS": 0}, "no whole number", id="zero"),
        pytest.param({"NCCL_LL_BUFFSIZE": "256 KB"}, "reads '256 KB' as 256", id="unit"),
        pytest.param({"NCCL_DEBUG": "WARN\nPATH=/tmp"}, "control characters", id="line-end"),
        pytest.param({"NCCL_DEBUG": ""}, "empty", id="empty"),
        pytest.param({"NCCL DEBUG": "WARN"}, "no name of a variable", id="name"),
    ],
)
def test_addition_that_does_not_do_what_it_looks_like_is_refused(extra: dict[str, Any], message: str) -> None:
    with pytest.raises(ProfileError, match=message):
        render(extra=extra)


def test_sites_value_wins_and_booleans_become_numbers() -> None:
    env = render(extra={"NCCL_BUFFSIZE": 2097152, "NCCL_IB_DISABLE": True})
    assert (env.value("NCCL_BUFFSIZE"), env.value("NCCL_IB_DISABLE")) == ("2097152", "1")


def test_value_with_shell_characters_stays_one_value() -> None:
    env = render(extra={"NCCL_DEBUG_FILE": "/var/log/a b$(id).%h"})
    assert "export NCCL_DEBUG_FILE='/var/log/a b$(id).%h'\n" in as_profile_d(env)


def test_unknown_profile_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ProfileError, match="baseline, low_memory"):
        render("fast")


def test_every_variable_of_the_profiles_is_read_in_every_release(captures: Path) -> None:
    """The registry was read from RCCL's source; a release between two of its columns has the older one's names."""
    data = yaml.safe_load((CATALOG_DIR / "env_profiles.yml").read_text(encoding="utf-8"))
    with (captures.parent / "facts" / "rccl-registry.tsv").open(encoding="utf-8") as stream:
        rows = {row["name"]: row for row in csv.DictReader(stream, delimiter="\t")}
    columns = [name for name in next(iter(rows.values())) if name.startswith("rocm-")]
    for release in default_catalog().releases:
        older = [name for name in columns if release_key(name.removeprefix("rocm-")) <= release_key(release)]
        column = older[-1] if older else columns[0]
        for name, entry in data["variables"].items():
            if entry["read_by"] == "rccl":
                assert rows[name][column] != "-", (name, release)
            for replaced in entry["replaces"]:
                assert replaced not in rows
