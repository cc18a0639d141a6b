# SPDX-License-Identifier: Apache-2.0
"""The deb writer: what dpkg reads back, and equal bytes for equal input."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from instinct_lab.mirror import deb
from instinct_lab.mirror.deb import Entry, Package

PACKAGE = Package(
    name="amdgpu-dkms",
    version="1:5.18.13.50402-1528701.22.04",
    architecture="all",
    summary="a driver",
    description="first line\n\nthird line",
    fields=(("Depends", "dkms"),),
    entries=(
        Entry("/etc/made.conf", b"x\n", conffile=True),
        Entry("/opt/made/bin/tool", b"#!/bin/sh\n", mode=0o755),
        Entry("/opt/made/lib/libmade.so", target="libmade.so.1"),
        Entry("/opt/made/lib/libmade.so.1", b"y" * 2000),
    ),
    scripts=(("postinst", "#!/bin/sh\nexit 0\n"),),
)

dpkg_deb = pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="dpkg-deb is not here")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    target = tmp_path / PACKAGE.file_name
    target.write_bytes(deb.build(PACKAGE))
    return target


def ask(*args: str) -> str:
    return subprocess.run(["dpkg-deb", *args], check=True, text=True, capture_output=True).stdout


def test_the_file_name_leaves_out_the_epoch() -> None:
    assert PACKAGE.file_name == "amdgpu-dkms_5.18.13.50402-1528701.22.04_all.deb"


def test_the_same_input_gives_the_same_bytes() -> None:
    assert deb.build(PACKAGE) == deb.build(PACKAGE)


@dpkg_deb
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("Package", "amdgpu-dkms"),
        ("Version", "1:5.18.13.50402-1528701.22.04"),
        ("Depends", "dkms"),
        ("Installed-Size", "4"),
        ("Description", "a driver\n first line\n .\n third line"),
    ],
)
def test_dpkg_reads_the_field(path: Path, field: str, value: str) -> None:
    assert ask("--field", str(path), field).rstrip("\n") == value


@dpkg_deb
def test_dpkg_sees_the_conffile_and_the_script(path: Path, tmp_path: Path) -> None:
    ask("--control", str(path), str(tmp_path / "control"))
    assert (tmp_path / "control" / "conffiles").read_text() == "/etc/made.conf\n"
    assert (tmp_path / "control" / "postinst").stat().st_mode & 0o777 == 0o755


@dpkg_deb
def test_unpacked_files_have_their_modes_links_and_content(path: Path, tmp_path: Path) -> None:
    ask("--extract", str(path), str(tmp_path / "root"))
    made = tmp_path / "root" / "opt" / "made"
    assert (made / "bin" / "tool").stat().st_mode & 0o777 == 0o755
    assert (made / "lib" / "libmade.so").readlink() == Path("libmade.so.1")
    assert (made / "lib" / "libmade.so").read_bytes() == b"y" * 2000
