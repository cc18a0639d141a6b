# SPDX-License-Identifier: Apache-2.0
"""Read the catalog: releases, GPU models, distributions and package families as data."""

from __future__ import annotations

import functools
import pathlib
import typing as t

import yaml

# libyaml is ten times as fast where PyYAML was built with it; both give the same values.
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
CATALOG_DIR = pathlib.Path(__file__).resolve().parents[2] / "catalog"


class UnknownEntry(Exception):
    """Say which name the catalog does not hold, and which it holds."""

    def __init__(self, kind: str, name: object, known: list[str]) -> None:
        self.kind = kind
        self.name = name
        self.known = known
        super().__init__(f"{kind} {name!r} is not in the catalog; it holds {', '.join(known)}")


@functools.lru_cache(maxsize=4096)
def release_key(release: str) -> tuple[int, ...]:
    """Return a release such as "5.4.2" as integers, so that 5.10 is newer than 5.9."""
    return tuple(int(part) for part in release.split("."))


class Catalog:
    """Give access to the files of one catalog folder, each read once."""

    def __init__(self, directory: pathlib.Path = CATALOG_DIR) -> None:
        self.directory = directory
        self._files: dict[pathlib.Path, dict[str, t.Any]] = {}
        self._releases: dict[str, dict[str, t.Any]] = {}

    def _load(self, path: pathlib.Path) -> dict[str, t.Any]:
        if path not in self._files:
            with path.open(encoding="utf-8") as stream:
                self._files[path] = yaml.load(stream, Loader=LOADER)
        return self._files[path]

    def _entry(self, kind: str, folder: str, name: object) -> dict[str, t.Any]:
        known = self._names(folder)
        if not isinstance(name, str) or name not in known:
            raise UnknownEntry(kind, name, known)
        return self._load(self.directory / folder / f"{name}.yml")

    def _names(self, folder: str) -> list[str]:
        return sorted(path.stem for path in (self.directory / folder).glob("*.yml"))

    @functools.cached_property
    def releases(self) -> list[str]:
        """Return the known ROCm releases, oldest first."""
        return sorted(self._names("releases"), key=release_key)

    def release(self, name: object) -> dict[str, t.Any]:
        """Return the entry of a ROCm release such as "5.4.2", with what all releases share.

        :raises UnknownEntry: the catalog has no such release.
        """
        if not isinstance(name, str) or name not in self.releases:
            raise UnknownEntry("ROCm release", name, self.releases)
        if name not in self._releases:
            shared = self._load(self.directory / "release_defaults.yml")
            self._releases[name] = {**shared, **self._entry("ROCm release", "releases", name)}
        return self._releases[name]

    def gpu(self, name: object) -> dict[str, t.Any]:
        """Return the entry of a GPU model such as "mi210".

        :raises UnknownEntry: the catalog has no such model.
        """
        return self._entry("GPU model", "gpus", name)

    def distribution(self, name: object) -> dict[str, t.Any]:
        """Return the entry of a distribution by its os-release ID such as "ubuntu".

        :raises UnknownEntry: the catalog has no such distribution.
        """
        return self._entry("distribution", "distributions", name)

    @property
    def families(self) -> dict[str, t.Any]:
        """Return the package families and the version forms of AMD's builds."""
        return self._load(self.directory / "families.yml")

    @property
    def leftovers(self) -> dict[str, t.Any]:
        """Return what installers leave beside their packages, and the vendor's hosts."""
        return self._load(self.directory / "leftovers.yml")

    @property
    def mpi(self) -> dict[str, t.Any]:
        """Return what is built of Open MPI and UCX, and which UCX is for which ROCm."""
        return self._load(self.directory / "mpi.yml")

    def deepspeed(self, name: str) -> dict[str, t.Any]:
        """Return a table about DeepSpeed: "pairs", "keys" or "advice"."""
        return self._load(self.directory / "deepspeed" / f"{name}.yml")

    @property
    def profile_options(self) -> dict[str, dict[str, t.Any]]:
        """Return the shared options of a profile, in the form of argument_specs."""
        options: dict[str, dict[str, t.Any]] = self._load(self.directory / "profile.yml")["options"]
        return options


@functools.cache
def default_catalog() -> Catalog:
    """Return the collection's own catalog, read once a process."""
    return Catalog()
