# SPDX-License-Identifier: Apache-2.0
"""Write wheels by hand: installable, labelled stand-ins with the real names, versions and requirements."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import io
import re
import zipfile
from typing import Any

from . import elf
from .data import FILES_DIR, load
from .userspace import LABEL

PYTHONS = ("cp38", "cp39", "cp310", "cp311")
_DATE = (2023, 2, 8, 0, 0, 0)


@dataclasses.dataclass(frozen=True)
class Wheel:
    """A finished wheel: its file name and bytes."""

    project: str
    version: str
    python: str
    content: bytes

    @property
    def file_name(self) -> str:
        """Name the file as PEP 427 does."""
        return f"{self.project.replace('-', '_')}-{self.version}-{self.python}-{self.python}-linux_x86_64.whl"

    @property
    def sha256(self) -> str:
        """Return the hash that indexes and locks name."""
        return hashlib.sha256(self.content).hexdigest()


def indexes() -> dict[str, list[Wheel]]:
    """Return the stand-in wheels of each index, by the index's name ("rocm5.4.2")."""
    out: dict[str, list[Wheel]] = {}
    for index, spec in load("wheels.yml").items():
        out[index] = [_wheel(spec, wheel, python) for wheel in spec["wheels"] for python in PYTHONS]
    return out


def rocm_release(index: str) -> str:
    """Return the ROCm release that an index was built for ("5.4.2")."""
    return str(load("wheels.yml")[index]["rocm"])


def normalize(project: str) -> str:
    """Normalize a project's name as PEP 503 does."""
    return re.sub(r"[-_.]+", "-", project).lower()


def _wheel(spec: dict[str, Any], wheel: dict[str, Any], python: str) -> Wheel:
    name, version = wheel["name"], wheel["version"]
    info = f"{name.replace('-', '_')}-{version}.dist-info"
    files = _torch_files(spec, wheel) if name == "torch" else _module_files(name, version)
    metadata = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", f"Summary: {LABEL}"]
    metadata += [f"Requires-Dist: {requirement}" for requirement in wheel["requires"]]
    files[f"{info}/METADATA"] = ("\n".join(metadata) + "\n").encode()
    tag = f"{python}-{python}-linux_x86_64"
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: lab\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    return Wheel(name, version, python, _archive(files, f"{info}/RECORD"))


def _module_files(name: str, version: str) -> dict[str, bytes]:
    module = {"pytorch-triton-rocm": "triton"}.get(name, name)
    needs = "import torch\n\n" if module.startswith("torch") else ""
    text = f'"""{LABEL}"""\n\n{needs}__version__ = "{version}"\nLAB_STAND_IN = True\n'
    return {f"{module}/__init__.py": text.encode()}


def _torch_files(spec: dict[str, Any], wheel: dict[str, Any]) -> dict[str, bytes]:
    rccl = spec["rccl"]
    version = (
        f'__version__ = "{wheel["version"]}"\ndebug = False\ncuda = None\n'
        f'git_version = "{wheel["git"]}"\nhip = "{spec["hip"]}"\n'
    )
    nccl = f'"""{LABEL}"""\n\n\ndef version():\n    """Return the RCCL version of the bundle."""\n'
    nccl += f"    return ({', '.join(rccl.split('.'))})\n"
    hip = ".".join(spec["rocm"].split(".")[:2])
    return {
        "torch/__init__.py": (FILES_DIR / "torch_init.py.in").read_bytes(),
        "torch/version.py": version.encode(),
        "torch/cuda/__init__.py": (FILES_DIR / "torch_cuda.py.in").read_bytes(),
        "torch/cuda/nccl.py": nccl.encode(),
        # The wheel's own RCCL has the plain name, as in the real one.
        "torch/lib/librccl.so": elf.shared_library("librccl.so", f"{LABEL} RCCL version {rccl}+hip{hip}"),
        "torch/lib/libamdhip64.so": elf.shared_library("libamdhip64.so", LABEL),
    }


def _archive(files: dict[str, bytes], record: str) -> bytes:
    rows = []
    for name, content in sorted(files.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        rows.append(f"{name},sha256={digest},{len(content)}")
    rows.append(f"{record},,")
    buffer = io.BytesIO()
    # Stored, not compressed: the bytes, and so the hashes in locks, depend on no version of zlib.
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, content in [*sorted(files.items()), (record, ("\n".join(rows) + "\n").encode())]:
            info = zipfile.ZipInfo(name, _DATE)
            info.external_attr = 0o644 << 16
            archive.writestr(info, content)
    return buffer.getvalue()
