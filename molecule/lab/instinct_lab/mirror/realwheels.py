# SPDX-License-Identifier: Apache-2.0
"""Fetch the few real wheels that a node's venv needs, by exact version and hash, through pip as it is configured."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from pathlib import Path

from .data import DATA_DIR

LOCK = DATA_DIR / "real-wheels.txt"
PLATFORMS = ("manylinux2014_x86_64", "manylinux_2_17_x86_64")


class FetchError(RuntimeError):
    """pip could not fetch the wheels; the text holds the end of its output."""


def wanted(text: str) -> dict[str, tuple[str, str]]:
    """Parse lock lines "NAME==VERSION --hash=sha256:HEX" into {name: (version, hex)}.

    Raises:
        ValueError: a line of another shape.
    """
    out: dict[str, tuple[str, str]] = {}
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        match = re.fullmatch(r"([a-z0-9.-]+)==(\S+) --hash=sha256:([0-9a-f]{64})", line.strip())
        if match is None:
            raise ValueError(f"not a locked requirement: {line!r}")
        out[match[1]] = (match[2], match[3])
    return out


def ensure(cache: Path) -> list[Path]:
    """Return the wheels' files in `cache`, fetching those that are not there (some 31 MB the first time)."""
    hashes = {digest for _, digest in wanted(LOCK.read_text(encoding="utf-8")).values()}
    cache.mkdir(mode=0o755, parents=True, exist_ok=True)
    present = _by_hash(cache)
    if not hashes <= set(present):
        _download(cache)
        present = _by_hash(cache)
    missing = hashes - set(present)
    if missing:
        raise FetchError(f"pip left out wheels with the hashes {', '.join(sorted(missing))}")
    return sorted(present[digest] for digest in hashes)


def _by_hash(folder: Path) -> dict[str, Path]:
    return {hashlib.sha256(path.read_bytes()).hexdigest(): path for path in folder.glob("*.whl")}


def _download(cache: Path) -> None:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--require-hashes", "--no-deps"]
    command += ["--only-binary", ":all:", "--implementation", "cp", "--python-version", "3.11", "--abi", "cp311"]
    for platform in PLATFORMS:
        command += ["--platform", platform]
    done = subprocess.run(
        [*command, "--dest", str(cache), "-r", str(LOCK)], check=False, text=True, capture_output=True
    )
    if done.returncode != 0:
        raise FetchError(f"pip download failed ({done.returncode}):\n{done.stderr[-2000:]}")
