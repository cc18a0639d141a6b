# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import collections.abc as c
import typing as t

import pytest

from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.space import ARCHIVES

from . import made


def with_os(**values: str) -> dict[str, t.Any]:
    snapshot = made.bare()
    snapshot["os"].update(values)
    return snapshot


def with_gpu(**values: str) -> dict[str, t.Any]:
    snapshot = made.bare()
    snapshot["pci"]["gpus"] = [{**made.GPU, **values}]
    return snapshot


def with_area(area: str, value: t.Any) -> dict[str, t.Any]:
    snapshot = made.bare()
    snapshot[area] = value
    return snapshot


def with_package(name: str, status: str, journal: list[str] | None = None) -> dict[str, t.Any]:
    snapshot = made.bare()
    snapshot["dpkg"]["packages"][name] = made.package("1.0-1", status)
    if journal is not None:
        snapshot["journal"]["runs"] = [{"run": "R", "state": "begun", "packages": journal, "steps": ["rocm"]}]
    return snapshot


IN_USE = [{"pid": 41, "name": "train.py", "uid": 1000, "paths": ["/dev/kfd"]}]
ROOM = {"free_bytes": 2**30, "total_bytes": 2**40}
FULL = {"/opt": ROOM}

REFUSED: list[tuple[str, dict[str, t.Any], dict[str, t.Any], str, str]] = [
    ("wrong system", with_os(id="fedora", pretty_name="Fedora 39"), {}, "os.unsupported", "Fedora 39"),
    ("no system known", with_area("os", {}), {}, "os.unsupported", "None"),
    ("wrong system release", with_os(version_id="18.04"), {}, "os.release_unsupported", "20.04"),
    ("no such release for the system", made.bare(), {"rocm_release": "5.2.0"}, "os.release_for_rocm", "ubuntu-20.04"),
    ("release as a number", made.bare(), {"rocm_release": 6.1}, "profile.value", "6.1, a number"),
    ("unknown release", made.bare(), {"rocm_release": "5.4"}, "profile.unknown", "5.2.0, 5.2.3"),
    ("unknown model", made.bare(), {"gpu_model": "mi211"}, "profile.unknown", "mi210"),
    ("unknown use case", made.bare(), {"rocm_usecases": ["hiplibsdkk"]}, "profile.usecase", "hiplibsdk"),
    ("unknown choice", made.bare(), {"rocm_method": "curl"}, "profile.value", "amdgpu_install"),
    ("installer without a digest", made.bare(), {"rocm_installer_sha256": ""}, "rocm.installer_unpinned", "SHA-256"),
    ("a count that the node does not have", made.bare(), {"gpu_count": 8}, "gpu.count", "1 of AMD Instinct MI210"),
    ("a speed of another form", made.bare(), {"pcie_expected_speed": "Gen4"}, "profile.value", "16.0 GT/s"),
    ("a URL that is none", made.bare(), {"rocm_apt_url": "mirror/rocm"}, "profile.value", "https://"),
    ("a URL with a password", made.bare(), {"rocm_base_url": "http://u:pw@m/"}, "profile.value", "auth.conf.d"),
    (
        "half a fingerprint",
        made.bare(),
        {"rocm_key_fingerprint": "9386B48A1A693C5C"},
        "profile.value",
        "40 hexadecimal",
    ),
    (
        "a torch that YAML made a number of",
        made.bare(),
        {"pytorch_packages": {"torch": 2.0}},
        "profile.value",
        "2.0.1+site1",
    ),
    (
        "torch's companions alone",
        made.bare(),
        {"pytorch_packages": {"torchvision": "1"}},
        "profile.value",
        "only torchvision",
    ),
    ("an op that is no name", made.bare(), {"deepspeed_build_ops": ["x=1; y"]}, "profile.value", "fused_adam"),
    ("no time to answer", made.bare(), {"preflight_timeout": 0}, "profile.value", "above 0"),
    ("a venv that is the root", made.bare(), {"pytorch_venv": "/venv/.."}, "profile.value", "absolute path"),
    ("a mirror that is nothing", made.bare(), {"rocm_base_url": ""}, "profile.value", "URL of AMD's server"),
    ("no GPU", with_area("pci", {"gpus": [], "nics": []}), {}, "gpu.none", "none of AMD's"),
    ("another GPU", with_gpu(device="1638"), {}, "gpu.none", "1002:1638"),
    ("GPU in use", with_area("gpu_processes", IN_USE), {}, "gpu.in_use", "train.py (pid 41"),
    ("disk full", with_area("space", FULL), {}, "space", "1.0 GiB free"),
    ("/var full", with_area("space", {"/var": ROOM}), {}, "space", "1.0 GiB free 10 GiB"),
    ("no room for archives", with_area("space", {ARCHIVES: ROOM}), {}, "space", "1.0 GiB free 10 GiB"),
    ("/tmp full", with_area("space", {"/tmp": {"free_bytes": 0}}), {}, "space", "0 MiB free 100 MiB"),
    ("half-configured package of others", with_package("postfix", "iF "), {}, "dpkg.unfinished", "postfix (iF)"),
    (
        "lock without torch",
        made.bare(),
        {"lock": "numpy==1.26.4 --hash=sha256:0\n"},
        "py.lock",
        "torch is not in the lock",
    ),
    ("no lock", made.bare(), {"lock": None}, "py.lock", "no pytorch_lock_file"),
    ("numpy 2", made.bare(), {"lock": made.LOCK.replace("1.26.4", "2.0.1")}, "py.lock", "numpy is 2.0.1"),
    ("a pin without a hash", made.bare(), {"lock": made.LOCK + "filelock==3.9.0\n"}, "py.lock", "filelock"),
    (
        "no wheel for this Python",
        with_area("python", {"executable": "/usr/bin/python3", "version": "3.12.3", "tag": "cp312"}),
        {},
        "py.abi_supported",
        "cp311",
    ),
]


@pytest.mark.parametrize(
    ("snapshot", "given", "identity", "words"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
def test_refusals_say_what_was_seen_what_is_wanted_and_what_to_do(
    snapshot: dict[str, t.Any], given: dict[str, t.Any], identity: str, words: str
) -> None:
    plan = made.plan(snapshot, **given)
    refusal = next(refusal for refusal in plan["refusals"] if refusal["id"] == identity)
    assert words in f"{refusal['seen']} {refusal['wanted']}"
    assert refusal["remedy"]
    assert plan["steps"] == []


def no_change_needed() -> dict[str, t.Any]:
    snapshot = made.converged()
    snapshot["gpu_processes"] = IN_USE
    snapshot["space"] = FULL
    snapshot["dpkg"]["packages"]["postfix"] = made.package("1", "iF ")
    return snapshot


ALLOWED: list[tuple[str, c.Callable[[], dict[str, t.Any]]]] = [
    ("a job runs, but nothing has to change", no_change_needed),
    ("a half-configured package of ROCm is ours to mend", lambda: with_package("amdgpu-dkms", "iF ")),
    ("a half-configured package that our own run began", lambda: with_package("openmpi-bin", "iU ", ["openmpi-bin"])),
    ("a residual configuration", lambda: with_package("postfix", "rc ")),
]


@pytest.mark.parametrize("snapshot", [row[1] for row in ALLOWED], ids=[row[0] for row in ALLOWED])
def test_what_does_not_stand_in_the_way_is_no_refusal(snapshot: c.Callable[[], dict[str, t.Any]]) -> None:
    assert made.plan(snapshot())["refusals"] == []


def test_a_rendered_file_is_repaired_while_a_job_runs() -> None:
    snapshot = no_change_needed()
    snapshot["watch"]["/etc/rccl.conf"]["type"] = "absent"
    assert [step["role"] for step in made.plan(snapshot)["steps"]] == ["preflight", "rccl"]


def test_a_password_in_a_url_stays_out_of_every_word_of_the_plan() -> None:
    assert "s3cret" not in str(made.plan(made.bare(), rocm_base_url="http://user:s3cret@mirror.example"))


def test_a_missing_card_does_not_hide_the_verdict_of_a_node_that_needs_no_change() -> None:
    assert made.plan(made.converged(), gpu_count=8)["refusals"] == []
