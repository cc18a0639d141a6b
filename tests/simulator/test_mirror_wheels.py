# SPDX-License-Identifier: Apache-2.0
"""The stand-in wheels, their index and the lock."""

from __future__ import annotations

import base64
import hashlib
import io
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from instinct_lab.mirror import index, realwheels, wheels

INDEXES = wheels.indexes()
TORCH = next(wheel for wheel in INDEXES["rocm5.4.2"] if wheel.project == "torch" and wheel.python == "cp311")


def test_the_file_name_is_the_real_ones() -> None:
    assert TORCH.file_name == "torch-2.0.1+rocm5.4.2-cp311-cp311-linux_x86_64.whl"


def test_the_same_data_gives_the_same_hash() -> None:
    assert {wheel.sha256 for wheel in wheels.indexes()["rocm5.4.2"]} == {w.sha256 for w in INDEXES["rocm5.4.2"]}


@pytest.mark.parametrize("name", sorted(INDEXES))
def test_the_record_of_every_wheel_is_true(name: str) -> None:
    for wheel in INDEXES[name]:
        with zipfile.ZipFile(io.BytesIO(wheel.content)) as archive:
            record = next(item for item in archive.namelist() if item.endswith("/RECORD"))
            rows = [line.split(",") for line in archive.read(record).decode().splitlines()]
            assert {row[0] for row in rows} == set(archive.namelist())
            for path, digest, _ in rows:
                if path != record:
                    real = base64.urlsafe_b64encode(hashlib.sha256(archive.read(path)).digest()).rstrip(b"=")
                    assert digest == f"sha256={real.decode()}"


def test_the_stand_in_can_be_imported_and_says_what_it_is(tmp_path: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(TORCH.content)) as archive:
        archive.extractall(tmp_path)
    probe = "import torch; print(torch.__version__, torch.version.hip, torch.version.cuda, torch.cuda.nccl.version(), "
    probe += "torch.tensor([1, 2]).sum(), torch.LAB_STAND_IN)"
    done = subprocess.run(
        [sys.executable, "-S", "-c", probe],
        check=True,
        text=True,
        capture_output=True,
        env={"PYTHONPATH": str(tmp_path)},
    )
    assert done.stdout == "2.0.1+rocm5.4.2 5.4.22803-474e8620 None (2, 13, 4) 3 True\n"


def test_the_index_links_each_file_with_its_hash(tmp_path: Path) -> None:
    index.write(tmp_path, "rocm5.4.2", INDEXES["rocm5.4.2"], [])
    page = (tmp_path / "whl" / "rocm5.4.2" / "torch" / "index.html").read_text()
    assert f'href="../torch-2.0.1%2Brocm5.4.2-cp311-cp311-linux_x86_64.whl#sha256={TORCH.sha256}"' in page
    listing = (tmp_path / "whl" / "rocm5.4.2" / "index.html").read_text()
    assert '<a href="pytorch-triton-rocm/">' in listing


@pytest.mark.parametrize("name", sorted(INDEXES))
def test_the_lock_holds_each_requirement_of_each_wheel(name: str) -> None:
    lock = realwheels.LOCK.read_text()
    text = index.lock_text(INDEXES[name], lock)
    locked = {line.split("==")[0] for line in text.splitlines()}
    for wheel in INDEXES[name]:
        with zipfile.ZipFile(io.BytesIO(wheel.content)) as archive:
            metadata = next(archive.read(item) for item in archive.namelist() if item.endswith("/METADATA")).decode()
        wanted = [line.split()[1] for line in metadata.splitlines() if line.startswith("Requires-Dist:")]
        assert {wheels.normalize(item) for item in wanted} <= locked
    assert all(" --hash=sha256:" in line for line in text.splitlines())


def test_the_lock_of_torch_2_0_holds_numpy_1() -> None:
    text = index.lock_text(INDEXES["rocm5.4.2"], realwheels.LOCK.read_text())
    assert "numpy==1.26.4 " in text
    assert f"torch==2.0.1+rocm5.4.2 --hash=sha256:{TORCH.sha256}\n" in text
    assert "fsspec" not in text


def test_a_requirement_without_a_hash_is_refused() -> None:
    with pytest.raises(ValueError, match=r"not a locked requirement: 'numpy==1\.26\.4'"):
        realwheels.wanted("numpy==1.26.4\n")
