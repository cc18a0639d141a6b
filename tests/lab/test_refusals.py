# SPDX-License-Identifier: Apache-2.0
"""What cannot end well ends before anything is changed, with what was seen, wanted, and to do."""

from __future__ import annotations

import collections.abc as c

import pytest

from .conftest import Lab, Playbook

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def fresh(lab: Lab) -> Lab:
    lab.command("reset")
    return lab


@pytest.fixture
def untouched(fresh: Lab) -> c.Iterator[Lab]:
    """Prove that the old node is after the test what it was before."""
    before = fresh.tree_hash("node1")
    yield fresh
    assert fresh.tree_hash("node1") == before


def test_a_mirror_that_does_not_answer(untouched: Lab, playbook: Playbook) -> None:
    untouched.command("mirror", "stop")
    try:
        run = playbook("site.yml", "--limit", "node1")
    finally:
        untouched.command("mirror", "start")
    assert run.code != 0
    assert run.results["nodes"]["node1"]["verdict"] == "refused"
    reason = run.results["nodes"]["node1"]["reason"]
    assert "http://mirror.lab/rocm/rocm.gpg.key" in reason
    assert "Connection refused" in reason


def test_a_repository_that_is_not_there(untouched: Lab, playbook: Playbook) -> None:
    run = playbook("site.yml", "--limit", "node1", rocm_apt_url="http://mirror.lab/rocm/apt/5.4.0")
    reason = run.results["nodes"]["node1"]["reason"]
    assert "http://mirror.lab/rocm/apt/5.4.0/dists/focal/InRelease" in reason
    assert "404" in reason


def test_a_release_without_a_signature(untouched: Lab, playbook: Playbook) -> None:
    untouched.command("mirror", "unsign")
    try:
        run = playbook("site.yml", "--limit", "node1")
    finally:
        untouched.command("mirror", "sign")
    assert run.code != 0
    assert run.results["nodes"]["node1"]["verdict"] == "refused"
    assert "sign" in run.results["nodes"]["node1"]["reason"]


def test_a_key_with_another_fingerprint(untouched: Lab, playbook: Playbook) -> None:
    run = playbook("site.yml", "--limit", "node1", rocm_key_fingerprint="0" * 40)
    assert run.results["nodes"]["node1"]["verdict"] == "refused"
    assert "0" * 40 in run.output


def test_a_version_given_as_a_number(untouched: Lab, playbook: Playbook) -> None:
    run = playbook("site.yml", "--limit", "node1", rocm_release=5.4)
    assert "5.4, a number" in run.results["nodes"]["node1"]["reason"]


def test_a_release_that_is_not_known(untouched: Lab, playbook: Playbook) -> None:
    run = playbook("site.yml", "--limit", "node1", rocm_release="5.4.9")
    assert "5.2.0, 5.2.3" in run.results["nodes"]["node1"]["reason"]


def test_a_process_that_holds_the_gpus_is_named(untouched: Lab, playbook: Playbook) -> None:
    untouched.on(
        "node1", "systemd-run --unit=holder -- python3 -c 'import time; f = open(\"/dev/kfd\"); time.sleep(600)'"
    )
    try:
        run = playbook("site.yml", "--limit", "node1")
    finally:
        untouched.on("node1", "systemctl stop holder")
    assert "python3 (pid" in run.results["nodes"]["node1"]["reason"]


def test_a_half_configured_package_of_others(fresh: Lab, playbook: Playbook) -> None:
    status = "/var/lib/dpkg/status"
    fresh.on(
        "node1",
        f"cp -a {status} /root/status; sed -i '/^Package: sudo$/,/^$/s/^Status: .*/Status: install ok half-configured/' {status}",
    )
    try:
        before = fresh.tree_hash("node1")
        run = playbook("site.yml", "--limit", "node1")
        assert fresh.tree_hash("node1") == before
    finally:
        fresh.on("node1", f"mv /root/status {status}")
    assert "sudo (iF)" in run.results["nodes"]["node1"]["reason"]


def test_too_little_space(untouched: Lab, playbook: Playbook) -> None:
    run = playbook("site.yml", "--limit", "node1", preflight_rocm_space_gib=10**6)
    assert "1000000 GiB" in run.results["nodes"]["node1"]["reason"]


def test_another_system(fresh: Lab, playbook: Playbook) -> None:
    fresh.on(
        "node2",
        "cp /etc/os-release /root/os; sed -i 's/^ID=.*/ID=fedora/; s/^PRETTY_NAME=.*/PRETTY_NAME=\"Fedora 39\"/' /etc/os-release",
    )
    try:
        run = playbook("site.yml", "--limit", "node2")
    finally:
        fresh.on("node2", "cat /root/os > /etc/os-release")
    assert "Fedora 39" in run.results["nodes"]["node2"]["reason"]


def test_no_wheel_for_this_python(untouched: Lab, playbook: Playbook) -> None:
    # The index of another release answers, but has none of the wheels that the lock pins.
    run = playbook("site.yml", "--limit", "node1", pytorch_index_url="http://mirror.lab/whl/rocm5.7")
    assert run.results["nodes"]["node1"]["verdict"] == "refused"
    assert "torch" in run.results["nodes"]["node1"]["reason"]


@pytest.mark.parametrize("rule", ["", "deploy ALL=(ALL) PASSWD: ALL\n"], ids=["not allowed", "with a password"])
def test_no_sudo(fresh: Lab, playbook: Playbook, rule: str) -> None:
    fresh.on(
        "node1",
        f"mv /etc/sudoers.d/deploy /root/deploy; printf '%s' '{rule}' > /etc/sudoers.d/deploy; chmod 0440 /etc/sudoers.d/deploy",
    )
    try:
        run = playbook("site.yml", "--limit", "node1")
    finally:
        fresh.on("node1", "mv -f /root/deploy /etc/sudoers.d/deploy")
    assert run.results["nodes"]["node1"]["verdict"] == "refused"
    assert "sudo" in run.results["nodes"]["node1"]["reason"]


def test_a_host_that_does_not_answer_does_not_stop_the_others(fresh: Lab, playbook: Playbook) -> None:
    run = playbook("playbooks/plan.yml", "-e", "{}", "-i", "nowhere,", ansible_connect_timeout=5)
    assert run.results["nodes"]["nowhere"]["verdict"] == "unreachable"
    assert run.results["nodes"]["node1"]["verdict"] == "untouched"
    assert run.results["nodes"]["node1"]["plan"]


def test_tags_are_refused_with_what_to_write(fresh: Lab, playbook: Playbook) -> None:
    run = playbook("site.yml", "--tags", "rocm")
    assert run.code != 0
    assert "bringup_only" in run.output
