# SPDX-License-Identifier: Apache-2.0
"""The verdicts that captures/INDEX.md gives, each from the capture itself; and made texts of the same shape."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.instinct.bringup.plugins.plugin_utils.tools.judge import Expected, judge_text

MI210 = Expected(gpu_count=2, hive_size=1)


def outcomes(text: str, expected: Expected, source: str = "a text") -> dict[str, str]:
    """Return the worst outcome of each check that a text touches."""
    order = ["fail", "unknown", "warn", "ok"]
    found: dict[str, str] = {}
    for result in judge_text(text, source, expected):
        assert result.evidence == source
        assert result.remedy
        assert result.outcome == "ok" or result.reason
        best = found.get(result.id, "ok")
        found[result.id] = min(best, result.outcome, key=order.index)
    return found


# File, what the owner expects, and the checks that decide.
VERDICTS = [
    ("failing/driver-not-loaded-nomodeset-mi210-4gpu.txt", Expected(4), {"gpu.driver_bound": "fail"}),
    ("rocm-smi/json-mi100-6gpu-rocm571-GEN3.json", Expected(6, 1, "16.0 GT/s"), {"pcie.link_speed": "fail", "gpu.count": "ok"}),
    # A site whose platform can do no better declares it.
    ("rocm-smi/json-mi100-6gpu-rocm571-GEN3.json", Expected(6, 1, "8.0 GT/s"), {"pcie.link_speed": "ok"}),
    ("failing/bar-exhausted-mi210-init-12.txt", Expected(2), {"gpu.init_fatal": "fail"}),
    ("failing/bar-exhausted-mi210-lshw.txt", Expected(2), {"gpu.driver_bound": "fail"}),
    ("failing/gpu-post-error-mi100-5gpu.txt", Expected(5), {"gpu.count": "fail", "gpu.init_fatal": "fail", "boot.iommu_pt": "ok"}),
    ("failing/xgmi-bridge-missing-mi100-2gpu.txt", Expected(2, 2), {"xgmi.hive": "fail"}),
    ("combined/mi210-2gpu-pcie-topology.txt", Expected(2, 1), {"xgmi.hive": "ok"}),
    ("combined/mi210-2gpu-pcie-topology.txt", Expected(2, 2), {"xgmi.hive": "fail"}),
    ("failing/iommu-not-pt-rccl-hang-mi100.txt", Expected(2), {"boot.iommu_pt": "fail"}),
    ("failing/aer-fatal-iommu-3mi100.txt", Expected(3), {"pcie.aer_fatal": "fail"}),
    ("failing/kfd-permission-denied.txt", Expected(1), {"dev.kfd_openable_as_user": "fail", "gpu.count": "unknown"}),
    ("failing/kfd-invalid-argument.txt", Expected(1), {"dev.kfd_openable_as_user": "fail", "gpu.count": "unknown"}),
    ("failing/showbus-mi300a-wrong-bdf.txt", Expected(4), {"gpu.count": "unknown"}),
    ("failing/runtime-broken-mixed-mi210-mi100-mi50-plain.txt", Expected(3), {"gpu.model_uniform": "warn", "gpu.count": "ok"}),
    ("rocm-smi/showtopo-mi100-8gpu-2hives.txt", Expected(None, 4), {"xgmi.hive": "ok"}),
    ("rocm-smi/showtopo-mi250-8gcd.txt", Expected(None, 8), {"xgmi.hive": "ok"}),
    # Weights and link types tell, the hops do not.
    ("rocm-smi/showtopo-4gpu-nps4-pcie.txt", Expected(None, 4), {"xgmi.hive": "fail"}),
    ("lspci/p2p-denied-icelake-mi210.txt", Expected(), {}),
    ("dmesg/xgmi-hive-4gpu.txt", Expected(4, 4), {}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "expected", "decides"), VERDICTS, ids=[f"{row[0]} {row[1]}" for row in VERDICTS])
def test_the_index_s_verdict(captures: Path, name: str, expected: Expected, decides: dict[str, str]) -> None:
    found = outcomes((captures / name).read_text(), expected, name)
    assert {check: found.get(check) for check in decides} == decides
    assert [check for check, outcome in found.items() if outcome == "fail" and decides.get(check) != "fail"] == []


def test_a_fatal_error_of_the_bus_points_at_the_iommu(captures: Path) -> None:
    name = "failing/aer-fatal-iommu-3mi100.txt"
    (result,) = judge_text((captures / name).read_text(), name, Expected(3))
    assert (result.subject, result.outcome) == ("0000:83:00.0", "fail")
    assert "iommu=pt" in result.remedy


def test_access_and_the_driver_are_told_apart() -> None:
    denied, invalid = (
        next(
            result
            for result in judge_text(f"Unable to open /dev/kfd read-write: {text}\n", "x", MI210)
            if result.outcome == "fail"
        )
        for text in ("Permission denied", "Invalid argument")
    )
    assert "EACCES" in denied.reason
    assert "group" in denied.remedy
    assert "EINVAL" in invalid.reason
    assert "Not a question of groups" in invalid.remedy


@pytest.mark.parametrize("text", ["", "hello\n", "\x00\xff", "GPU[0]"], ids=["empty", "words", "binary", "half a line"])
def test_a_text_that_says_nothing_gives_no_verdict(text: str) -> None:
    assert outcomes(text, Expected()) == {}
