# SPDX-License-Identifier: Apache-2.0
"""Fetch the few real wheels that a node's venv needs, by exact version and hash, through pip as it is configured."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from .data import DATA_DIR

LOCK = DATA_DIR / "real-wheels.txt"
PLATFORMS = ("manylinux2014_x86_64", "manylinux_2_17_x86_64", "manylinux_2_27_x86_64", "manylinux_2_28_x86_64")
# What has no wheels at all.
SOURCE_ONLY = ("deepspeed",)


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


def ensure(cache: Path, lock: Path = LOCK) -> list[Path]:
    """Return the files that a lock names in `cache`, fetching what is not there (LOCK: some 31 MB the first time)."""
    hashes = {digest for _, digest in wanted(lock.read_text(encoding="utf-8")).values()}
    cache.mkdir(mode=0o755, parents=True, exist_ok=True)
    present = _by_hash(cache)
    if not hashes <= set(present):
        _download(cache, lock)
        present = _by_hash(cache)
    missing = hashes - set(present)
    if missing:
        raise FetchError(f"pip left out wheels with the hashes {', '.join(sorted(missing))}")
    return sorted(present[digest] for digest in hashes)


def _by_hash(folder: Path) -> dict[str, Path]:
    files = [*folder.glob("*.whl"), *folder.glob("*.tar.gz")]
    return {hashlib.sha256(path.read_bytes()).hexdigest(): path for path in files}


def _download(cache: Path, lock: Path) -> None:
    """Fetch wheels for the nodes' Python, and the source of what publishes nothing else."""
    text = lock.read_text(encoding="utf-8")
    names = wanted(text)
    source = [name for name in names if name in SOURCE_ONLY]
    wheels = ["--only-binary", ":all:", "--implementation", "cp", "--python-version", "3.11", "--abi", "cp311"]
    for platform in PLATFORMS:
        wheels += ["--platform", platform]
    for chosen, words in ((names.keys() - set(source), wheels), (source, ["--no-binary", ":all:"])):
        lines = [line for line in text.splitlines() if line.split("==")[0] in chosen]
        with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as part:
            part.write("\n".join(lines) + "\n")
            part.flush()
            _pip_download([*words, "--dest", str(cache), "-r", part.name])


def _pip_download(words: list[str]) -> None:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--require-hashes", "--no-deps"]
    done = subprocess.run([*command, *words], check=False, text=True, capture_output=True)
    if done.returncode != 0:
        raise FetchError(f"pip download failed ({done.returncode}):\n{done.stderr[-2000:]}")
