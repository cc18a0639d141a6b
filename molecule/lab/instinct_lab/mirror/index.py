# SPDX-License-Identifier: Apache-2.0
"""Lay out wheel indexes (PEP 503) and write the lock that a site would use with each."""

from __future__ import annotations

import hashlib
import html
import shutil
import urllib.parse
from pathlib import Path

from . import realwheels
from .wheels import Wheel, normalize

# The lock is for the Python of the lab's nodes; the other wheels are there so that an index looks like the real one.
LOCK_PYTHON = "cp311"


def write(root: Path, name: str, wheels: list[Wheel], real: list[Path]) -> None:
    """Write /whl/NAME below `root`: the wheels, a page per project, and a page that lists the projects."""
    folder = root / "whl" / name
    folder.mkdir(parents=True)
    links: dict[str, list[tuple[str, str]]] = {}
    for wheel in wheels:
        (folder / wheel.file_name).write_bytes(wheel.content)
        links.setdefault(normalize(wheel.project), []).append((wheel.file_name, wheel.sha256))
    for path in real:
        shutil.copyfile(path, folder / path.name)
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        links.setdefault(normalize(path.name.split("-")[0]), []).append((path.name, digest))
    for project, files in links.items():
        page = folder / project
        page.mkdir()
        rows = [
            f'<a href="../{urllib.parse.quote(file)}#sha256={digest}">{html.escape(file)}</a><br/>'
            for file, digest in sorted(files)
        ]
        (page / "index.html").write_text(_page(f"Links for {project}", rows), encoding="utf-8")
    rows = [f'<a href="{project}/">{project}</a><br/>' for project in sorted(links)]
    (folder / "index.html").write_text(_page("Simple index", rows), encoding="utf-8")


def lock_text(wheels: list[Wheel], real_lock: str) -> str:
    """Render a pip requirements lock: every package in one version with its hash, stand-ins included."""
    lines = {
        normalize(wheel.project): f"{normalize(wheel.project)}=={wheel.version} --hash=sha256:{wheel.sha256}"
        for wheel in wheels
        if wheel.python == LOCK_PYTHON
    }
    needed = _needed(wheels)
    for name, (version, digest) in realwheels.wanted(real_lock).items():
        if name in needed:
            lines[name] = f"{name}=={version} --hash=sha256:{digest}"
    return "".join(f"{lines[name]}\n" for name in sorted(lines))


def _needed(wheels: list[Wheel]) -> set[str]:
    """Return which real projects an index's stand-ins need, directly or not."""
    names = {normalize(wheel.project) for wheel in wheels}
    # torch 2.2 wants fsspec, torch 2.0 does not; every other real wheel serves both.
    newer = any(wheel.project == "torch" and not wheel.version.startswith("2.0.") for wheel in wheels)
    every = set(realwheels.wanted(realwheels.LOCK.read_text(encoding="utf-8")))
    return every - names - (set() if newer else {"fsspec"})


def _page(title: str, rows: list[str]) -> str:
    body = "\n".join(rows)
    return f"<!DOCTYPE html>\n<html><head><title>{title}</title></head><body>\n{body}\n</body></html>\n"
