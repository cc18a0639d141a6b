# SPDX-License-Identifier: Apache-2.0
"""Know which keys a version of DeepSpeed reads, of what kind, and what it does with any other."""

from __future__ import annotations

import functools
import typing as t

from ansible_collections.instinct.bringup.plugins.plugin_utils.catalog import Catalog, release_key
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.errors import ConfigError
from ansible_collections.instinct.bringup.plugins.plugin_utils.env.nearest import Nearest

Path = tuple[str, ...]

ABSENT = "-"
GONE = "removed"
# Two versions that were read disagree, and the one in question lies between them.
NOT_KNOWN = "not known"
IGNORED = "ignored"
REJECTED = "rejected"
OPEN = "open"
# A key that more sections than this have, such as "enabled", tells nothing about where it belongs.
MOST_HOMES = 3


class Schema:
    """Answer for one version. A section is a tuple of keys, () is the top."""

    def __init__(self, version: str, catalog: Catalog) -> None:
        """Take the catalog's tables.

        :raises ConfigError: the version is none of those that the tables know.
        """
        table = catalog.deepspeed("keys")
        known = [str(read) for read in table["read_at"]]
        try:
            self._key = release_key(version)
        except ValueError:
            raise ConfigError(f'{version!r} is no version of DeepSpeed; it is three numbers, such as "0.9.3"') from None
        newest = release_key(known[-1])
        # A later patch of the newest is taken to be like it.
        if self._key < release_key(known[0]) or self._key[:2] > newest[:2]:
            raise ConfigError(
                f"DeepSpeed {version} is not in the catalog, which knows {known[0]} to {known[-1]}; set another "
                "deepspeed_version, or read that version with tools/deepspeed_keys.py"
            )
        self.version = version
        self._known = [release_key(read) for read in known]
        self._sections: dict[Path, t.Any] = {
            tuple(name.split(".")) if name else (): section for name, section in table["sections"].items()
        }
        advice = catalog.deepspeed("advice")
        self.advice: dict[str, dict[str, str]] = advice["advice"]
        self.trainer: frozenset[str] = frozenset(advice["trainer"])
        self._handed_on: dict[Path, dict[str, str]] = {
            tuple(name.split(".")): keys for name, keys in advice["sections"].items()
        }

    @property
    def truncates(self) -> bool:
        """Say whether its pydantic is the first, which takes 5.5 as 5."""
        return self._key < (0, 15)

    def extra(self, section: Path) -> str:
        """Return what becomes of an unknown key in a section: ignored, rejected, or open, which nobody judges."""
        found = self._at(self._sections[section]["extra"]) if section in self._sections else OPEN
        return OPEN if found in (ABSENT, NOT_KNOWN) else found

    def kind(self, section: Path, key: str) -> str:
        """Return the kind of a key's value, or ABSENT, GONE or NOT_KNOWN."""
        if section in self._handed_on:
            return self._handed_on[section].get(key, ABSENT)
        history = self._sections.get(section, {}).get("keys", {}).get(key)
        return self._at(history) if history else ABSENT

    def since(self, section: Path, key: str) -> str | None:
        """Return the first version that reads a key which this one does not read yet, None where there is none."""
        history = self._sections.get(section, {}).get("keys", {}).get(key, {})
        later = [at for at, kind in history.items() if release_key(at) > self._key and kind not in (ABSENT, GONE)]
        return later[0] if later else None

    def until(self, section: Path, key: str) -> str | None:
        """Return the first version read that no longer reads a key which an older one did, None if there is none."""
        history = self._sections.get(section, {}).get("keys", {}).get(key, {})
        gone = [at for at, kind in history.items() if release_key(at) <= self._key and kind in (ABSENT, GONE)]
        was = any(kind not in (ABSENT, GONE) for at, kind in history.items() if release_key(at) <= self._key)
        return gone[-1] if gone and was else None

    def deprecated(self, section: Path, key: str) -> str | None:
        """Return what to use instead of a deprecated key, "" where nothing takes its place, None if it is not one."""
        history = self._sections.get(section, {}).get("deprecated", {}).get(key)
        found = self._at(history) if history else ABSENT
        return None if found in (ABSENT, NOT_KNOWN) else found

    def homes(self, key: str) -> list[Path]:
        """Return the sections that have a key, none where so many have it that it tells nothing."""
        found = [section for section in (*self._sections, *self._handed_on) if self._reads(section, key)]
        return found if len(found) <= MOST_HOMES else []

    def nearest(self, section: Path, key: str) -> str | None:
        """Return the key of a section that was probably meant."""
        return self._nearest_in(section).find(key)

    def nearest_anywhere(self, key: str) -> tuple[Path, str] | None:
        """Return the section and the key that were probably meant, None where they are not one place."""
        near = self._nearest_of_all.find(key)
        homes = self.homes(near) if near else []
        return (homes[0], near) if near and len(homes) == 1 else None

    def _reads(self, section: Path, key: str) -> bool:
        return self.kind(section, key) not in (ABSENT, GONE, NOT_KNOWN)

    @functools.cached_property
    def _near(self) -> dict[Path, Nearest]:
        return {}

    def _nearest_in(self, section: Path) -> Nearest:
        if section not in self._near:
            self._near[section] = Nearest(key for key in self._names(section) if self._reads(section, key))
        return self._near[section]

    @functools.cached_property
    def _nearest_of_all(self) -> Nearest:
        sections = (*self._sections, *self._handed_on)
        return Nearest({key for section in sections for key in self._names(section) if self._reads(section, key)})

    def _names(self, section: Path) -> t.Iterable[str]:
        return (*self._sections.get(section, {}).get("keys", {}), *self._handed_on.get(section, {}))

    def _at(self, history: t.Mapping[str, str]) -> str:
        """Return the entry of a history that holds for this version."""
        before = [value for at, value in history.items() if release_key(at) <= self._key]
        value = before[-1] if before else ABSENT
        if self._key in self._known or self._key > self._known[-1]:
            return value
        after = next(read for read in self._known if read > self._key)
        changed = [value for at, value in history.items() if release_key(at) == after]
        # Only whether it is read at all makes a difference; what differs in kind is judged by the older.
        if changed and ({changed[0], value} & {ABSENT, GONE, IGNORED, REJECTED, OPEN}):
            return NOT_KNOWN
        return value


@functools.cache
def schema_of(version: str, catalog: Catalog) -> Schema:
    """Return the schema of a version, made once a process.

    :raises ConfigError: the catalog does not know the version.
    """
    return Schema(version, catalog)
