# SPDX-License-Identifier: Apache-2.0
"""The fleet view: odd ones out, the baseline, and where both are shown. CASES H-08, S-12."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from support.rows import change
from support.snapshots import node

from ansible_collections.instinct.bringup.plugins.plugin_utils.checks import CHECKS, CheckContext, CheckResult
from ansible_collections.instinct.bringup.plugins.plugin_utils.fleet import (
    BaselineError,
    baseline_text,
    fleet_facts,
    load_baseline,
    make_baseline,
    odd_ones_out,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.report.results import fleet_findings, results_of
from ansible_collections.instinct.bringup.plugins.plugin_utils.report.run_folder import create_run_folder, write_node
from ansible_collections.instinct.bringup.plugins.plugin_utils.report.summary import summary_table

VBIOS = "113-D67301-063"


def facts(changed: Any = None, machine: str = "mi210-4gpu-quad", **options: Any) -> dict[str, str]:
    return fleet_facts(node(machine, changed, **options).snapshot)


def nodes(**odd: dict[str, str]) -> dict[str, dict[str, str]]:
    return {"gpu01": facts(), "gpu02": facts(), "gpu03": facts(), **odd}


def test_what_is_compared_of_a_node() -> None:
    seen = facts()
    assert seen["gpus"] == "4 x 1002:740f"
    assert seen["vbios"] == "4 x 113-D67301-059"
    assert (seen["link_widths"], seen["hives"], seen["microcode"]) == ("4 x x16", "4", "mec 0x00000047")
    assert (seen["driver"], seen["kernel"], seen["numa_nodes"]) == ("5.18.13", "5.15.0-91-generic", "1")


def test_alike_nodes_have_no_odd_one() -> None:
    assert odd_ones_out(nodes()) == []
    assert odd_ones_out({}) == []


@pytest.mark.parametrize(
    ("changed", "fact", "value"),
    [
        (change("pci/gpus/0/vbios", VBIOS), "vbios", f"3 x 113-D67301-059, 1 x {VBIOS}"),
        (change("pci/gpus/0/path/1/link/current_width", 8), "link_widths", "3 x x16, 1 x x8"),
        (change("kernel/release", "5.15.0-92-generic"), "kernel", "5.15.0-92-generic"),
        (change("modules/amdgpu/version", "5.16.9"), "driver", "5.16.9"),
        (change("pci/gpus/0/firmware/mec", "0x00000046"), "microcode", "mec 0x00000046/0x00000047"),
    ],
    ids=["vbios", "link", "kernel", "driver", "microcode"],
)
def test_the_odd_one_is_named_with_the_majority_s_value(changed: Any, fact: str, value: str) -> None:
    (one,) = odd_ones_out(nodes(gpu04=facts(changed)))
    assert (one.host, one.fact, one.value, one.usual) == ("gpu04", fact, value, facts()[fact])
    assert "on 3 of 4 nodes" in one.sentence()


def test_s12_rdma_devices_differ() -> None:
    def hcas(*names: str) -> dict[str, str]:
        return facts(change("net/hcas", [{"name": name, "ports": []} for name in names]))

    found = odd_ones_out({"a": hcas("erdma_0", "erdma_1"), "b": hcas("erdma_0", "erdma_1"), "c": hcas("erdma_0")})
    assert [(one.host, one.value, one.usual) for one in found] == [("c", "erdma_0", "erdma_0, erdma_1")]


def test_without_a_majority_every_node_is_named() -> None:
    kernels = {"gpu01": "5.15.0-91-generic", "gpu02": "5.19.0-38-generic", "gpu03": "6.2.0-39-generic"}
    found = odd_ones_out({host: facts(change("kernel/release", kernel)) for host, kernel in kernels.items()})
    assert [(one.host, one.usual) for one in found] == [("gpu01", ""), ("gpu02", ""), ("gpu03", "")]
    assert "no majority" in found[0].sentence()


def test_of_two_nodes_none_is_odd() -> None:
    assert odd_ones_out({"gpu01": facts(), "gpu02": facts(change("kernel/release", "5.19.0-38-generic"))}) == []


def test_nodes_with_other_cards_are_another_fleet() -> None:
    other = facts(changed=lambda snapshot: [gpu.update(device="740c", vbios="x") for gpu in snapshot["pci"]["gpus"]])
    assert odd_ones_out(nodes(gpu04=other)) == []


def test_what_could_not_be_read_is_not_odd() -> None:
    assert odd_ones_out(nodes(gpu04=facts(change("kernel/release", None)))) == []


def judge(made: Any, baseline: Any) -> list[CheckResult]:
    context: CheckContext = dataclasses.replace(made.context(), baseline=baseline)
    return CHECKS["fleet.as_baseline"].run(context)


def test_a_baseline_is_the_majority_and_judges_each_node(tmp_path: Path) -> None:
    path = tmp_path / "baseline.yml"
    path.write_text(baseline_text(make_baseline(nodes(gpu04=facts(change("pci/gpus/0/vbios", VBIOS))))))
    baseline = load_baseline(path)
    assert {result.outcome for result in judge(node("mi210-4gpu-quad"), baseline)} == {"ok"}
    results = judge(node("mi210-4gpu-quad", change("pci/gpus/0/vbios", VBIOS)), baseline)
    assert [(result.subject, result.expected) for result in results if result.outcome == "fail"] == [
        ("VBIOS", "4 x 113-D67301-059")
    ]
    (hidden,) = [
        r for r in judge(node("mi210-4gpu-quad", change("kernel/release", None)), baseline) if r.outcome != "ok"
    ]
    assert (hidden.outcome, hidden.subject) == ("unknown", "kernel")


def test_without_a_baseline_nothing_is_asked() -> None:
    assert [result.outcome for result in judge(node(), None)] == ["skipped"]


def test_cards_that_the_baseline_does_not_know_fail() -> None:
    assert [result.outcome for result in judge(node(), {"schema": 1, "models": {}})] == ["fail"]


@pytest.mark.parametrize("text", ["", "schema: 2\n", "[1]", "schema: 1\nmodels: x\n", "a: [\n", "\xff"])
def test_a_file_that_is_no_baseline_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.yml").write_bytes(text.encode("latin-1"))
    with pytest.raises(BaselineError, match="baseline"):
        load_baseline(tmp_path / "x.yml")
    with pytest.raises(BaselineError, match="cannot be read"):
        load_baseline(tmp_path / "none.yml")


def test_the_report_names_the_odd_one(tmp_path: Path) -> None:
    folder = create_run_folder(tmp_path, list(nodes()) + ["gpu04"], verb="verify", rocm_release="5.4.2")
    for host, entry in nodes(gpu04=facts(change("kernel/release", "6.2.0-20-generic"))).items():
        write_node(folder.path, host, {"verdict": "pass", "reason": "", "fleet": entry})
    results = results_of(folder)
    assert results["fleet"][0]["host"] == "gpu04"
    assert "gpu04: kernel 6.2.0-20-generic, on 3 of 4 nodes 5.15.0-91-generic" in summary_table(results)
    assert fleet_findings({"a": {"fleet": None}}) == []
