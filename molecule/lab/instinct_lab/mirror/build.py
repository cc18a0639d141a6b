# SPDX-License-Identifier: Apache-2.0
"""Build the served tree of the vendor mirror: repositories, installers, wheels, key, signatures."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

from instinct_lab import settings

from . import aptrepo, archive, driver, index, installer, realwheels, signing, userspace, wheels
from .aptrepo import Suite
from .data import Release, releases
from .deb import build as build_deb
from .info import MirrorInfo, read

VENDOR_ORIGIN = "repo.radeon.com"
_OWN = Path(__file__).resolve().parent
_STAMP = "content-hash"


def build(dest: Path) -> MirrorInfo:
    """Make the tree at `dest` and mirror-info.json beside it; a tree that is up to date is left as it is.

    Beside `dest`, in its parent folder, lie the key (keys/), fetched wheels (wheels/) and the pip locks (locks/).
    The result is the same for the same data, code and key. A tree whose signatures were taken away is signed again.
    """
    state = dest.parent
    fingerprint = signing.ensure_key(state / "keys")
    stamp = _inputs(fingerprint)
    known = read(state / settings.MIRROR_INFO.name)
    if known is not None and known.content_hash == stamp and stamp_of(dest) == stamp:
        if signing.variant_of(dest) != "signed":
            signing.apply(dest, vendor_folders(dest), state / "keys")
        return known
    fresh = dest.with_name(f"{dest.name}.building")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(mode=0o755, parents=True)
    info = _fill(fresh, state, fingerprint, stamp)
    (fresh / _STAMP).write_text(f"{stamp}\n", encoding="ascii")
    shutil.rmtree(dest, ignore_errors=True)
    fresh.rename(dest)
    info.write(state / settings.MIRROR_INFO.name)
    return info


def vendor_folders(dest: Path) -> list[str]:
    """Return the suites of AMD's repositories in a built tree, as rocm/apt/5.4.2/dists/jammy."""
    found = sorted(path.parent.relative_to(dest).as_posix() for path in dest.glob("**/dists/*/Release"))
    return [folder for folder in found if not folder.startswith("ubuntu/")]


def suites() -> list[Suite]:
    """Return every suite of the mirror with its packages."""
    out: list[Suite] = []
    for release in releases():
        out += _vendor_suites(release)
    for name, packages in archive.suites().items():
        out.append(Suite("ubuntu", name, "universe", "Ubuntu", "Ubuntu", tuple(packages)))
    return out


def _vendor_suites(release: Release) -> list[Suite]:
    out = [
        Suite(release.path, suite, "main", VENDOR_ORIGIN, VENDOR_ORIGIN, tuple(userspace.packages(release, os_version)))
        for suite, os_version in release.suites.items()
    ]
    for suite, os_version in release.driver.suites.items():
        packages = tuple(driver.packages(release, os_version))
        out.append(Suite(release.driver.path, suite, "main", VENDOR_ORIGIN, VENDOR_ORIGIN, packages, ("proprietary",)))
    return out


def _fill(root: Path, state: Path, fingerprint: str, stamp: str) -> MirrorInfo:
    made: dict[tuple[str, str], bytes] = {}
    for suite in suites():
        aptrepo.write(root, suite, made)
    keys = state / "keys"
    shutil.copyfile(keys / "lab-key.asc", root / "rocm" / "rocm.gpg.key")
    sums = _installers(root, (keys / "lab-key.gpg").read_bytes())
    locks = _wheels(root, state)
    signing.apply(root, [*vendor_folders(root), *_archive_folders(root)], keys)
    return MirrorInfo(
        url=settings.MIRROR_URL,
        address=settings.MIRROR_ADDRESS,
        key_fingerprint=fingerprint,
        installer_sha256=sums,
        pytorch_lock=locks,
        content_hash=stamp,
    )


def _archive_folders(root: Path) -> list[str]:
    return sorted(path.parent.relative_to(root).as_posix() for path in root.glob("ubuntu/dists/*/Release"))


def _installers(root: Path, keyring: bytes) -> dict[str, dict[str, str]]:
    sums: dict[str, dict[str, str]] = {}
    for release in releases():
        for suite in release.installer.suites:
            package = installer.package(release, suite, settings.MIRROR_URL, keyring)
            content = build_deb(package)
            target = root / release.installer.path / suite / package.file_name
            target.parent.mkdir(parents=True)
            target.write_bytes(content)
            sums.setdefault(release.rocm, {})[suite] = hashlib.sha256(content).hexdigest()
    return sums


def _wheels(root: Path, state: Path) -> dict[str, str]:
    real = realwheels.ensure(state / "wheels")
    locks: dict[str, str] = {}
    folder = state / "locks"
    folder.mkdir(mode=0o755, exist_ok=True)
    for name, made in wheels.indexes().items():
        index.write(root, name, made, real)
        path = folder / f"pytorch-{name}.txt"
        path.write_text(index.lock_text(made, realwheels.LOCK.read_text(encoding="utf-8")), encoding="utf-8")
        locks[wheels.rocm_release(name)] = path.relative_to(state.parent).as_posix()
    return locks


def _inputs(fingerprint: str) -> str:
    """Hash all that decides the tree: this package's code, data and files, and the key, but not the server's."""
    total = hashlib.sha256(f"{fingerprint}\0{settings.MIRROR_URL}\0".encode())
    for path in sorted(_OWN.rglob("*")):
        name = path.relative_to(_OWN)
        aside = name.name in ("server.py", "README.md") or {"server", "__pycache__"} & set(name.parts)
        if path.is_file() and not aside:
            total.update(f"{name}\0".encode() + path.read_bytes())
    return total.hexdigest()


def stamp_of(dest: Path) -> str | None:
    """Return the content hash of a built tree, None when there is no complete one."""
    try:
        return (dest / _STAMP).read_text(encoding="ascii").strip()
    except FileNotFoundError:
        return None
