# SPDX-License-Identifier: Apache-2.0
"""List exactly what a site must mirror: packages of signed indexes with all that they need, and wheels of a lock."""

from __future__ import annotations

import fnmatch
import gzip
import hashlib
import re
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Sequence, Set, Tuple

from ansible_collections.instinct.bringup.plugins.module_utils.control_file import parse_stanzas
from ansible_collections.instinct.bringup.plugins.module_utils.release_file import RepositoryProblem

INDEX = "main/binary-amd64/Packages.gz"
_ALTERNATIVE = re.compile(r"^\s*([a-z0-9][a-z0-9+.-]*)")
_PIN = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)==([^\s;\\]+)(.*)$", re.MULTILINE)
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")

Fetch = Callable[[str], bytes]


class Package(NamedTuple):
    """A package of a repository: where it is, and what it must be."""

    name: str
    version: str
    url: str
    sha256: str
    size: int
    needs: Sequence[str]
    """Names of packages of Depends, Pre-Depends and Recommends, which apt installs too; of alternatives the first."""
    provides: Sequence[str] = ()


def read_index(base: str, suite: str, release_text: str, fetch: Fetch) -> List[Package]:
    """Return the packages of a suite. release_text: its verified Release; RepositoryProblem when the index is another."""
    url = f"{base.rstrip('/')}/dists/{suite}/{INDEX}"
    data = fetch(url)
    wanted = _digest_in(release_text)
    if hashlib.sha256(data).hexdigest() != wanted:
        raise RepositoryProblem(
            f"{url} is not what the signed Release says ({wanted}); the mirror is in the middle of a sync"
        )
    packages = []
    for _line, fields in parse_stanzas(gzip.decompress(data).decode("utf-8", "replace")):
        needs = ",".join(fields.get(key, "") for key in ("depends", "pre-depends", "recommends"))
        packages.append(
            Package(
                fields["package"],
                fields["version"],
                f"{base.rstrip('/')}/{fields['filename']}",
                fields.get("sha256", ""),
                int(fields.get("size", "0")),
                _names(needs),
                _names(fields.get("provides", "")),
            )
        )
    return packages


def _names(field: str) -> List[str]:
    return [found.group(1) for part in field.split(",") if (found := _ALTERNATIVE.match(part.partition("|")[0]))]


def _digest_in(release_text: str) -> str:
    inside = False
    for line in release_text.splitlines():
        if line.startswith("SHA256:"):
            inside = True
        elif inside and not line.startswith(" "):
            inside = False
        elif inside:
            words = line.split()
            if len(words) == 3 and words[2] == INDEX:
                return words[0]
    return ""


def closure(packages: Sequence[Package], wanted: Mapping[str, str]) -> Tuple[List[Package], List[str], List[str]]:
    """Return what the wanted packages need of these, what the distribution must give, and what is wanted and not there.

    wanted: name to a pattern of its version. Of several versions the last of the index is taken.
    """
    by_name: Dict[str, Package] = {package.name: package for package in packages}
    for package in packages:
        if package.name in wanted and fnmatch.fnmatchcase(package.version, wanted[package.name]):
            by_name[package.name] = package
    missing = [
        f"{name} {pattern}"
        for name, pattern in wanted.items()
        if name not in by_name or not fnmatch.fnmatchcase(by_name[name].version, pattern)
    ]
    by_virtual = {name: package.name for package in packages for name in package.provides}
    todo = [name for name in wanted if name in by_name]
    chosen: Dict[str, Package] = {}
    others: Set[str] = set()
    while todo:
        name = todo.pop()
        if name in chosen:
            continue
        chosen[name] = by_name[name]
        for need in by_name[name].needs:
            if need in by_name:
                todo.append(need)
            elif need in by_virtual:
                todo.append(by_virtual[need])
            else:
                others.add(need)
    return [chosen[name] for name in sorted(chosen)], sorted(others), missing


def wheels_of(lock: str) -> List[Dict[str, Any]]:
    """Return name, version and SHA-256 digests of each line of a lock in pip's form."""
    logical = lock.replace("\\\n", " ")
    return [
        {"name": found.group(1), "version": found.group(2), "sha256": _HASH.findall(found.group(3))}
        for found in _PIN.finditer(logical)
    ]
