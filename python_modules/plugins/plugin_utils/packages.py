# SPDX-License-Identifier: Apache-2.0
"""Tell AMD's packages from a distribution's, and one ROCm release from another.

A package is AMD's when its name is of a family of catalog/families.yml and its version has a
form that AMD's builds have, or when no distribution ships a package of that name.
"""

from __future__ import annotations

import dataclasses
import functools
import re
import typing as t

from ansible_collections.instinct.bringup.plugins.plugin_utils.catalog import Catalog


@dataclasses.dataclass(frozen=True)
class Vendor:
    """Say what an AMD package's version tells.

    release: "5.4.2", or None when the version does not encode one (some drivers).
    suite: "22.04" for a build of Ubuntu 22.04, None when the version does not say.
    """

    release: str | None
    suite: str | None


def decode_release(encoded: str) -> str | None:
    """Return "5.4.2" for "50402": major * 10000 + minor * 100 + patch; None for other numbers.

    "30100200" is no release but a driver's branch, see decode_branch.
    """
    if len(encoded) != 5:
        return None
    number = int(encoded)
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}"


def decode_branch(encoded: str) -> str | None:
    """Return "30.10.2" for "30100200", as the drivers of ROCm 7 count; None for other numbers."""
    if len(encoded) != 8:
        return None
    number = int(encoded)
    patch = number // 100 % 100
    return f"{number // 1000000}.{number // 10000 % 100}" + (f".{patch}" if patch else "")


class PackageFamilies:
    """Classify installed packages by the catalog's families."""

    def __init__(self, catalog: Catalog) -> None:
        self._known: dict[str, list[bool]] = {}
        data = catalog.families
        suffix = data["name_suffix"]
        self._versions = {form: re.compile(text) for form, text in data["version_patterns"].items()}
        self._names = [
            (re.compile(f"(?:{entry['pattern']}){suffix}"), bool(entry.get("vendor_only")))
            for entry in data["families"]
        ]
        self._branches = {
            entry["driver"]["branch"]: name
            for name in catalog.releases
            if "branch" in (entry := catalog.release(name))["driver"]
        }

    def is_family_name(self, name: str) -> bool:
        """Say whether a name is one that ROCm uses, whoever built the package."""
        return bool(self._families_of(name))

    def _families_of(self, name: str) -> list[bool]:
        """Return for each family of a name whether no distribution has it. A plan asks for each package again and again."""
        known = self._known.get(name)
        if known is None:
            known = self._known[name] = [only for pattern, only in self._names if pattern.fullmatch(name)]
        return known

    def classify(self, name: str, version: str) -> Vendor | None:
        """Return what an AMD package's version tells, or None when it is not AMD's build."""
        matches = self._families_of(name)
        if not matches:
            return None
        for form in ("rocm", "driver", "radeon_branch", "installer"):
            if form == "installer" and name != "amdgpu-install":
                continue
            found = self._versions[form].search(version)
            if found:
                return self._vendor(found.groupdict())
        return Vendor(None, None) if any(matches) else None

    def _vendor(self, groups: dict[str, t.Any]) -> Vendor:
        if "branch" in groups:
            return Vendor(self._branches.get(groups["branch"]), groups.get("suite"))
        encoded = groups["encoded"]
        return Vendor(decode_release(encoded) or self._branches.get(decode_branch(encoded) or ""), groups.get("suite"))


@functools.cache
def families_of(catalog: Catalog) -> PackageFamilies:
    """Return a catalog's classifier of packages, made once a process: it reads every release."""
    return PackageFamilies(catalog)
