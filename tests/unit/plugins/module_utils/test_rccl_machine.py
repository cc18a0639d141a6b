# SPDX-License-Identifier: Apache-2.0
"""A whole tree is read and rendered: the lab's machine, alone and with KFD as a real one of its shape showed it."""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.instinct.bringup.plugins.module_utils.kfd import read_kfd
from ansible_collections.instinct.bringup.plugins.module_utils.rccl_machine import read_machine
from ansible_collections.instinct.bringup.plugins.module_utils.rccl_topology import build_topology, render_xml
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree
from ansible_collections.instinct.bringup.plugins.plugin_utils.rccl_host import lint_host
from ansible_collections.instinct.bringup.plugins.plugin_utils.rccl_lint import lint_topology
from ansible_collections.instinct.bringup.plugins.plugin_utils.topology.explain import explain_topology
from instinct_lab.hardware import build, machine

QUADS = {
    frozenset(f"0000:{bus:02x}:00.0" for bus in quad) for quad in ((0x03, 0x26, 0x43, 0x63), (0x83, 0xA3, 0xC3, 0xE3))
}


@pytest.fixture(scope="module")
def lab_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the made tree of the lab's machine with eight MI210."""
    root = tmp_path_factory.mktemp("lab")
    build.write_offline(machine.load("mi210-8gpu-2hives"), root)
    return root


def assert_two_quads(read: dict[str, Any]) -> None:
    topology = build_topology(read, "2.13.4")
    text = render_xml(topology)
    near = {gpu.busid: {link.target for link in topology.links if link.source == gpu.busid} for gpu in topology.gpus}
    assert {frozenset(peers | {name}) for name, peers in near.items()} == QUADS
    assert text.count("<xgmi ") == 24
    assert lint_topology(text, "2.13.4") == []
    assert lint_host(text, "2.13.4", read) == []
    assert explain_topology(text, "2.13.4")["shape"] == "two quads"


def test_the_labs_machine_gives_two_quads(lab_tree: Path) -> None:
    assert_two_quads(read_machine(str(lab_tree)))


def test_captured_kfd_on_the_labs_pci_gives_two_quads(lab_tree: Path, captures: Path, tmp_path: Path) -> None:
    with tarfile.open(captures / "kfd-mi210-8gpu-2hives.tar.gz") as archive:
        for member in archive:
            content = archive.extractfile(member) if member.name.startswith("sys/class/kfd/") else None
            if content is not None:
                path = tmp_path / member.name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content.read())
    assert_two_quads(read_machine(str(lab_tree)) | {"kfd": read_kfd(Tree(str(tmp_path)))})
