# SPDX-License-Identifier: Apache-2.0
"""The inventory that the lab writes: what it says of nodes, and that it can move with its clone."""

from __future__ import annotations

import pytest

from instinct_lab import inventory, nodes, settings
from instinct_lab.hardware.machine import names
from instinct_lab.podman import LabError

INFO = {
    "key_fingerprint": "A" * 40,
    "installer_sha256": {"5.4.2": {"focal": "f" * 64, "jammy": "e" * 64}},
    "pytorch_lock": {"5.4.2": ".lab/locks/made.txt"},
}


@pytest.mark.parametrize(
    ("state", "machine", "count", "hive", "digest"),
    [
        ("old-rocm", "mi210-8gpu-2hives", 8, 4, "f" * 64),
        ("bare", "mi210-4gpu-quad", 4, 4, "e" * 64),
        ("bare", "mi210-2gpu-pcie", 2, 1, "e" * 64),
    ],
)
def test_a_host_says_what_its_machine_has(state: str, machine: str, count: int, hive: int, digest: str) -> None:
    variables = inventory.host_variables(nodes.make_node("node3", state, machine), INFO)
    assert variables == {
        "ansible_host": settings.node_address("node3"),
        "gpu_count": count,
        "gpu_hive_size": hive,
        "rocm_installer_sha256": digest,
    }


def test_a_change_of_the_hardware_does_not_change_what_is_wanted() -> None:
    node = nodes.Node("node1", "bare", "mi210-2gpu-pcie", ["gpus.0000:08:00.0.present=false"])
    assert inventory.host_variables(node, {})["gpu_count"] == 2


def test_paths_are_relative_to_the_inventory_and_releases_are_strings() -> None:
    variables = inventory.group_variables(INFO)
    assert variables["pytorch_lock_file"] == "{{ inventory_dir }}/../../.lab/locks/made.txt"
    assert variables["rocm_key_fingerprint"] == "A" * 40
    assert variables["rocm_release"] == "5.4.2"
    assert "StrictHostKeyChecking=yes" in variables["ansible_ssh_common_args"]
    assert str(settings.REPOSITORY) not in str(variables)


def test_without_a_mirror_nothing_is_made_up() -> None:
    assert "rocm_key_fingerprint" not in inventory.group_variables({})
    assert "pytorch_lock_file" not in inventory.group_variables({})


def test_the_usual_nodes_are_an_old_one_and_bare_ones_on_all_machines() -> None:
    chosen = nodes.default_nodes(5)
    assert [node.state for node in chosen] == ["old-rocm", "bare", "bare", "bare", "bare"]
    assert {node.machine for node in chosen} == set(names())


@pytest.mark.parametrize(
    ("name", "state", "machine", "message"),
    [
        ("gpu01", "bare", "mi210-2gpu-pcie", "'gpu01' is not a lab node"),
        ("node65", "bare", "mi210-2gpu-pcie", "node1 to node64"),
        ("node1", "new", "mi210-2gpu-pcie", "unknown state 'new': known are bare"),
        ("node1", "bare", "mi300", "unknown machine 'mi300'"),
    ],
)
def test_a_node_that_cannot_be_is_refused(name: str, state: str, machine: str, message: str) -> None:
    with pytest.raises(LabError, match=message):
        nodes.make_node(name, state, machine)
