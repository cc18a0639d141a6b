# SPDX-License-Identifier: Apache-2.0
"""Say for a name and a ROCm release whether anything reads it.

The registry is catalog/variables: what was read in the sources at some versions. A release between
two of them that agree is taken to agree; one in the same series as a version that was read
(5.7.1 and 5.7.0) is taken to be like it; beyond the last version nothing is known.
"""

from __future__ import annotations

import bisect
import collections.abc as c
import dataclasses
import functools
import pathlib
import typing as t

import yaml

from ansible_collections.instinct.bringup.plugins.plugin_utils.catalog import (
    CATALOG_DIR,
    LOADER,
    default_catalog,
    release_key,
)

# RCCL's source of October 2024 has no release number; it is newer than 6.2 and older than 6.3.
DEVELOP = "develop"

READ = "read"
BUILD = "build"
UNUSED = "unused"
DEBUG = "debug"
NOT_BUILT = "not built"
NOT_YET = "not yet"
GONE = "gone"
UNKNOWN = "unknown"


@dataclasses.dataclass(frozen=True)
class Component:
    """A program that reads variables. closed: every name of its prefixes is in the registry."""

    id: str
    title: str
    versions: str
    read_at: tuple[str, ...]
    prefixes: tuple[str, ...]
    closed: bool
    source: str

    @functools.cached_property
    def keys(self) -> list[tuple[int, ...]]:
        """Return the versions that were read, as integers, oldest first."""
        return [version_key(version) for version in self.read_at]


@dataclasses.dataclass(frozen=True)
class Variable:
    """A name as one component reads it. history: version to default, None where it is not read."""

    name: str
    component: Component
    kind: str
    form: str
    legal: str
    history: c.Mapping[str, str | None] | str
    does: str
    use_instead: str
    note: str
    source: str
    gfx: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class State:
    """What a component does with a name in one release. default: only where it is read."""

    kind: str
    variable: Variable
    default: str | None = None
    versions: tuple[str, ...] = ()


def version_key(version: str) -> tuple[int, ...]:
    """Return a version as integers; "develop" lies between 6.2 and 6.3.

    :raises ValueError: it is neither numbers with dots nor "develop".
    """
    return (6, 2, 99) if version == DEVELOP else release_key(version)


class Registry:
    """Holds every known variable.

    torch: ROCm release to PyTorch's version there, for what PyTorch reads.
    """

    def __init__(self, directory: pathlib.Path, torch: c.Mapping[str, str]) -> None:
        self.components: dict[str, Component] = {}
        self.variables: dict[str, list[Variable]] = {}
        self.dead: dict[str, dict[str, str]] = {}
        self._torch = torch
        for path in sorted(directory.glob("*.yml")):
            data = yaml.load(path.read_text(encoding="utf-8"), Loader=LOADER)
            if path.stem == "dead":
                self.dead = data["variables"]
            else:
                self._add(data)

    def _add(self, data: dict[str, t.Any]) -> None:
        component = Component(
            id=data["component"],
            title=data["title"],
            versions=data["versions"],
            read_at=tuple(data["read_at"]),
            prefixes=tuple(data["prefixes"]),
            closed=data["closed"],
            source=data["source"],
        )
        self.components[component.id] = component
        for name, entry in data["variables"].items():
            texts = {key: entry.get(key, "") for key in ("legal", "does", "use_instead", "note", "source")}
            variable = Variable(
                name=name,
                component=component,
                kind=entry["kind"],
                form=entry["form"],
                history=entry["history"],
                gfx=tuple(entry.get("gfx", ())),
                **texts,
            )
            self.variables.setdefault(name, []).append(variable)

    def states(self, name: str, release: str) -> list[State]:
        """Return what each component that knows a name does with it, the one that reads it first."""
        found = [self._state(variable, release) for variable in self.variables.get(name, ())]
        order = (READ, BUILD, UNKNOWN, UNUSED, DEBUG, NOT_BUILT, GONE, NOT_YET)
        return sorted(found, key=lambda state: order.index(state.kind))

    def torch(self, release: str) -> str | None:
        """Return the version of PyTorch that goes with a ROCm release, None where the catalog has none."""
        return self._torch.get(release)

    def is_read(self, name: str, release: str) -> bool:
        """Say whether something reads a name in a release, while it runs."""
        return any(state.kind == READ for state in self.states(name, release))

    def knows(self, component: Component, release: str) -> bool:
        """Say whether a component's source was read at a release, or near enough to it."""
        version = self._version(component, release)
        return not component.read_at or (version is not None and bool(_near(component, version)))

    def _version(self, component: Component, release: str) -> str | None:
        return self._torch.get(release) if component.versions == "torch" else release

    def _state(self, variable: Variable, release: str) -> State:
        component = variable.component
        if variable.kind == BUILD:
            return State(BUILD, variable, None)
        if isinstance(variable.history, str):
            return State(READ, variable, variable.history)
        version = self._version(component, release)
        near = _near(component, version) if version is not None else ()
        read = [at for at in component.read_at if _is_read(_value(variable, at))]
        values = [_value(variable, at) for at in near]
        if not values or "?" in values or len({_is_read(value) for value in values}) > 1:
            return State(UNKNOWN, variable, versions=tuple(read))
        if variable.kind in (UNUSED, DEBUG):
            return State(variable.kind, variable)
        if _is_read(values[0]):
            return State(READ, variable, values[0], tuple(read))
        before = [at for at in read if version_key(at) < version_key(near[0])]
        after = [at for at in read if version_key(at) > version_key(near[0])]
        if before:
            return State(GONE, variable, versions=tuple(before))
        if values[0] is not None:
            return State(NOT_BUILT, variable, versions=tuple(after))
        return State(NOT_YET, variable, versions=tuple(after))


def is_read_at(variable: Variable, version: str) -> bool:
    """Say whether a name is read at one of the versions that were looked at."""
    return _is_read(_value(variable, version))


def _is_read(value: str | None) -> bool:
    return value is not None and not value.startswith("~") and value != "?"


def _value(variable: Variable, version: str) -> str | None:
    """Return a variable's default at a version that was read."""
    value = None
    for since, default in t.cast("c.Mapping[str, str | None]", variable.history).items():
        if version_key(since) <= version_key(version):
            value = default
    return value


def _near(component: Component, version: str) -> tuple[str, ...]:
    """Return the version that stands for another, or the two around it, or none beyond what was read."""
    key, keys = version_key(version), component.keys
    place = bisect.bisect_right(keys, key)
    if place and keys[place - 1][:2] == key[:2]:
        return (component.read_at[place - 1],)
    if place == 0:
        return (component.read_at[0],) if keys[0][:2] == key[:2] else ()
    return (component.read_at[place - 1], component.read_at[place]) if place < len(keys) else ()


@functools.cache
def default_registry() -> Registry:
    """Return the collection's own registry, read once a process."""
    torch, catalog = {}, default_catalog()
    for release in catalog.releases:
        packages = (catalog.release(release).get("torch") or {}).get("packages")
        if packages:
            torch[release] = str(packages["torch"]).partition("+")[0]
    return Registry(CATALOG_DIR / "variables", torch)
