# SPDX-License-Identifier: Apache-2.0
"""Debian's own rocm-smi and lspci, run in a node of every machine, agree with the machine file."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator

import pytest

from instinct_lab import image, nodes, podman, settings
from instinct_lab.hardware import kfd, machine
from instinct_lab.hardware.machine import Machine

pytestmark = pytest.mark.lab

# The tools stay out of the node image: a node must not have them before the product has installed its own.
TOOLS = ["pciutils", "rocm-smi"]


class Probe:
    """A node with the tools in it, and the description of its machine."""

    def __init__(self, node: nodes.Node) -> None:
        self.node = node
        self.machine: Machine = node.load_machine()

    def run(self, *words: str, check: bool = True) -> str:
        """Run a command in the node and return what it prints."""
        return podman.run("exec", self.node.container, *words, check=check).stdout

    def change(self, *changes: str) -> None:
        """Change the hardware of the running node."""
        nodes.rebuild(nodes.Node(self.node.name, self.node.state, self.node.machine, list(changes)))


@pytest.fixture(scope="module", params=machine.names())
def probe(request: pytest.FixtureRequest) -> Iterator[Probe]:
    if os.geteuid() != 0:
        pytest.skip("the lab needs root")
    if not shutil.which("podman") or not podman.containers():
        pytest.skip("the lab is not up: make lab")
    parent = image.ensure_derived("probe", TOOLS)
    # Out of the way of the lab's nodes, which count from 1.
    name = settings.node_name(settings.MAX_NODES - 1 - machine.names().index(request.param))
    node = nodes.make_node(name, "bare", request.param)
    nodes.create(node, image.ensure_node(node.release, parent))
    try:
        nodes.wait_systemd(node)
        yield Probe(node)
    finally:
        nodes.remove([node])


def test_the_plain_table_has_a_row_for_every_gpu(probe: Probe) -> None:
    # The tool ends with 2 on a card without a fan.
    output = probe.run("rocm-smi", check=False)
    rows = re.findall(r"^(\d+)\s+33\.0c\s+41\.0W\s+800Mhz\s+1600Mhz.*300\.0W", output, re.M)
    assert [int(row) for row in rows] == list(range(len(probe.machine.gpus)))


def test_every_gpu_has_its_bus_and_vbios(probe: Probe) -> None:
    output = probe.run("rocm-smi", "--showvbios", "--showbus")
    vbios = dict(re.findall(r"GPU\[(\d+)\]\s*: VBIOS version: (\S+)", output))
    buses = dict(re.findall(r"GPU\[(\d+)\]\s*: PCI Bus: (\S+)", output))
    assert [buses[str(index)].lower() for index in range(len(buses))] == [gpu.bdf for gpu in probe.machine.gpus]
    assert [vbios[str(index)] for index in range(len(vbios))] == [gpu.vbios for gpu in probe.machine.gpus]


def test_the_firmware_is_that_of_the_machine_file(probe: Probe) -> None:
    output = probe.run("rocm-smi", "--showfw")
    for index, gpu in enumerate(probe.machine.gpus):
        shown = dict(re.findall(rf"GPU\[{index}\]\s*: (.+?) firmware version:\s+(\S+)", output))
        assert (int(shown["MEC"]), int(shown["RLC"]), int(shown["SDMA"])) == tuple(
            gpu.firmware[name] for name in ("mec", "rlc", "sdma")
        )
        assert shown["SMC"] == _dotted(gpu.firmware["smc"])
        assert shown["TA XGMI"] == _dotted(gpu.firmware["ta_xgmi"])
        assert int(shown["SOS"], 16) == gpu.firmware["sos"]
        assert int(shown["VCN"], 16) == gpu.firmware["vcn"]


def _dotted(value: int) -> str:
    return ".".join(f"{value >> shift & 0xFF:02d}" for shift in (24, 16, 8, 0))


def test_the_topology_is_that_of_the_machine_file(probe: Probe) -> None:
    output = probe.run("rocm-smi", "--showtopo")
    weights = _matrix(output, "Weight between two GPUs")
    types = _matrix(output, "Link Type between two GPUs")
    first = len(probe.machine.numa)
    pairs = {
        (link.node_from - first, link.node_to - first): link
        for link in kfd.connections(probe.machine)
        if link.node_from >= first and link.node_to >= first
    }
    for (one, other), link in pairs.items():
        assert weights[one][other] == str(link.weight)
        assert types[one][other] == ("XGMI" if link.type == kfd.XGMI else "PCIE")
    near = re.findall(r"GPU\[\d+\]\s*: \(Topology\) Numa Node: (\d+)", output)
    assert [int(node) for node in near] == [gpu.numa_node for gpu in probe.machine.gpus]


def _matrix(output: str, title: str) -> list[list[str]]:
    body = output.split(title, 1)[1].split("\n\n", 1)[0]
    return [line.split()[1:] for line in body.splitlines() if re.match(r"GPU\d", line)]


def _lspci(probe: Probe) -> dict[str, str]:
    blocks = probe.run("lspci", "-D", "-nn", "-vvv").strip().split("\n\n")
    return {block.split()[0]: block for block in blocks}


def _link(block: str, register: str) -> str:
    found = re.search(rf"{register}:.*?Speed (\S+?)GT/s(?: \(\w+\))?, Width (x\d+)( \(downgraded\))?", block)
    assert found, block
    return f"{found[1]} {found[2]}{found[3] or ''}"


def test_lspci_decodes_cards_ports_and_links(probe: Probe) -> None:
    blocks = _lspci(probe)
    for gpu in probe.machine.gpus:
        root, upstream, downstream, endpoint = (
            blocks[bdf] for bdf in (gpu.root_port, gpu.upstream, gpu.downstream, gpu.bdf)
        )
        slot, inner = f"{gpu.slot.speed:g} x{gpu.slot.width}", f"{gpu.endpoint.speed:g} x{gpu.endpoint.width}"
        assert "[1002:740f] (rev 02)" in endpoint
        assert "[1002:0c34]" in endpoint
        assert "Kernel driver in use: amdgpu" in endpoint
        assert f"NUMA node: {gpu.numa_node}" in endpoint
        assert "64-bit, prefetchable) [size=64G]" in endpoint
        assert "AtomicOpsCtl: ReqEn+" in endpoint
        assert "[1022:14c7]" in upstream
        assert "[1002:14c8]" in downstream
        assert "Express (v2) Upstream Port" in upstream
        assert "Express (v2) Downstream Port" in downstream
        assert [_link(block, "LnkSta") for block in (root, upstream)] == [slot, slot]
        assert [_link(block, "LnkSta") for block in (downstream, endpoint)] == [inner, inner]
        assert "ACSCtl:\tSrcValid-" in root
    for nic in probe.machine.nics:
        assert "Mellanox" in blocks[nic.bdf]
        assert _link(blocks[nic.bdf], "LnkSta") == f"{nic.link.speed:g} x{nic.link.width}"


def test_a_narrow_slot_shows_at_the_slot_and_nowhere_else(probe: Probe) -> None:
    before = _lspci(probe)
    gpu = probe.machine.gpus[1]
    probe.change(f"gpus.{gpu.bdf}.slot_width=8")
    after = _lspci(probe)
    probe.change()
    assert {bdf for bdf in before if before[bdf] != after[bdf]} == {gpu.root_port, gpu.upstream}
    assert _link(after[gpu.upstream], "LnkSta") == f"{gpu.slot.speed:g} x8 (downgraded)"
    assert _lspci(probe) == before


def test_a_missing_bridge_link_and_a_missing_driver_show(probe: Probe) -> None:
    one, other = probe.machine.gpus[:2]
    if one.hive:
        probe.change(f"xgmi.{one.bdf}+{other.bdf}=missing")
        output = probe.run("rocm-smi", "--showtopo")
        assert _matrix(output, "Link Type between two GPUs")[0][1] == "PCIE"
        assert _matrix(output, "Weight between two GPUs")[1][0] == "40"
    probe.change("driver=none")
    assert "Kernel driver in use: amdgpu" not in _lspci(probe)[one.bdf]
    assert podman.run("exec", probe.node.container, "test", "-e", "/dev/kfd", check=False).returncode == 1
    probe.change()
    assert "crw-rw---- 1 root render" in probe.run("ls", "-l", "/dev/kfd")
