# SPDX-License-Identifier: Apache-2.0
"""A machine as one text: it reads as the machine itself, tells nothing of whose it is, and writes nothing outside."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.instinct.bringup.plugins.module_utils.capturing import capture
from ansible_collections.instinct.bringup.plugins.module_utils.manifest import (
    HEAD,
    ManifestError,
    is_manifest,
    lay_out,
    parse_manifest,
    render_manifest,
)
from ansible_collections.instinct.bringup.plugins.module_utils.recording import Recording
from ansible_collections.instinct.bringup.plugins.module_utils.replay import replay
from ansible_collections.instinct.bringup.plugins.module_utils.scrub import Scrubber
from ansible_collections.instinct.bringup.plugins.module_utils.snapshot import Request, build_snapshot
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree
from instinct_lab.hardware import build, machine

Plant = Callable[[dict[str, Any]], Tree]
REQUEST = Request(users=["deploy"], watch=["/etc/apt/preferences.d/rocm-pin-600"], venvs=["/opt/instinct/venv"])
# Of the moment, and what is scrubbed.
MOMENT = ("collected", "cpu_seconds", "root")


def steady(snapshot: dict[str, Any]) -> dict[str, Any]:
    return {area: value for area, value in snapshot.items() if area not in MOMENT}


@pytest.mark.parametrize("name", machine.names())
def test_a_machine_is_the_same_from_its_manifest(name: str, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    build.write_offline(machine.load(name), tree)
    path = tmp_path / "x.manifest"
    path.write_text(capture(str(tree), Request(), False)["manifest"])
    first, second = steady(build_snapshot(str(tree), Request(), None)), steady(replay(str(path), Request()))
    for area in set(first) - {"kfd", "kernel", "pci"}:
        assert second[area] == first[area], area
    for gpu, other in zip(first["pci"]["gpus"], second["pci"]["gpus"], strict=True):
        assert {**other, "hive_id": None} == {**gpu, "hive_id": None}
    ids = ("unique_id", "hive_id")
    for one, other in zip(first["kfd"]["nodes"], second["kfd"]["nodes"], strict=True):
        assert other["io_links"] == one["io_links"]
        assert {key: v for key, v in other["properties"].items() if key not in ids} == {
            key: v for key, v in one["properties"].items() if key not in ids
        }
    assert len({node["properties"].get("hive_id") for node in second["kfd"]["nodes"]}) == len(
        {node["properties"].get("hive_id") for node in first["kfd"]["nodes"]}
    )


def test_the_made_node_is_the_same_from_its_manifest(plant: Plant, made_node: dict[str, Any], tmp_path: Path) -> None:
    tree = plant(made_node)
    path = tmp_path / "x.manifest"
    path.write_text(capture(tree.root, REQUEST, False)["manifest"])
    assert is_manifest(str(path))
    first, second = build_snapshot(tree.root, REQUEST, None), replay(str(path), REQUEST)
    assert second["root"] == str(path)
    for area in ("os", "modules", "dkms", "users", "groups", "dpkg", "apt", "opt", "alternatives", "python_envs"):
        assert second[area] == first[area], area
    for area in ("watch", "secure_boot", "sysctl", "firmware_files", "kernel_log", "iommu", "devices", "services"):
        if area != "secure_boot":
            assert second[area] == first[area], area
    assert second["secure_boot"]["enrolled"] == ["made machine owner"]
    assert second["modules"]["file"]["signer"] == "made machine owner"


def test_owners_of_devices_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "x.manifest"
    path.write_text(
        f"{HEAD}\nname /dev/kfd\nowner /dev/kfd 0660 0 992\nfile /etc/group\n|render:x:992:\nfile /etc/passwd\n|root:x:0:0::/:\n"
    )
    (device,) = replay(str(path), Request())["devices"]["nodes"]
    assert (device["mode"], device["gid"], device["owner"], device["group"]) == ("0660", 992, "root", "render")


def test_nothing_in_a_capture_tells_whose_it_is(plant: Plant, made_node: dict[str, Any]) -> None:
    secrets = {
        "/etc/passwd": "root:x:0:0:root:/root:/bin/bash\ndeploy:x:1000:1000:Dee Ploy:/home/deploy:/bin/bash\njane:x:1001:1001:Jane Roe:/home/jane:/bin/sh\n",
        "/etc/group": "root:x:0:\nvideo:x:44:jane\nrender:x:104:deploy,jane\n",
        "/etc/apt/sources.list.d/rocm.list": "deb https://jane:hunter2@10.1.2.3/rocm jammy main\n",
        "/proc/cmdline": "root=UUID=12345678-1234-1234-1234-123456789abc ip=10.1.2.3 ro iommu=pt\n",
        "/sys/class/kfd/kfd/topology/nodes/1/properties": "simd_count 416\nlocation_id 25344\nunique_id 987654321987654321\nhive_id 11111\n",
    }
    text = capture(plant({**made_node, **secrets}).root, REQUEST, True)["manifest"]
    for secret in ("jane", "Jane", "Dee Ploy", "hunter2", "10.1.2.3", "12345678-1234", "987654321987654321", "11111\n"):
        assert secret not in text, secret
    assert "|deploy:x:1000:1000" in text
    assert "iommu=pt" in text


@pytest.mark.parametrize(
    ("path", "text", "neutral"),
    [
        ("/etc/hosts.conf", "10.0.0.1 10.0.0.2 10.0.0.1\n", "192.0.2.1 192.0.2.2 192.0.2.1\n"),
        ("/etc/x", "127.0.0.1\n", "127.0.0.1\n"),
        ("/etc/x", "version 5.4.2.50402-104\n", "version 5.4.2.50402-104\n"),
        ("/sys/x", "27.00.01.60\n", "27.00.01.60\n"),
        ("/sys/x", "0c:42:a1:00:00:01\n", "02:00:00:00:00:01\n"),
        ("/sys/x", "0000:63:00.0\n", "0000:63:00.0\n"),
        ("/etc/x", "gpu07.example.org gpu07 gpu070\n", "node node gpu070\n"),
        ("/etc/x", "password = geheim\n", "password = REMOVED\n"),
    ],
    ids=["addresses", "local", "a version", "no address in sysfs", "hardware", "a PCI address", "names", "a password"],
)
def test_what_is_replaced(path: str, text: str, neutral: str) -> None:
    assert Scrubber(["gpu07.example.org", "gpu07"]).text(path, text) == neutral


@pytest.mark.parametrize(
    "body",
    [
        "file etc/passwd",
        "file /../outside",
        "file /etc/../../outside",
        "file //etc",
        "name /a/./b",
        "link /x",
        "owner /dev/kfd 0660 root 0",
        "bytes /x !!!",
        "bytes /x eJw=",
        "shell /bin/true",
        "|text without a file",
    ],
)
def test_what_is_no_entry_is_refused_with_its_line(body: str) -> None:
    with pytest.raises(ManifestError, match="line 2"):
        parse_manifest(f"{HEAD}\n{body}\n")


def test_another_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match="first line"):
        parse_manifest("hello\n")
    (tmp_path / "x").write_text("hello")
    assert not is_manifest(str(tmp_path / "x"))
    assert not is_manifest(str(tmp_path / "none"))


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    outside, root = tmp_path / "outside", tmp_path / "root"
    outside.mkdir()
    root.mkdir()
    text = f"{HEAD}\nlink /a -> {outside}\nfile /a/b\n|x\nlink /c -> {outside}\nlink /c/d -> /etc\n"
    lay_out(parse_manifest(text), str(root))
    assert list(outside.iterdir()) == []
    assert (root / "a" / "b").read_text() == "x\n"


def test_a_file_in_the_place_of_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match="both a file and a folder"):
        lay_out(parse_manifest(f"{HEAD}\nname /a\nname /a/b\n"), str(tmp_path))


@settings(max_examples=50)
@given(st.dictionaries(st.from_regex(r"/[a-z %\n]{1,6}", fullmatch=True), st.binary(max_size=40), max_size=4))
def test_any_content_comes_back_byte_for_byte(files: dict[str, bytes]) -> None:
    files = {path: data for path, data in files.items() if os.path.normpath(path) == path}
    text = render_manifest(Recording(files, {}, set(), set(), {}), Scrubber([]))
    assert parse_manifest(text).files == files
