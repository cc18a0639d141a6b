# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.instinct.bringup.plugins.plugin_utils.catalog import default_catalog
from ansible_collections.instinct.bringup.plugins.plugin_utils.env.host import Gpu, Host
from ansible_collections.instinct.bringup.plugins.plugin_utils.env.lint import MOST_FINDINGS, Lint, Linter
from ansible_collections.instinct.bringup.plugins.plugin_utils.env.model import VERDICTS
from ansible_collections.instinct.bringup.plugins.plugin_utils.env.registry import default_registry
from ansible_collections.instinct.bringup.plugins.plugin_utils.env.table import lint_table

MI210 = default_catalog().gpu("mi210")
BRIDGED = Host(gpus=tuple(Gpu(f"0000:{bus}3:00.0", f"GPU-{bus:016x}", 5) for bus in range(2)))
MIXED = Host(gpus=(Gpu("0000:03:00.0", "GPU-1", 5), Gpu("0000:23:00.0", "GPU-2", 0)))
DEVICES = Host(
    interfaces=("lo", "bond0", "bond0.2093", "eno1", "docker0"),
    hcas={"mlx5_0": (1,), "mlx5_1": (1, 2)},
    addresses=("0000:03:00.0",),
    files={
        "/x/own.xml": '<system version="2"><cpu numaid="0"><pci busid="0000:03:00.0"><gpu dev="0"/></pci></cpu></system>',
        "/x/other.xml": '<system version="2"><cpu numaid="0"><pci busid="0001:00:00.0"><gpu dev="0"/></pci></cpu></system>',
        "/x/bad.xml": "no topology",
        "/x/gone.xml": None,
    },
)


def lint(text: str, host: Host | None = None, release: str = "5.4.2", form: str = "auto") -> Lint:
    return Linter(release, MI210, host).text(text, form=form)


def verdict(text: str, host: Host | None = None, release: str = "5.4.2", form: str = "auto") -> tuple[str, str]:
    finding = lint(text, host, release, form).findings[0]
    return finding.verdict, finding.message


@pytest.mark.parametrize(
    ("host", "expected"),
    [(None, "ok"), (BRIDGED, "conflict"), (MIXED, "ok")],
    ids=["not looked at", "bridged", "not all"],
)
def test_fine_grain_is_judged_by_the_wiring(host: Host | None, expected: str) -> None:
    assert verdict("export HSA_FORCE_FINE_GRAIN_PCIE=1", host)[0] == expected


@pytest.mark.parametrize(
    ("text", "expected", "words"),
    [
        ("export NCCL_SOCKET_IFNAME=bond0", "bad_value", "write =bond0"),
        ("export NCCL_SOCKET_IFNAME==bond0", "ok", ""),
        ("export NCCL_SOCKET_IFNAME=eth", "bad_value", "selects no interface; there are lo, bond0"),
        ("export NCCL_SOCKET_IFNAME=eno,eth", "bad_value", "'eth' matches no interface"),
        ("export NCCL_SOCKET_IFNAME=^lo,docker", "ok", ""),
        ("export NCCL_SOCKET_IFNAME=^lo,docker,bond,eno", "bad_value", "selects no interface"),
        ("export NCCL_IB_HCA=mlx5_0,mlxl5_7", "bad_value", "mlxl5_7 is no adapter"),
        ("export NCCL_IB_HCA=mlx5_1:2", "ok", ""),
        ("export NCCL_IB_HCA=mlx5_0:2", "bad_value", "mlx5_0:2 is no adapter"),
        ("export NCCL_IB_HCA=^mlx5", "bad_value", "leaves no adapter"),
        ("export NCCL_TOPO_FILE=/x/own.xml", "ok", ""),
        ("export NCCL_TOPO_FILE=/x/other.xml", "bad_value", "not of this host"),
        ("export NCCL_TOPO_FILE=/x/bad.xml", "bad_value", "RCCL refuses it"),
        ("export NCCL_TOPO_FILE=/x/gone.xml", "bad_value", "not there"),
        ("export NCCL_TOPO_FILE=/x/unseen.xml", "ok", ""),
        ("export NCCL_GRAPH_FILE=/x/gone.xml", "bad_value", "the job ends"),
    ],
)
def test_values_are_judged_by_the_node(text: str, expected: str, words: str) -> None:
    found = verdict(text, DEVICES)
    assert found[0] == expected
    assert words in found[1]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("export HSA_OVERRIDE_GFX_VERSION=9.0.10", "supported as it is"),
        ("export ROCR_VISIBLE_DEVICES=1 HIP_VISIBLE_DEVICES=1", "devices that are left: none"),
        ("export LD_LIBRARY_PATH=/opt/rocm/lib", "RUNPATH"),
        ("export LD_LIBRARY_PATH=/opt/rocm-5.4.2/lib:$LD_LIBRARY_PATH", "RUNPATH"),
        ("export NCCL_MIN_NCHANNELS=8 NCCL_MAX_NCHANNELS=2", "is above"),
    ],
)
def test_values_that_do_not_go_together(text: str, words: str) -> None:
    found = verdict(text)
    assert found[0] == "conflict"
    assert words in found[1]


@pytest.mark.parametrize(
    ("text", "release"),
    [("export LD_LIBRARY_PATH=/opt/rocm/lib", "5.7.1"), ("export LD_LIBRARY_PATH=/usr/local/lib", "5.4.2")],
    ids=["later PyTorch", "no ROCm"],
)
def test_a_library_path_that_harms_nothing_is_not_told(text: str, release: str) -> None:
    assert lint(text, release=release).findings == ()


@pytest.mark.parametrize(
    ("form", "text", "expected", "words"),
    [
        ("rccl_conf", "NCCL_BUFFSIZE=4194304", "ok", ""),
        ("rccl_conf", "# NCCL_BUFFSIZE=4194304", "unread", "neither comments nor export"),
        ("rccl_conf", "export NCCL_BUFFSIZE=4194304", "unread", "neither comments nor export"),
        ("rccl_conf", 'NCCL_BUFFSIZE="4194304"', "bad_value", "quotes become part"),
        ("rccl_conf", "HSA_FORCE_FINE_GRAIN_PCIE=1", "ok", "must stand in the environment as well"),
        ("shell", "export NCCL_BUFFSIZE=4194304\r", "bad_value", "CR LF"),
        ("shell", "export NCCL_BUFFSIZE=$(cat x)", "unknown", "a command's output: nothing is run"),
        ("shell", "export NCCL_BUFFSIZE=$SIZE", "unknown", "another variable's value"),
        ("shell", "export A=1\nNCCL_BUFFSIZE=4194304", "ok", "not exported"),
        ("shell", "export NCCL_BUFFSIZE=0x400000", "ok", "0x400000 is 4194304"),
        ("process", "NCCL_BUFFSIZE=4M\0", "bad_value", "write 4194304"),
    ],
)
def test_the_form_of_the_file_counts(form: str, text: str, expected: str, words: str) -> None:
    found = verdict(text, form=form)
    assert found[0] == expected
    assert words in found[1]


def test_a_variable_of_other_gpus_is_told() -> None:
    found = verdict("export RCCL_MSCCLPP_ENABLE=1", release="develop")
    assert found[0] == "ok"
    assert "concerns gfx940, gfx941, gfx942 only" in found[1]


def test_one_finding_for_each_assignment_and_none_for_other_names() -> None:
    found = lint("export HOME=/x NCCL_DEBUG=INFO\nexport NCCL_DEBUG=WARN PATH=/bin\n").findings
    assert [(finding.name, finding.line) for finding in found] == [("NCCL_DEBUG", 1), ("NCCL_DEBUG", 2)]


@pytest.mark.parametrize(
    ("text", "matters"),
    [("export NCCL_DEBUG=INFO", False), ("export HIP_PATH=/opt/rocm", False), ("export RCCL_BUFFSIZE=1", True)],
    ids=["ok", "build only", "unread"],
)
def test_what_matters(text: str, matters: bool) -> None:
    assert lint(text).matters is matters


def test_a_thousand_lines_are_judged_one_by_one() -> None:
    known = list(default_registry().variables)
    text = "".join(
        f"export {known[number % len(known)]}{'X' if number % 3 else ''}='{number}' # {number}\n"
        for number in range(1000)
    )
    assert len(Linter("5.4.2", MI210, DEVICES).text(text).findings) > 900


def test_ten_megabytes_end_with_a_note() -> None:
    text = "export NCCL_BUFFSIZE=4194304\n" * 20_000
    found = lint(text)
    assert len(found.findings) == MOST_FINDINGS
    assert "the findings end here" in found.notes[-1].message


@settings(max_examples=40)
@given(st.text(max_size=150), st.sampled_from(["5.2.0", "5.4.2", "6.2.2", "7.1.0"]))
def test_any_text_gives_known_verdicts(text: str, release: str) -> None:
    for finding in lint("export NCCL_BUFFSIZE=" + text, DEVICES, release).findings:
        assert finding.verdict in VERDICTS
        assert finding.message


def test_the_table_shows_what_matters_first_and_counts() -> None:
    lines = lint_table(lint("export NCCL_DEBUG=INFO\n. other.sh\nexport RCCL_BUFFSIZE=4M\n"), "x.sh", "5.4.2")
    assert lines[0] == "x.sh, read as shell, for ROCm 5.4.2"
    assert lines[1].startswith("x     3  unread           RCCL_BUFFSIZE: ")
    assert any("note" in line and "other.sh" in line for line in lines)
    assert lines[-1] == "1 unread, 1 ok"
