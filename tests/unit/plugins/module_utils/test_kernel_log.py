# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.instinct.bringup.plugins.module_utils.kernel_log import (
    MAX_EVENTS,
    message_of,
    parse_kernel_log,
    read_kernel_log,
    read_ring,
)
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

Plant = Callable[[dict[str, Any]], Tree]
GPU = "0000:83:00.0"


@pytest.mark.parametrize(
    ("line", "kind", "bdf", "detail"),
    [
        (f"amdgpu: probe of {GPU} failed with error -12", "probe_failed", GPU, "-12"),
        (f"amdgpu {GPU}: probe with driver amdgpu failed with error -22", "probe_failed", GPU, "-22"),
        (f"amdgpu {GPU}: amdgpu: Fatal error during GPU init", "init_fatal", GPU, None),
        (f"amdgpu {GPU}: amdgpu: gpu post error!", "post_error", GPU, None),
        (f"pci {GPU}: BAR 0: no space for [mem size 0x1000000000 64bit pref]", "bar_no_space", GPU, "0"),
        (f"pci {GPU}: BAR 0 [mem size 0x1000000000 64bit pref]: can't assign; no space", "bar_no_space", GPU, "0"),
        (
            f"amdgpu {GPU}: Direct firmware load for amdgpu/arcturus_gpu_info.bin failed with error -2",
            "firmware_missing",
            GPU,
            "amdgpu/arcturus_gpu_info.bin",
        ),
        (f"amdgpu {GPU}: amdgpu: PCIE atomic ops is not supported", "atomics_missing", GPU, None),
        (f"amdgpu {GPU}: cannot be used for peer-to-peer DMA as the client and", "p2p_denied", GPU, None),
        (
            f"pci {GPU}: 126.024 Gb/s available PCIe bandwidth, limited by 16.0 GT/s PCIe x8 link at {GPU}",
            "link_limited",
            GPU,
            f"126.024 Gb/s available PCIe bandwidth, limited by 16.0 GT/s PCIe x8 link at {GPU}",
        ),
        (
            f"pcieport {GPU}: AER: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer",
            "aer",
            GPU,
            "Uncorrected (Fatal)",
        ),
        ("Loading of unsigned module is rejected", "key_rejected", None, "Loading of unsigned module is rejected"),
        ("[drm] get invalid ip discovery binary signature", "discovery", None, None),
        (
            f"amdgpu {GPU}: amdgpu: 1 uncorrectable hardware errors detected in umc block",
            "ras",
            GPU,
            "1 uncorrectable hardware errors detected in umc block",
        ),
    ],
)
def test_what_the_driver_and_the_bus_complain_of(line: str, kind: str, bdf: str | None, detail: str | None) -> None:
    (event,) = parse_kernel_log(f"[    8.841500] {line}\n")["events"]
    assert (event["kind"], event["bdf"], event["detail"]) == (kind, bdf, detail)
    assert event["text"] == line


def test_the_firmware_s_report_names_the_device_after_the_severity() -> None:
    text = (
        "[  1.0] {1}[Hardware Error]: event severity: fatal\n"
        "[  1.0] {1}[Hardware Error]:   section_type: PCIe error\n"
        f"[  1.0] {{1}}[Hardware Error]:   device_id: {GPU}\n"
    )
    assert [(event["kind"], event["bdf"], event["detail"]) for event in parse_kernel_log(text)["events"]] == [
        ("aer", GPU, "fatal")
    ]


def test_hives_memory_and_a_log_that_has_lost_its_beginning() -> None:
    text = (
        f"[    5.95] amdgpu {GPU}: XGMI: Add node 3, hive 0x2000000000000001.\n"
        f"[    6.0] amdgpu {GPU}: amdgpu: Detected VRAM RAM=65520M, BAR=65536M\n"
    )
    seen = parse_kernel_log(text)
    assert seen["hives"] == {GPU: "0x2000000000000001"}
    assert seen["vram"] == {GPU: {"ram_mib": 65520, "bar_mib": 65536}}
    assert seen["whole"] is False
    assert parse_kernel_log("[    0.000000] Linux version 5.15.0-91-generic\n" + text)["whole"] is True


def test_a_card_that_repeats_itself_fills_no_snapshot() -> None:
    text = f"amdgpu {GPU}: amdgpu: gpu post error!\n" * 5000
    assert len(parse_kernel_log(text)["events"]) == MAX_EVENTS


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (b"6,339,5140900,-;NET: Registered\n SUBSYSTEM=net\n", "NET: Registered"),
        (b"4,1,2,-;tab\\x09here", "tab\there"),
        (b"no record at all", "no record at all"),
        (b"", ""),
    ],
)
def test_records_of_the_ring(record: bytes, message: str) -> None:
    assert message_of(record) == message


def test_the_ring_is_read_until_nothing_is_left(tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / "kmsg").write_text("")
    answers: list[Any] = [b"6,1,1,-;one\n", BrokenPipeError(), b"6,2,2,-;two\n", BlockingIOError()]

    def read(_handle: int, _size: int) -> bytes:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return bytes(answer)

    assert read_ring(Tree(str(tmp_path)), read) == "one\ntwo"
    assert answers == []
    assert len(os.listdir("/proc/self/fd")) < 100


def test_a_log_that_may_not_be_read_is_a_problem(plant: Plant) -> None:
    tree = plant({})
    assert read_kernel_log(tree, live=True) is None
    assert read_kernel_log(tree, live=False) is None
    assert [entry["path"] for entry in tree.problems()] == ["/dev/kmsg", "/var/log/dmesg"]


def test_captured_logs(captures: Path) -> None:
    def events(name: str) -> set[tuple[str, str | None]]:
        seen = parse_kernel_log((captures / name).read_text())
        return {(event["kind"], event["bdf"]) for event in seen["events"]}

    assert ("aer", "0000:83:00.0") in events("failing/aer-fatal-iommu-3mi100.txt")
    assert {("probe_failed", "0000:c3:00.0"), ("init_fatal", "0000:83:00.0")} <= events(
        "failing/bar-exhausted-mi210-init-12.txt"
    )
    post = {bdf for kind, bdf in events("failing/gpu-post-error-mi100-5gpu.txt") if kind == "post_error"}
    assert len(post) == 5
    assert ("p2p_denied", "0000:67:00.0") in events("lspci/p2p-denied-icelake-mi210.txt")
    hives = parse_kernel_log((captures / "dmesg/xgmi-hive-4gpu.txt").read_text())["hives"]
    assert (len(hives), len(set(hives.values()))) == (4, 1)
