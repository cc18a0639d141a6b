# SPDX-License-Identifier: Apache-2.0
"""Public bug reports whose cure is an effect on a node, each by its id. The old node has most of them from the start.

One run has to do with all of them at once, as on a host that nobody has looked after. What is asked afterwards is asked of dpkg,
apt, dkms and the kernel's files, and of what a person reads.
"""

from __future__ import annotations

import re
import typing as t

import pytest

from .conftest import Lab, Playbook, Run, run_playbook

pytestmark = [pytest.mark.lab, pytest.mark.slow]
NODE, BARE = "node1", "node2"
KERNEL = "5.15.0-91-generic"
HEADERS = f"linux-headers-{KERNEL}"
STATUS = "/var/lib/dpkg/status"
# K-01 and P-08: a driver that does not build any more, and what its build has left half-configured.
BREAK_THE_DRIVER = f"""
set -e
for script in $(grep -l 'does not build for kernel' -r /usr/src/amdgpu-5.16*/); do
    sed -i 's/^set -eu$/set -eu; echo made to fail >\\&2; exit 2/' "$script"
done
rm -rf /var/lib/dkms/amdgpu/5.16*/{KERNEL} /lib/modules/{KERNEL}/updates/dkms/amdgpu*
for name in amdgpu-dkms {HEADERS}; do
    sed -i "/^Package: $name\\$/,/^\\$/s/^Status: .*/Status: install ok half-configured/" {STATUS}
done
! dpkg --configure -a
"""
# N-02: a process of that name that holds dpkg's lock for a while.
HOLD_THE_LOCK = (
    "cp /usr/bin/python3 /root/unattended-upgr; systemd-run --unit=holder -- /root/unattended-upgr -c "
    '\'import fcntl, time; f = open("/var/lib/dpkg/lock-frontend", "w"); fcntl.lockf(f, fcntl.LOCK_EX); time.sleep(90)\''
)


class Upgraded(t.NamedTuple):
    """Hold what the broken node was before, and the run that had to do with it."""

    before: str
    run: Run


@pytest.fixture(scope="module")
def upgraded(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Upgraded:
    lab.command("reset", NODE)
    lab.on(NODE, BREAK_THE_DRIVER)
    before = lab.on(NODE, "dpkg --audit; apt-cache policy rocminfo; readlink -f /opt/rocm; apt-mark showhold")
    lab.on(NODE, HOLD_THE_LOCK)
    run = run_playbook(tmp_path_factory.mktemp("upgrade"), "site.yml", "--limit", NODE)
    assert run.code == 0, run.output
    return Upgraded(before, run)


def test_p01_apt_takes_the_vendors_package_although_the_distributions_number_is_higher(
    lab: Lab, upgraded: Upgraded
) -> None:
    policy = lab.on(NODE, "apt-cache policy rocminfo rocm-cmake")
    assert "5.0.0-1" in policy
    candidates = re.findall(r"Candidate: (\S+)", policy)
    assert len(candidates) == 2
    assert all(".50402-" in version for version in candidates)


def test_p03_the_distributions_package_that_was_installed_first_is_replaced(lab: Lab, upgraded: Upgraded) -> None:
    assert "Installed: 5.0.0-1" in upgraded.before
    assert "the distribution's package of a name that AMD's release also has; it would win" in upgraded.run.output
    assert ".50402-" in lab.on(NODE, "dpkg-query -W -f '${Version}' rocminfo")


def test_p05_no_tree_link_or_alternative_of_another_release_is_left(lab: Lab, upgraded: Upgraded) -> None:
    assert "what is left of another release; the manifest lists every file" in upgraded.run.output
    assert lab.on(NODE, "readlink -f /opt/rocm; ls -d /opt/rocm-*").split() == ["/opt/rocm-5.4.2", "/opt/rocm-5.4.2"]
    assert lab.on(NODE, "find /etc/alternatives -xtype l").strip() == ""


def test_p06_an_orphan_of_dkms_is_gone_and_kernels_can_be_installed_again(lab: Lab, upgraded: Upgraded) -> None:
    plan = upgraded.run.results["nodes"][NODE]["plan"]
    orphans = [
        change for step in plan for change in step["changes"] if change["before"] == "orphan, its source is gone"
    ]
    assert [change["subject"] for change in orphans] == ["amdgpu/5.13.20.22.10-1420322.20.04"]
    assert "5.13.20.22.10" not in lab.on(NODE, "ls /var/lib/dkms/amdgpu; dkms status 2>&1")
    lab.on(NODE, f"run-parts --arg={KERNEL} /etc/kernel/header_postinst.d")


def test_p08_a_half_configured_driver_is_purged_first_and_dpkg_is_whole_again(lab: Lab, upgraded: Upgraded) -> None:
    assert "amdgpu-dkms" in upgraded.before
    assert lab.on(NODE, "dpkg --audit").strip() == ""
    assert "5.18.13.50402" in lab.on(NODE, "dpkg-query -W -f '${Version} ${db:Status-Abbrev}' amdgpu-dkms")


def test_k01_kernel_packages_that_the_driver_had_failed_are_configured(lab: Lab, upgraded: Upgraded) -> None:
    assert HEADERS in upgraded.before
    said = f"{HEADERS} (iF): the build of the driver that goes has left it so"
    assert said in upgraded.run.output
    assert lab.on(NODE, f"dpkg-query -W -f '${{db:Status-Abbrev}}' {HEADERS}").strip() == "ii"
    assert KERNEL in lab.on(NODE, "dkms status amdgpu")


def test_p12_holds_of_the_release_move_and_those_of_the_site_stay(lab: Lab, upgraded: Upgraded) -> None:
    assert "a hold that somebody else set, on a package that goes" in upgraded.run.output
    assert "stays: hold on linux-image-generic (the site's own)" in upgraded.run.output
    held = lab.on(NODE, "apt-mark showhold").split()
    assert {"linux-image-generic", "rocm-core", "amdgpu-dkms"} <= set(held)


def test_n02_the_run_waits_for_the_lock_and_names_who_holds_it(lab: Lab, upgraded: Upgraded) -> None:
    said = rf"{NODE} waits: /var/lib/dpkg/lock-frontend is held by unattended-upgr \(pid \d+\)"
    assert re.search(said, upgraded.run.output)
    lab.on(NODE, "test -e /var/lib/dpkg/lock-frontend")


def test_n03_a_second_run_changes_nothing_and_does_not_reboot(lab: Lab, playbook: Playbook, upgraded: Upgraded) -> None:
    boot = lab.on(NODE, "cat /proc/sys/kernel/random/boot_id")
    again = playbook("site.yml", "--limit", NODE)
    assert again.code == 0
    assert "changed=0" in again.output
    assert lab.on(NODE, "cat /proc/sys/kernel/random/boot_id") == boot


def test_n07_a_python_that_is_too_old_is_told_in_one_sentence(lab: Lab, playbook: Playbook) -> None:
    old = "#!/bin/sh\\ncase $1 in --version) echo Python 3.6.8;; *) echo SyntaxError: future >&2; exit 1;; esac\\n"
    lab.on(NODE, f"printf '{old}' >/usr/local/bin/python3.6; chmod 0755 /usr/local/bin/python3.6")
    try:
        run = playbook("site.yml", "--limit", NODE, ansible_python_interpreter="/usr/local/bin/python3.6")
    finally:
        lab.on(NODE, "rm /usr/local/bin/python3.6")
    assert run.results["nodes"][NODE]["verdict"] == "refused"
    reason = run.results["nodes"][NODE]["reason"]
    assert f"{NODE} cannot be looked at: /usr/local/bin/python3.6 is Python 3.6.8, and ansible-core" in reason
    assert "Set ansible_python_interpreter" in reason


def test_n12_an_unknown_host_key_is_no_question_but_a_verdict(lab: Lab, playbook: Playbook) -> None:
    arguments = "-o UserKnownHostsFile=/dev/null -o GlobalKnownHostsFile=/dev/null -o ControlPath=none"
    run = playbook("playbooks/plan.yml", "--limit", NODE, ansible_ssh_common_args=arguments)
    assert run.results["nodes"][NODE]["verdict"] == "unreachable"
    assert "Host key verification failed" in run.results["nodes"][NODE]["reason"]


def test_n01_check_mode_on_a_bare_node_ends_well_and_says_what_would_be_done(lab: Lab, playbook: Playbook) -> None:
    lab.command("reset", BARE)
    lab.on(BARE, "! python3 -c 'import apt' && ! which lspci && test ! -e /opt/rocm")
    before = lab.tree_hash(BARE)
    run = playbook("site.yml", "--limit", BARE, "--check", "--diff")
    assert run.code == 0, run.output
    assert "check mode: nothing was changed" in run.output
    for role in ("preflight", "rocm", "mpi", "pytorch", "kernel_tuning", "rccl", "deepspeed"):
        assert re.search(rf"^ +\d+\. {role}$", run.output, re.M), role
    assert "+++ /etc/apt/preferences.d/rocm-pin-600 (planned)" in run.output
    assert lab.tree_hash(BARE) == before


@pytest.mark.parametrize("name", ["playbooks/purge.yml", "playbooks/install.yml", "site.yml"])
def test_n11_check_mode_leaves_apts_files_byte_for_byte(lab: Lab, playbook: Playbook, name: str) -> None:
    script = "find /etc/apt /usr/share/keyrings -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum"
    lab.command("reset", NODE)
    before = lab.on(NODE, script)
    run = playbook(name, "--limit", NODE, "--check")
    assert run.code == 0, run.output
    assert "check mode: nothing was changed" in run.output
    assert lab.on(NODE, script) == before
