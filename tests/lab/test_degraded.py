# SPDX-License-Identifier: Apache-2.0
"""Faults of the hardware are named by their address, with what was read and where."""

from __future__ import annotations

import pytest

from .conftest import Lab, Playbook

pytestmark = pytest.mark.lab
GPU = "0000:43:00.0"


def failing(run_results: dict[str, object], identity: str) -> list[dict[str, str]]:
    nodes: dict[str, dict[str, list[dict[str, str]]]] = run_results["nodes"]  # type: ignore[assignment]
    return [check for check in nodes["node1"]["checks"] if check["id"] == identity and check["outcome"] != "ok"]


def test_a_slot_at_x8_fails_with_the_address_both_widths_and_the_file(lab: Lab, playbook: Playbook) -> None:
    lab.command("hardware", "node1", "--set", f"gpus.{GPU}.slot_width=8")
    try:
        run = playbook("playbooks/verify.yml", "--limit", "node1")
        width = lab.on(
            "node1", "cat $(dirname $(readlink -f /sys/bus/pci/devices/%s))/../current_link_width" % GPU
        ).strip()
    finally:
        lab.command("hardware", "node1", "--reset")
    assert run.code != 0
    (check,) = failing(run.results, "pcie.link_width")
    assert (check["subject"], check["observed"], check["expected"]) == (GPU, "x8", "x16")
    assert width == "8"
    assert check["evidence"].endswith("/current_link_width")
    assert all(word in run.output for word in (GPU, "x8", "x16", check["evidence"]))


@pytest.mark.parametrize(
    ("setting", "identity", "words"),
    [
        (f"gpus.{GPU}.vbios=113-D67301-059", "fw.vbios_uniform", GPU),
        (f"gpus.{GPU}.numa_node=-1", "numa.gpu_node_known", GPU),
        (f"xgmi.{GPU}+0000:63:00.0=missing", "xgmi.hive", GPU),
        (f"gpus.{GPU}.driver=none", "gpu.driver_bound", GPU),
    ],
    ids=["one VBIOS differs", "no NUMA node", "one bridge link is missing", "no driver"],
)
def test_other_faults_are_found_too(lab: Lab, playbook: Playbook, setting: str, identity: str, words: str) -> None:
    lab.command("hardware", "node1", "--set", setting)
    try:
        run = playbook("playbooks/verify.yml", "--limit", "node1")
    finally:
        lab.command("hardware", "node1", "--reset")
    found = failing(run.results, identity)
    assert found
    assert any(words in f"{check['subject']} {check['observed']} {check['reason']}" for check in found)
