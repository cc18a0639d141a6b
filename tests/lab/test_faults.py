# SPDX-License-Identifier: Apache-2.0
"""What comes from outside and goes wrong: full disks, wrong digests, cut downloads, clocks, proxies, other upgrades.

Each is named in the message, nothing is half-removed, and the next run finishes. What a snapshot or a probe can tell is refused
while the node is still as it was; the others are faults in the middle of the run.
"""

from __future__ import annotations

import collections.abc as c
import contextlib
import json
from pathlib import Path

import pytest

from instinct_lab import settings
from instinct_lab.mirror import server

from .conftest import REPOSITORY, Lab, Playbook, Run
from .faulty_mirror import cut_mirror

pytestmark = [pytest.mark.lab, pytest.mark.slow]
NODE = "node1"
ARCHIVES = "/var/cache/apt/archives"
VENV_DISK = "/opt/instinct-bringup"
# The plan's own guard off, so that the disk is full in the middle.
NO_GUARD = {"preflight_rocm_space_gib": 0, "preflight_var_space_gib": 0, "preflight_pytorch_space_gib": 0}


@pytest.fixture(scope="module")
def fresh(lab: Lab) -> Lab:
    lab.command("reset", NODE)
    return lab


@pytest.fixture
def untouched(fresh: Lab) -> c.Iterator[Lab]:
    """Prove that the node is after the test what it was before."""
    before = fresh.tree_hash(NODE)
    yield fresh
    assert fresh.tree_hash(NODE) == before


@contextlib.contextmanager
def disk(lab: Lab, path: str, size: str) -> c.Iterator[None]:
    """Give a folder a small disk of its own."""
    lab.on(NODE, f"mkdir -p {path} && mount -t tmpfs -o mode=1777,size={size} small {path}")
    try:
        yield
    finally:
        lab.on(NODE, f"umount -l {path}")


def refused(run: Run) -> str:
    assert run.code != 0
    node = run.results["nodes"][NODE]
    assert node["verdict"] == "refused", run.output
    return str(node["reason"])


def failed(run: Run) -> str:
    assert run.code != 0
    node = run.results["nodes"][NODE]
    assert node["verdict"] == "apply_failed", run.output
    return str(node["reason"])


def assert_nothing_is_half_done(lab: Lab) -> None:
    assert lab.on(NODE, "dpkg --audit; ls /var/lib/dpkg/updates").strip() == ""
    assert lab.on(NODE, "apt-get check -q 2>&1 | grep -c '^E:' || true").strip() == "0"


def assert_the_next_run_finishes(playbook: Playbook, **variables: object) -> None:
    run = playbook("site.yml", "--limit", NODE, **variables)
    assert run.code == 0, run.output
    assert run.results["nodes"][NODE]["verdict"] == "pass"


@pytest.mark.parametrize("path", [ARCHIVES, VENV_DISK, "/tmp"])
def test_a_disk_that_is_too_small_is_refused_by_its_path(fresh: Lab, playbook: Playbook, path: str) -> None:
    with disk(fresh, path, "8m"):
        before = fresh.tree_hash(NODE)
        reason = refused(playbook("site.yml", "--limit", NODE))
        assert fresh.tree_hash(NODE) == before
    assert f"{path}" in reason
    assert "8 MiB free" in reason


def test_an_installer_with_another_digest(untouched: Lab, playbook: Playbook) -> None:
    reason = refused(playbook("site.yml", "--limit", NODE, rocm_installer_sha256="0" * 64))
    assert "amdgpu-install" in reason
    assert f"wanted is {'0' * 64}" in reason


def test_an_index_that_is_cut(untouched: Lab, playbook: Playbook) -> None:
    with cut_mirror(untouched, NODE, "/rocm/apt/5.4.2/dists/focal/InRelease", keep=100):
        reason = refused(playbook("site.yml", "--limit", NODE))
    assert "http://mirror.lab/rocm/apt/5.4.2/dists/focal/InRelease: the server stopped after 100 of" in reason


@pytest.mark.parametrize(("variant", "says"), [("future", "is not valid yet"), ("expired", "was valid until")])
def test_a_clock_that_is_wrong_for_the_signature(untouched: Lab, playbook: Playbook, variant: str, says: str) -> None:
    server.serve_as(variant)
    try:
        reason = refused(playbook("site.yml", "--limit", NODE))
    finally:
        server.sign()
    assert says in reason
    assert "the node's clock says" in reason
    assert "http://mirror.lab/rocm/apt/5.4.2/dists/focal/InRelease" in reason


def test_a_proxy_of_apt_that_does_not_answer(fresh: Lab, playbook: Playbook) -> None:
    path = "/etc/apt/apt.conf.d/zz-test"
    fresh.on(NODE, f"echo 'Acquire::http::Proxy::mirror.lab \"http://127.0.0.1:9\";' >{path}")
    try:
        before = fresh.tree_hash(NODE)
        reason = refused(playbook("site.yml", "--limit", NODE))
        assert fresh.tree_hash(NODE) == before
    finally:
        fresh.on(NODE, f"rm {path}")
    assert "(through the proxy http://127.0.0.1:9 of apt's configuration)" in reason


def test_a_proxy_of_the_environment_that_does_not_answer(fresh: Lab, playbook: Playbook) -> None:
    """As a site does it: for every login in /etc/environment, and sudo keeps it."""
    fresh.on(
        NODE,
        "cp -a /etc/environment /root/environment; echo http_proxy=http://127.0.0.1:9 >>/etc/environment; "
        "echo 'Defaults env_keep += http_proxy' >/etc/sudoers.d/zz-proxy",
    )
    try:
        before = fresh.tree_hash(NODE)
        # A connection of a run before still has its old environment.
        reason = refused(playbook("site.yml", "--limit", NODE, "--ssh-extra-args=-o ControlPath=none"))
        assert fresh.tree_hash(NODE) == before
    finally:
        fresh.on(NODE, "mv /root/environment /etc/environment; rm /etc/sudoers.d/zz-proxy")
    assert "http://mirror.lab/rocm/rocm.gpg.key: " in reason
    assert "(through the proxy http://127.0.0.1:9 of the environment)" in reason


def test_what_an_installation_would_remove_is_refused(fresh: Lab, playbook: Playbook) -> None:
    """A package of the site's that conflicts with one of the release."""
    fields = "Package: site-tool\\nVersion: 1\\nArchitecture: all\\nMaintainer: lab\\nConflicts: rocblas\\nDescription: made\\n"
    fresh.on(
        NODE,
        f"mkdir -p /root/made/DEBIAN && printf '{fields}' >/root/made/DEBIAN/control && "
        "dpkg-deb -b /root/made /root/made.deb && dpkg --force-depends --force-conflicts --purge rocblas; "
        "apt-get -y -f install; dpkg -i --force-conflicts /root/made.deb",
    )
    reason = failed(playbook("site.yml", "--limit", NODE))
    assert "apt would remove: site-tool" in reason
    assert "site-tool" in fresh.on(NODE, "dpkg-query -W site-tool")
    assert_nothing_is_half_done(fresh)
    fresh.on(NODE, "dpkg --purge site-tool")


def test_no_room_for_the_archives_in_the_middle(fresh: Lab, playbook: Playbook) -> None:
    with disk(fresh, ARCHIVES, "100k"):
        reason = failed(playbook("site.yml", "--limit", NODE, **NO_GUARD))
    assert ARCHIVES in reason
    assert_nothing_is_half_done(fresh)


def test_a_package_that_is_cut(fresh: Lab, playbook: Playbook) -> None:
    with cut_mirror(fresh, NODE, "/rocblas_"):
        reason = failed(playbook("site.yml", "--limit", NODE))
    assert "http://mirror.lab/" in reason
    assert "rocblas_" in reason
    assert_nothing_is_half_done(fresh)


def test_a_wheel_that_is_cut(fresh: Lab, playbook: Playbook) -> None:
    with cut_mirror(fresh, NODE, "/torch-2.0.1"):
        reason = failed(playbook("site.yml", "--limit", NODE))
    assert "torch-2.0.1" in reason
    assert_nothing_is_half_done(fresh)


def test_a_wheel_with_another_digest(fresh: Lab, playbook: Playbook, tmp_path: Path) -> None:
    info = json.loads(settings.MIRROR_INFO.read_text(encoding="utf-8"))
    lines = (REPOSITORY / info["pytorch_lock"]["5.4.2"]).read_text(encoding="utf-8").splitlines()
    wrong = [
        f"{line.partition('sha256:')[0]}sha256:{'0' * 64}" if line.startswith("torch==") else line for line in lines
    ]
    lock = tmp_path / "wrong.txt"
    lock.write_text("\n".join(wrong) + "\n", encoding="utf-8")
    reason = failed(playbook("site.yml", "--limit", NODE, pytorch_lock_file=str(lock)))
    assert "torch==2.0.1+rocm5.4.2" in reason
    assert "0" * 64 in reason


def test_no_room_for_the_wheels_in_the_middle(fresh: Lab, playbook: Playbook) -> None:
    with disk(fresh, VENV_DISK, "20m"):
        reason = failed(playbook("site.yml", "--limit", NODE, **NO_GUARD))
    assert "No space left on device" in reason
    assert f"{VENV_DISK}/venv" in reason


def test_after_all_of_these_the_next_run_finishes(fresh: Lab, playbook: Playbook) -> None:
    assert_the_next_run_finishes(playbook)
    again = playbook("site.yml", "--limit", NODE)
    assert "changed=0" in again.output


def unattended(lab: Lab) -> dict[str, str]:
    """Start the unattended upgrade as its timer does, with a stand-in for the upgrade itself, and return what systemd did."""
    shown = lab.on(
        NODE,
        "mkdir -p /etc/systemd/system/apt-daily-upgrade.service.d; rm -f /root/upgraded; "
        "printf '[Service]\\nExecStartPre=\\nExecStart=\\nExecStart=/usr/bin/touch /root/upgraded\\n' "
        ">/etc/systemd/system/apt-daily-upgrade.service.d/10-test.conf; systemctl daemon-reload; "
        "systemctl start apt-daily-upgrade.service; systemctl show -p ActiveState -p Result apt-daily-upgrade.service; "
        "test -e /root/upgraded && echo Upgraded=yes || echo Upgraded=no",
    )
    return dict(line.split("=", 1) for line in shown.splitlines() if "=" in line)


def test_an_unattended_upgrade_does_not_start_under_a_run_and_starts_after_it(fresh: Lab, playbook: Playbook) -> None:
    fresh.on(NODE, "apt-mark unhold rocm-core; dpkg --force-depends --purge openmpi-bin")
    # Nothing has the package any more, so the run ends in the middle, as if it were killed.
    fresh.on(
        NODE, "printf 'Package: openmpi-bin\\nPin: release *\\nPin-Priority: -1\\n' >/etc/apt/preferences.d/zz-test"
    )
    assert "openmpi-bin" in failed(playbook("site.yml", "--limit", NODE))
    held = unattended(fresh)
    assert (held["Upgraded"], held["Result"]) == ("no", "exec-condition")
    # After the moment that the drop-in names it starts, with nobody having done anything.
    fresh.on(
        NODE,
        "sed -i 's/-gt [0-9]*/-gt 1/' /run/systemd/system/apt-daily-upgrade.service.d/90-instinct-bringup.conf",
    )
    assert unattended(fresh)["Upgraded"] == "yes"
    fresh.on(NODE, "rm /etc/apt/preferences.d/zz-test")
    assert_the_next_run_finishes(playbook)
    assert fresh.on(NODE, "ls /run/systemd/system/apt-daily*.service.d 2>/dev/null || true").split() == [] or (
        "90-instinct-bringup.conf" not in fresh.on(NODE, "ls /run/systemd/system/apt-daily*.service.d")
    )
    assert unattended(fresh)["Upgraded"] == "yes"
