# SPDX-License-Identifier: Apache-2.0
"""rocm-smi's and amd-smi's outputs: made ones of each form, and every captured one. CASES H-09."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.instinct.bringup.plugins.plugin_utils.tools.amd_smi import parse_amd_smi
from ansible_collections.instinct.bringup.plugins.plugin_utils.tools.model import bdf_of, hex_id, known, whole
from ansible_collections.instinct.bringup.plugins.plugin_utils.tools.rocm_smi import parse_rocm_smi

LOW_POWER = "WARNING: AMD GPU device(s) is/are in a low-power state. Check power control/runtime_status\n"
HARDWARE = """
======================= ROCm System Management Interface =======================
============================ Concise Hardware Info =============================
GPU  NODE  DID     GUID   GFX VER  GFX RAS  SDMA RAS  UMC RAS  VBIOS            BUS           PARTITION ID
0    1     0x740f  54401  gfx90a   N/A      N/A       N/A      113-D67301V-074  0000:18:00.0  0
1    2     0x740f  20202  gfx90a   N/A      N/A       N/A      N/A              0000:42:00.0  0
================================================================================
"""
TOPOLOGY = """
=========================== Weight between two GPUs ============================
       GPU0         GPU1
GPU0   0            15
GPU1   15           0
========================== Link Type between two GPUs ==========================
GPU0 GPU1
GPU0 0 XGMI
GPU1 XGMI 0
"""


def test_a_table_of_hardware() -> None:
    output = parse_rocm_smi(HARDWARE)
    assert [(gpu.bdf, gpu.device_id, gpu.vbios, gpu.node) for gpu in output.gpus] == [
        ("0000:18:00.0", "740f", "113-D67301V-074", 1),
        ("0000:42:00.0", "740f", None, 2),
    ]


@pytest.mark.parametrize(
    "text", [TOPOLOGY, LOW_POWER + TOPOLOGY, TOPOLOGY.replace("\nGPU1   15", "\n" + LOW_POWER + "GPU1   15")]
)
def test_tables_with_a_warning_before_inside_and_with_collapsed_spaces(text: str) -> None:
    output = parse_rocm_smi(text)
    assert output.links == {(0, 1): "XGMI", (1, 0): "XGMI"}
    assert output.weights == {(0, 1): 15, (1, 0): 15}


def test_json_with_warnings_around_it() -> None:
    text = (
        LOW_POWER
        + '{"card0": {"PCI Bus": "0000:1E:00.0", "VBIOS version": "N/A"}, "system": {"Driver version": "6.2"}}\n'
        + LOW_POWER
    )
    output = parse_rocm_smi(text)
    assert (output.gpus[0].bdf, output.gpus[0].vbios, output.driver) == ("0000:1e:00.0", None, "6.2")
    assert len(output.warnings) == 2


def test_csv_with_a_warning_ahead_of_its_header() -> None:
    text = LOW_POWER + "device,Unique ID,VRAM Total Memory (B),Card model\ncard0,0x1,68702699520,0x0c34\n"
    (gpu,) = parse_rocm_smi(text).gpus
    assert (gpu.vram_bytes, gpu.model_id, gpu.device_id) == (68702699520, "0c34", None)


def test_h09_several_arrays_are_one_answer() -> None:
    text = LOW_POWER + '[{"gpu":0,"bdf":"0000:05:00.0","accelerator_type":"SPX"}]\n[{"gpu":0,"memory":"NPS1"}]\n'
    output = parse_amd_smi(text)
    assert (output.readable, [gpu.bdf for gpu in output.gpus]) == (True, ["0000:05:00.0"])


@pytest.mark.parametrize("text", ["", "WARNING: No JSON data to report\n", "{", "null", "[1, 2]", '"text"'])
def test_h09_no_report_is_not_an_empty_report(text: str) -> None:
    for parse in (parse_rocm_smi, parse_amd_smi):
        output = parse(text)
        assert (output.readable, output.gpus) == (False, [])


def test_an_empty_table_is_a_report_without_gpus() -> None:
    text = "WARNING: No AMD GPUs specified\n=== ROCm System Management Interface ===\n=== Concise Info ===\nDevice  Node\n======\n"
    output = parse_rocm_smi(text)
    assert (output.readable, output.gpus, output.warnings) == (True, [], ["WARNING: No AMD GPUs specified"])


def test_amd_smi_s_newer_json_of_links() -> None:
    text = '[{"gpu": 0, "bdf": "0000:05:00.0", "links": [{"gpu": 1, "weight": 15, "link_type": "XGMI"}, {"gpu": 0, "link_type": "SELF"}]}]'
    assert parse_amd_smi(text).links == {(0, 1): "XGMI"}


@settings(max_examples=40)
@given(st.text(max_size=400))
def test_no_text_breaks_a_parser(text: str) -> None:
    for parse in (parse_rocm_smi, parse_amd_smi):
        parse(text)
        parse(HARDWARE + text + TOPOLOGY)


@pytest.mark.parametrize(
    ("text", "bdf"),
    [
        ("0000:1E:00.0", "0000:1e:00.0"),
        ("05:00.0", "0000:05:00.0"),
        ("N/A", None),
        ("0000:05:00", None),
        ("zz:00.0", None),
    ],
)
def test_addresses(text: str, bdf: str | None) -> None:
    assert bdf_of(text) == bdf


def test_not_known_is_neither_zero_nor_a_fault() -> None:
    assert (known("N/A"), whole("N/A"), hex_id("N/A")) == (None, None, None)
    assert (known("x"), whole("0x10"), hex_id("0x740F"), hex_id("MI210")) == ("x", 16, "740f", None)


# File, GPUs, pairs with a link type, lines that are warnings or a shell's.
ROCM_SMI = [
    ("csv-mi100-1gpu-v2.3.csv", 1, 0, 0),
    ("csv-mi210-2gpu-v1.4.1.csv", 2, 0, 0),
    ("json-mi100-6gpu-rocm571-GEN3.json", 6, 30, 0),
    ("json-mi210-1gpu-allinfo.json", 1, 0, 0),
    # The pairs name eight cards, the list has one: the list counts.
    ("json-mi50-vega20-of8.json", 1, 56, 0),
    ("plain-mi210-8gpu-rocm60.txt", 8, 0, 0),
    ("plain-mi300x-8gpu-rocm60.txt", 8, 0, 0),
    ("plain-mi308x-8gpu.txt", 8, 0, 0),
    ("showclkfrq-mi210-2gpu.txt", 2, 0, 1),
    ("showhw-mi210-2gpu-ras-na.txt", 2, 0, 1),
    ("showhw-mi250-8gcd.txt", 8, 0, 0),
    ("showhw-mi300a-4gpu.txt", 4, 0, 0),
    ("showhw-mi300a-tpx-12part-and-lspci.txt", 12, 0, 2),
    ("showhw-mi300x-8gpu.txt", 8, 0, 0),
    ("showid-mi300a-4gpu.txt", 4, 0, 1),
    ("showproductname-mi210-1gpu-rocm57.txt", 1, 0, 0),
    ("showproductname-mi250-2gcd.txt", 2, 0, 0),
    ("showtopo-4gpu-nps4-pcie.txt", 4, 12, 0),
    ("showtopo-mi100-8gpu-2hives.txt", 8, 56, 0),
    ("showtopo-mi250-8gcd.txt", 8, 56, 0),
    ("showtopo-mi308x-8gpu-lowpower.txt", 8, 56, 1),
    ("showtoponuma-mi210-8gpu-nps4.txt", 8, 0, 0),
    ("showuse-showmeminfo-vram-mi308x.txt", 8, 0, 0),
    ("showvbios-mi300a-na.txt", 4, 0, 1),
]


@pytest.mark.parametrize(("name", "gpus", "links", "warnings"), ROCM_SMI, ids=[row[0] for row in ROCM_SMI])
def test_every_captured_output_of_rocm_smi(captures: Path, name: str, gpus: int, links: int, warnings: int) -> None:
    output = parse_rocm_smi((captures / "rocm-smi" / name).read_text())
    assert (output.readable, len(output.gpus), len(output.links)) == (True, gpus, links)
    assert len(output.warnings) == warnings


def test_no_captured_output_of_rocm_smi_is_left_out(captures: Path) -> None:
    there = {path.name for path in (captures / "rocm-smi").iterdir() if path.suffix != ".source"}
    # This one is empty as it was found: the tool printed nothing.
    assert there - {row[0] for row in ROCM_SMI} == {"json-fragments-mi210-idle.txt"}
    assert not parse_rocm_smi((captures / "rocm-smi/json-fragments-mi210-idle.txt").read_text()).readable


@pytest.mark.parametrize(
    ("name", "gpus", "links", "weights"),
    [
        ("amd-smi/list-static-firmware-topology-xgmi-mi300x.txt", 8, 0, 56),
        ("amd-smi/metric-pcie-mi300x.txt", 2, 0, 0),
        ("amd-smi/topology-flags-mi300x.txt", 8, 0, 0),
        ("amd-smi/topology-json-old-2gpu-pcie.txt", 2, 2, 2),
        ("amd-smi/topology-mi300x-8gpu.txt", 8, 56, 56),
        ("combined/mi210-2gpu-pcie-topology.txt", 2, 2, 2),
    ],
)
def test_every_captured_output_of_amd_smi(captures: Path, name: str, gpus: int, links: int, weights: int) -> None:
    output = parse_amd_smi((captures / name).read_text())
    assert (output.readable, len(output.gpus), len(output.links), len(output.weights)) == (True, gpus, links, weights)


def test_what_a_capture_tells_of_a_card(captures: Path) -> None:
    (card,) = parse_rocm_smi((captures / "rocm-smi/json-mi210-1gpu-allinfo.json").read_text()).gpus
    # The name of this card is "GENERIC RM IMAGE": its id is what counts.
    assert (card.bdf, card.device_id, card.vbios) == ("0000:63:00.0", "740f", "113-D67301-063")
    assert (card.firmware["smc"], card.firmware["ta_xgmi"]) == ("00.68.56.00", "32.00.00.13")
    first = parse_amd_smi((captures / "amd-smi/list-static-firmware-topology-xgmi-mi300x.txt").read_text()).gpus[0]
    assert (first.bdf, first.device_id, first.firmware["smc"]) == ("0000:05:00.0", "74a1", "85.110.0")
