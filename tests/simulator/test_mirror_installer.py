# SPDX-License-Identifier: Apache-2.0
"""The stand-in of amdgpu-install, run with a stub dpkg: what it prints and how it ends."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from instinct_lab.mirror import data, installer

Run = Callable[..., subprocess.CompletedProcess[str]]

# Rows as `dpkg -l` prints them: installed, held, removed with conffiles left.
INSTALLED = "ii  {0}  5.4.2.50402-104~22.04  amd64  text\n"
HELD = "hi  {0}  5.4.2.50402-104~22.04  amd64  text\n"
REMOVED = "rc  {0}  5.4.2.50402-104~22.04  amd64  text\n"


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run the script dry. Its apt-cache knows no package, so that no kernel package is added."""
    release = next(release for release in data.releases() if release.rocm == "5.4.2")
    entries = {entry.path: entry for entry in installer.package(release, "jammy", "http://mirror.lab", b"").entries}
    script = tmp_path / "amdgpu-install"
    script.write_bytes(entries["/usr/bin/amdgpu-install"].content)
    stubs = tmp_path / "stubs"
    stubs.mkdir()

    def call(*args: str, rows: str = "", dry: bool = True) -> subprocess.CompletedProcess[str]:
        for name, text in (
            ("dpkg", f"cat <<'ROWS'\n{rows}ROWS\n"),
            ("apt-cache", "exit 100\n"),
            ("apt-get", "exit 1\n"),
        ):
            (stubs / name).write_text(f"#!/bin/sh\n{text}")
            (stubs / name).chmod(0o755)
        command = ["bash", str(script), *(["--dryrun"] if dry else []), *args]
        environment = {"PATH": f"{stubs}:/usr/bin:/bin", "LC_ALL": "C"}
        return subprocess.run(command, check=False, text=True, capture_output=True, env=environment)

    return call


@pytest.mark.parametrize(
    ("args", "line"),
    [
        (["-y", "--usecase=hiplibsdk", "--no-dkms"], "apt-get install -y rocm-hip-sdk\n"),
        (["-y", "--usecase=hiplibsdk"], "apt-get install -y rocm-hip-sdk amdgpu-dkms\n"),
        (["-y", "--usecase=dkms,hiplibsdk"], "apt-get install -y amdgpu-dkms rocm-hip-sdk\n"),
        (["--usecase=graphics", "--no-32", "--no-dkms"], "apt-get install amdgpu-lib\n"),
        (
            ["--usecase=hip,mllib", "--no-dkms", "--rocmrelease=5.4.2"],
            "apt-get install rocm-hip-runtime5.4.2 rocm-ml-libraries5.4.2\n",
        ),
    ],
)
def test_dryrun_prints_the_apt_line(run: Run, args: list[str], line: str) -> None:
    done = run(*args)
    assert (done.returncode, done.stdout) == (0, line)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--usecase=hiplibsdk,mpi"], "ERROR: Usecase implementation 'mpi' is not supported or invalid\n"),
        (["--usecase=dkms", "--no-dkms"], "ERROR: --no-dkms cannot be used with use case dkms\n"),
        (["--usecase=hip", "--opencl=legacy", "--no-dkms"], "ERROR: --no-dkms cannot be used"),
        (["--usecase=hip", "--rocmrelease=5.4"], "ERROR: Invalid ROCm release '5.4'"),
    ],
)
def test_wrong_options_end_with_1_and_the_reason(run: Run, args: list[str], message: str) -> None:
    done = run(*args)
    assert done.returncode == 1
    assert done.stderr.startswith(message)


@pytest.mark.parametrize(
    ("args", "rows", "line"),
    [
        ([], "", "Nothing to uninstall\n"),
        ([], REMOVED.format("rocm-core"), "Nothing to uninstall\n"),
        (
            ["-y"],
            "".join(INSTALLED.format(name) for name in ("amdgpu-core", "amdgpu-dkms", "rocm-core", "rocm-hip-sdk")),
            "apt-get purge -y amdgpu-core amdgpu-dkms rocm-core\n",
        ),
        ([], HELD.format("rocm-core"), "apt-get purge rocm-core\n"),
        (
            ["--rocmrelease=5.4.2"],
            INSTALLED.format("amdgpu-dkms") + INSTALLED.format("rocm-core5.4.2") + INSTALLED.format("rocm-core5.7.1"),
            "apt-get purge rocm-core5.4.2\n",
        ),
        (
            ["--rocmrelease=all"],
            INSTALLED.format("rocm-core5.4.2") + INSTALLED.format("rocm-core"),
            "apt-get purge rocm-core5.4.2 rocm-core\n",
        ),
    ],
)
def test_uninstall_names_the_three_bases(run: Run, args: list[str], rows: str, line: str) -> None:
    done = run("--uninstall", *args, rows=rows)
    assert (done.returncode, done.stdout) == (0, line)


@pytest.mark.parametrize("args", [["--uninstall"], ["--usecase=hip"]], ids=["uninstall", "install"])
def test_a_host_with_versioned_packages_wants_the_release_named(run: Run, args: list[str]) -> None:
    done = run(*args, rows=INSTALLED.format("rocm-core5.4.2"))
    assert done.returncode == 1
    assert "--rocmrelease" in done.stderr


def test_the_use_cases_are_listed_and_mpi_is_none_of_them(run: Run) -> None:
    listed = run("--list-usecase").stdout.split()
    assert "hiplibsdk" in listed
    assert "mpi" not in listed


def test_a_failing_apt_fails_the_script(run: Run) -> None:
    assert run("--usecase=hip", dry=False).returncode == 1
