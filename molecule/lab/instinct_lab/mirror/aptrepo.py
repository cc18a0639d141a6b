# SPDX-License-Identifier: Apache-2.0
"""Write signed-able apt repositories: pool, Packages and Release. Signatures are made by signing.py."""

from __future__ import annotations

import dataclasses
import email.utils
import gzip
import hashlib
from collections.abc import Iterable
from pathlib import Path

from . import deb
from .deb import EPOCH, Package


@dataclasses.dataclass(frozen=True)
class Suite:
    """One suite of a repository. `origin` is what an apt pin matches (o=...)."""

    repository: str
    name: str
    component: str
    origin: str
    label: str
    packages: tuple[Package, ...]
    empty_components: tuple[str, ...] = ()

    @property
    def folder(self) -> str:
        """Return the suite's folder below the served tree."""
        return f"{self.repository}/dists/{self.name}"


def write(root: Path, suite: Suite, made: dict[tuple[str, str], bytes]) -> None:
    """Write one suite below `root`; `made` keeps the packages built so far, for suites that share a pool."""
    stanzas = []
    for package in sorted(suite.packages, key=lambda item: item.name):
        key = (suite.repository, package.file_name)
        if key not in made:
            made[key] = deb.build(package)
        path = pool_path(suite.component, package)
        target = root / suite.repository / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(made[key])
        stanzas.append(_stanza(package, path, made[key]))
    folder = root / suite.folder
    indexes = {f"{suite.component}/binary-amd64/Packages": "\n".join(stanzas).encode()}
    for component in suite.empty_components:
        indexes[f"{component}/binary-amd64/Packages"] = b""
    for name, content in list(indexes.items()):
        indexes[f"{name}.gz"] = gzip.compress(content, compresslevel=6, mtime=0)
    for name, content in indexes.items():
        path_of = folder / name
        path_of.parent.mkdir(parents=True, exist_ok=True)
        path_of.write_bytes(content)
    (folder / "Release").write_text(release_text(suite, indexes), encoding="utf-8")


def pool_path(component: str, package: Package) -> str:
    """Return where a package lies, as pool/main/libd/libdrm-amdgpu-common/NAME_VERSION_ARCH.deb."""
    letter = package.name[:4] if package.name.startswith("lib") else package.name[0]
    return f"pool/{component}/{letter}/{package.name}/{package.file_name}"


def _stanza(package: Package, path: str, content: bytes) -> str:
    fields = [f"Filename: {path}", f"Size: {len(content)}"]
    fields.append(f"MD5sum: {hashlib.md5(content, usedforsecurity=False).hexdigest()}")
    fields.append(f"SHA256: {hashlib.sha256(content).hexdigest()}")
    control = deb.control_text(package)
    # The description ends the stanza of a control file; the archive's own fields stand before it.
    head, _, description = control.partition("Description: ")
    return f"{head}{chr(10).join(fields)}\nDescription: {description}"


def release_text(suite: Suite, indexes: dict[str, bytes]) -> str:
    """Render the Release file; its date is fixed, so that a rebuilt mirror is not older or newer to apt."""
    components = " ".join((suite.component, *suite.empty_components))
    lines = [
        f"Origin: {suite.origin}",
        f"Label: {suite.label}",
        f"Suite: {suite.name}",
        f"Codename: {suite.name}",
        f"Date: {email.utils.formatdate(EPOCH, usegmt=True).replace('GMT', 'UTC')}",
        "Architectures: amd64",
        f"Components: {components}",
        "Description: simulated by the lab of instinct-bringup",
    ]
    lines += _sums("SHA256", "sha256", indexes.items()) + _sums("SHA512", "sha512", indexes.items())
    return "\n".join(lines) + "\n"


def _sums(title: str, algorithm: str, indexes: Iterable[tuple[str, bytes]]) -> list[str]:
    rows = [f" {hashlib.new(algorithm, content).hexdigest()} {len(content):>8} {name}" for name, content in indexes]
    return [f"{title}:", *sorted(rows, key=lambda row: row.split()[-1])]
