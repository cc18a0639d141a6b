# SPDX-License-Identifier: Apache-2.0
"""The vendor mirror as a node sees it: shadows, pin, installer, dkms, wheels, signatures.

Everything is asked with the real apt, dpkg, dkms and pip, on a node of its own that is thrown away. The tests of one
node follow each other: each begins where the one before it ended.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from instinct_lab import nodes, podman, settings, states_image
from instinct_lab.mirror import info, server

pytestmark = pytest.mark.lab

MACHINE = "mi210-2gpu-pcie"
DKMS = "amdgpu/5.18.13-1528701.22.04"
PIN = "Package: *\\nPin: release o=repo.radeon.com\\nPin-Priority: 600\\n"


class Guest:
    """A node made for one test."""

    def __init__(self, node: nodes.Node) -> None:
        self._node = node

    def run(self, script: str) -> subprocess.CompletedProcess[str]:
        """Run a script as root, with untranslated output."""
        command = ["exec", "-e", "LC_ALL=C", "-e", "DEBIAN_FRONTEND=noninteractive", self._node.container]
        return podman.run(*command, "bash", "-c", script, check=False)

    def out(self, script: str) -> str:
        """Run a script that must succeed and return what it prints."""
        done = self.run(script)
        assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
        return done.stdout


def make_guest(name: str, state: str) -> Iterator[Guest]:
    """Make a node in its state, give it away and remove it."""
    node = nodes.make_node(name, state, MACHINE)
    nodes.create(node, states_image.ensure(state, node.release))
    try:
        guest = Guest(node)
        # A node that still boots cleans /tmp and knows no kernel yet.
        guest.out(
            'for _ in $(seq 150); do [ "$(systemctl is-system-running)" = running ] && exit; sleep 0.2; done; exit 1'
        )
        yield guest
    finally:
        podman.remove_containers([node.container])


def states_list() -> dict[str, Any]:
    """Return the list of what the state leaves."""
    loaded: dict[str, Any] = yaml.safe_load((settings.STATES_DIR / "old_rocm.yml").read_text())
    return loaded


@pytest.fixture(scope="module", autouse=True)
def mirror() -> Iterator[None]:
    """Have the mirror serve, and leave it serving and signed."""
    server.start()
    yield
    server.start()
    server.sign()


@pytest.fixture(scope="module")
def guest() -> Iterator[Guest]:
    yield from make_guest("node57", "bare")


@pytest.fixture(scope="module")
def old_guest() -> Iterator[Guest]:
    yield from make_guest("node58", "old-rocm")


def test_the_installer_has_the_recorded_hash_and_installs(guest: Guest) -> None:
    known = info.read(settings.MIRROR_INFO)
    assert known is not None
    url = f"{known.url}/amdgpu-install/5.4.2/ubuntu/jammy/amdgpu-install_5.4.50402-1_all.deb"
    guest.out(f'python3 -c \'import urllib.request as u; u.urlretrieve("{url}", "/tmp/installer.deb")\'')
    assert guest.out("sha256sum < /tmp/installer.deb").split()[0] == known.installer_sha256["5.4.2"]["jammy"]
    guest.out("dpkg -i /tmp/installer.deb && apt-get -q update")
    conffiles = guest.out("dpkg-query -W -f '${Conffiles}' amdgpu-install").split()[::2]
    assert sorted(conffiles) == [
        "/etc/amdgpu-install/amdgpu-setup.conf",
        "/etc/apt/sources.list.d/amdgpu-proprietary.list",
        "/etc/apt/sources.list.d/amdgpu.list",
        "/etc/apt/sources.list.d/rocm.list",
        "/etc/apt/trusted.gpg.d/rocm-keyring.gpg",
    ]


def test_without_a_pin_apt_picks_the_distributions_packages_and_fails(guest: Guest) -> None:
    policy = guest.out("apt-cache policy rocminfo")
    assert "5.0.0-1 500\n        500 http://mirror.lab/ubuntu jammy/universe" in policy
    assert "Candidate: 1.0.0" not in policy
    done = guest.run("apt-get -s install rocm-hip-sdk")
    assert done.returncode == 100
    assert "rocm-hip-runtime : Depends: rocminfo (= 1.0.0.50402-104~22.04) but 5." in done.stdout


def test_with_the_pin_apt_picks_the_vendors(guest: Guest) -> None:
    guest.out(f"printf '{PIN}' > /etc/apt/preferences.d/rocm-pin-600")
    policy = guest.out("apt-cache policy rocminfo")
    assert "Candidate: 1.0.0.50402-104~22.04\n" in policy
    assert "1.0.0.50402-104~22.04 600\n        600 http://mirror.lab/rocm/apt/5.4.2 jammy/main" in policy


def test_the_installer_refuses_mpi(guest: Guest) -> None:
    done = guest.run("amdgpu-install --usecase=hiplibsdk,mpi --no-dkms")
    assert done.returncode == 1
    assert "ERROR: Usecase implementation 'mpi' is not supported or invalid" in done.stderr


def test_the_installer_installs_rocm_and_the_real_dkms_builds_the_driver(guest: Guest) -> None:
    line = guest.out("amdgpu-install -y --usecase=hiplibsdk --dryrun")
    assert line.split()[-2:] == ["rocm-hip-sdk", "amdgpu-dkms"]
    assert "linux-headers-5.15.0-91-generic" in line.split()
    done = guest.out("amdgpu-install -y --no-install-recommends --usecase=hiplibsdk")
    assert "WARNING: amdgpu dkms failed for running kernel" not in done
    assert guest.out("dkms status") == f"{DKMS}, 5.15.0-91-generic, x86_64: installed\n"
    assert guest.out("modinfo -F version /lib/modules/5.15.0-91-generic/updates/dkms/amdgpu.ko") == "5.18.13\n"
    assert guest.out("readlink -f /opt/rocm /opt/rocm/lib/librccl.so").split() == [
        "/opt/rocm-5.4.2",
        "/opt/rocm-5.4.2/lib/librccl.so.1.0.50402",
    ]
    assert guest.out("dpkg -S /lib/firmware/updates/amdgpu/aldebaran_sos.bin").startswith("amdgpu-dkms-firmware:")


def test_uninstall_removes_rocm_and_leaves_the_installer_and_its_lists(guest: Guest) -> None:
    guest.out("amdgpu-install -y --uninstall")
    left = guest.out("dpkg-query -W -f '${db:Status-Abbrev} ${Package}\\n'")
    assert not [row for row in left.splitlines() if row.split()[1].startswith(("rocm-", "hip", "rccl", "amdgpu-dkms"))]
    assert guest.out("dkms status") == ""
    gone = "! -e /opt/rocm -a ! -e /opt/rocm-5.4.2 -a ! -e /var/lib/dkms/amdgpu"
    guest.out(f"test {gone} -a -e /etc/apt/sources.list.d/rocm.list -a -e /usr/bin/amdgpu-install")
    assert guest.out("amdgpu-install -y --uninstall") == "Nothing to uninstall\n"


def test_a_driver_that_does_not_build_for_the_kernel_leaves_its_package_half_configured(guest: Guest) -> None:
    guest.out("echo 6.2.0-39-generic > /run/kernel && mount --bind /run/kernel /proc/sys/kernel/osrelease")
    guest.out("apt-get -qy install --no-install-recommends linux-headers-6.2.0-39-generic")
    done = guest.run("apt-get -qy install --no-install-recommends amdgpu-dkms")
    assert done.returncode == 100
    assert "error exit status 10" in done.stdout + done.stderr
    assert guest.out("dpkg-query -W -f '${db:Status-Abbrev}' amdgpu-dkms") == "iF "


def test_the_old_node_carries_what_its_list_says(old_guest: Guest) -> None:
    listed = states_list()
    rows = old_guest.out("dpkg-query -W -f '${Package} ${Version}\\n'").splitlines()
    versions = dict(row.split() for row in rows)
    wanted = listed["packages"] | listed["leftovers"]["distribution_packages"]
    assert {name: versions[name] for name in wanted} == wanted
    holds = old_guest.out("apt-mark showhold").split()
    assert sorted(holds) == sorted(listed["leftovers"]["holds"] + listed["site"]["holds"])
    paths = [*listed["leftovers"]["lists"], *listed["leftovers"]["keys"], *listed["leftovers"]["trees"]]
    paths += [*listed["leftovers"]["paths"], *listed["leftovers"]["dkms"]["orphaned"], *listed["site"]["files"]]
    old_guest.out("ls -d " + " ".join(paths))
    for tree in listed["leftovers"]["unowned_trees"]:
        assert old_guest.run(f"dpkg -S {tree}").returncode == 1
    for name, choices in listed["leftovers"]["alternatives"].items():
        text = old_guest.out(f"cat /var/lib/dpkg/alternatives/{name}")
        assert [choice for choice in choices if choice not in text.splitlines()] == []


def test_the_old_node_is_consistent_to_apt_and_its_driver_is_installed(old_guest: Guest) -> None:
    old_guest.out('apt-get check && test -z "$(dpkg --audit)"')
    listed = states_list()["leftovers"]["dkms"]
    status = old_guest.run("dkms status").stdout
    assert f"amdgpu/{listed['installed']}, 5.15.0-91-generic, x86_64: installed\n" in status
    for tree in listed["orphaned"]:
        old_guest.out(f"test -L {tree}/source -a ! -e {tree}/source")


def test_a_held_package_stops_the_vendors_uninstall_on_the_old_node(old_guest: Guest) -> None:
    done = old_guest.run("amdgpu-install -y --uninstall")
    assert done.returncode == 100
    assert "held packages" in done.stdout + done.stderr


def test_pip_takes_the_wheels_by_the_hashes_of_the_lock(tmp_path: Path) -> None:
    known = info.read(settings.MIRROR_INFO)
    assert known is not None
    command = [sys.executable, "-m", "pip", "--isolated", "download", "--quiet", "--no-deps", "--require-hashes"]
    command += ["--only-binary", ":all:", "--python-version", "3.11", "--implementation", "cp", "--abi", "cp311"]
    for platform in ("linux_x86_64", "manylinux2014_x86_64"):
        command += ["--platform", platform]
    command += ["--trusted-host", settings.MIRROR_ADDRESS]
    command += ["--index-url", f"http://{settings.MIRROR_ADDRESS}/whl/rocm5.4.2", "--dest", str(tmp_path)]
    lock = settings.REPOSITORY / known.pytorch_lock["5.4.2"]
    done = subprocess.run([*command, "-r", str(lock)], check=False, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.iterdir())) == len(lock.read_text().splitlines())


@pytest.mark.parametrize(
    ("variant", "message"),
    [
        ("unsigned", "is no longer signed"),
        ("expired", "is expired"),
        ("foreign", "the public key is not available"),
    ],
)
def test_apt_does_not_take_a_suite_with_a_bad_signature(old_guest: Guest, variant: str, message: str) -> None:
    sources = "-o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts=/etc/apt/sources.list.d"
    assert old_guest.run(f"apt-get {sources} update").returncode == 0
    server.serve_as(variant)
    try:
        assert server.status().signatures == variant
        assert message in old_guest.run(f"apt-get {sources} update").stderr
    finally:
        server.sign()
    assert old_guest.out(f"apt-get {sources} update 2>&1").count("http://mirror.lab/rocm") >= 1


def test_a_stopped_mirror_refuses_connections_and_starts_again(old_guest: Guest) -> None:
    probe = "exec 3<>/dev/tcp/mirror.lab/80"
    server.stop()
    try:
        assert "Connection refused" in old_guest.run(probe).stderr
        assert not server.status().answers
    finally:
        server.start()
    old_guest.out(probe)


def test_the_served_key_is_the_one_whose_fingerprint_is_recorded() -> None:
    known = info.read(settings.MIRROR_INFO)
    assert known is not None
    with urllib.request.urlopen(f"http://{settings.MIRROR_ADDRESS}/rocm/rocm.gpg.key", timeout=10) as answer:
        key = answer.read()
    command = ["gpg", "--batch", "--with-colons", "--show-keys"]
    listing = subprocess.run(command, check=True, input=key, capture_output=True).stdout.decode()
    assert f"fpr:::::::::{known.key_fingerprint}:" in listing
    assert (
        hashlib.sha256(key).hexdigest() == hashlib.sha256((settings.KEYS_DIR / "lab-key.asc").read_bytes()).hexdigest()
    )
