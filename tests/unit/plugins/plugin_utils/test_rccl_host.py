# SPDX-License-Identifier: Apache-2.0
"""A topology file of another machine is found, with the line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.instinct.bringup.plugins.module_utils.rccl_topology import build_topology, render_xml
from ansible_collections.instinct.bringup.plugins.plugin_utils.rccl_host import lint_host

Maker = Callable[..., dict[str, Any]]


@pytest.fixture
def host(machine: Maker, nic: Maker) -> dict[str, Any]:
    """Return a made machine with a quad and an adapter, as rccl_machine reads it."""
    snapshot = machine(nics=[nic()])
    pci = snapshot["pci"]
    devices = [*pci["gpus"], *pci["nics"]]
    pci["addresses"] = [entry["bdf"] for device in devices for entry in (device, *device["path"])]
    return snapshot


@pytest.fixture
def right(host: dict[str, Any]) -> str:
    return render_xml(build_topology(host, "2.13.4"))


def found(text: str, host: dict[str, Any]) -> list[tuple[str, str]]:
    return [(finding.severity, finding.message) for finding in lint_host(text, "2.13.4", host)]


def test_file_of_the_machine_has_no_finding(host: dict[str, Any], right: str) -> None:
    assert found(right, host) == []


@pytest.mark.parametrize(
    ("before", "after", "severity", "says"),
    [
        ('busid="0000:23:00.0"', 'busid="0000:24:00.0"', "silently_wrong", "busid 0000:24:00.0 is not on this host"),
        ('busid="0000:23:00.0"', 'busid="0000:24:00.0"', "incomplete", "GPU 0000:23:00.0 of this host is not in the file"),
        ('busid="0000:23:00.0"', 'busid="23:00.0"', "ignored", "busid 23:00.0 is 0000:23:00.0 on this host"),
        ('target="0000:43:00.0" count="1"', 'target="0000:43:00.0" count="2"', "silently_wrong", "KFD of this host has 1"),
        ('target="0000:43:00.0"', 'target="0000:05:00.0"', "silently_wrong", "KFD of this host has no such link"),
        ('target="0000:43:00.0"', 'target="0000:05:00.0"', "incomplete", "links 0000:23:00.0 to 0000:43:00.0"),
        ('numaid="0"', 'numaid="3"', "silently_wrong", "0000:23:00.0 is on NUMA node 0 of this host, and on 3"),
        ('name="mlx5_0"', 'name="mlx5_7"', "ignored", "net mlx5_7 is not in use on this host"),
        ('dev="0" sm', 'dev="2" sm', "note", "ROCm SMI counts it as 0"),
    ],
    ids=["busid", "gpu-missing", "busid-text", "count", "link-foreign", "link-missing", "numa", "net", "dev"],
)  # fmt: skip
def test_difference_is_named(
    host: dict[str, Any], right: str, before: str, after: str, severity: str, says: str
) -> None:
    assert before in right
    findings = found(right.replace(before, after, 1), host)
    assert [message for kind, message in findings if kind == severity and says in message], findings


def test_number_of_gpus_is_compared(host: dict[str, Any], right: str, machine: Maker) -> None:
    other = render_xml(build_topology(machine(buses=(0x23, 0x43), hives=()), "2.13.4"))
    assert ("silently_wrong", "the file has 2 GPUs and this host 4") in found(other, host)


def test_host_without_a_driver_is_compared_as_far_as_it_goes(host: dict[str, Any], right: str) -> None:
    host["kfd"] = None
    assert [kind for kind, _message in found(right, host)] == ["note"]


def test_numa_node_that_pci_does_not_name_may_be_rccls_own(host: dict[str, Any], right: str) -> None:
    host["pci"]["gpus"][0]["numa_node"] = -1
    assert found(right, host) == []


@pytest.mark.parametrize("text", ["", "<?xml?>"], ids=["empty", "refused"])
def test_what_has_no_topology_has_nothing_to_compare(host: dict[str, Any], text: str) -> None:
    assert found(text, host) == []
