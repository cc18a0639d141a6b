# SPDX-License-Identifier: Apache-2.0
"""Judge a name for a ROCm release: read, read once, not read yet, or a slip of somebody's pen."""

from __future__ import annotations

import dataclasses
import functools

from ansible_collections.instinct.bringup.plugins.plugin_utils.env import model, registry
from ansible_collections.instinct.bringup.plugins.plugin_utils.env.nearest import Nearest, edits
from ansible_collections.instinct.bringup.plugins.plugin_utils.env.registry import (
    Component,
    Registry,
    State,
    default_registry,
)

# RCCL took NCCL's names; people give them RCCL's own prefix, and the other way round.
_TWINS = {"RCCL_": "NCCL_", "NCCL_": "RCCL_"}
# AMD has no such prefix: another vendor's collective library.
_FOREIGN = {"HCCL_": "HCCL_ is the prefix of another vendor's library; nothing of ROCm reads it"}
# Below this a prefix has too many neighbours: HAS_, ZIP_ and DOC_ are one letter from ours.
_NEAR_PREFIX = 5


@dataclasses.dataclass(frozen=True)
class NameVerdict:
    """What is to be said of a name. state: how it is read, None where it is not."""

    verdict: str
    message: str
    use_instead: str = ""
    state: State | None = None


def shown_default(state: State) -> str:
    """Return a default for people: -2 is RCCL's mark for what its code decides."""
    return "decided in code" if state.default == "-2" else state.default or ""


class Names:
    """Judges names for one release."""

    def __init__(self, known: Registry, release: str) -> None:
        """Take the registry and a release.

        :raises ValueError: the release is no number with dots.
        """
        registry.version_key(release)
        self.registry = known
        self.release = release
        self._cache: dict[str, NameVerdict | None] = {}

    def judge(self, name: str) -> NameVerdict | None:
        """Return the verdict on a name, None for one that has nothing to do with ROCm."""
        if name not in self._cache:
            self._cache[name] = self._judge(name)
        return self._cache[name]

    def _judge(self, name: str) -> NameVerdict | None:
        states = self.registry.states(name, self.release)
        if states:
            return self._of_state(name, states[0])
        if name in self.registry.dead:
            return self._dead(name)
        owner = self._owner(name)
        beyond = owner is not None and owner.closed and not self.registry.knows(owner, self.release)
        twin = self._twin(name)
        if twin:
            return NameVerdict(model.UNREAD, f"nothing reads {name} in ROCm {self.release}; {twin} is read", twin)
        meant = self._nearest.find(name)
        if meant and not beyond:
            return NameVerdict(model.TYPO, f"nothing reads {name}; {meant} is the name that is nearest", meant)
        for prefix, text in _FOREIGN.items():
            if name.startswith(prefix):
                return NameVerdict(model.UNREAD, text)
        if owner is not None:
            return self._of_prefix(name, owner, beyond)
        near = self._near_prefix(name)
        if near:
            return NameVerdict(model.UNKNOWN, f"nothing of ROCm has this prefix; {near} has one like it")
        return None

    def _of_state(self, name: str, state: State) -> NameVerdict:
        variable, release = state.variable, self.release
        title, note = variable.component.title, f" {variable.note}" if variable.note else ""
        first, last = (state.versions or ("",))[0], (state.versions or ("",))[-1]
        instead = variable.use_instead
        if state.kind == registry.READ:
            default = f" Default: {shown_default(state)}." if state.default else ""
            does = f" {variable.does}" if variable.does else ""
            return NameVerdict(model.OK, f"{title} reads it.{does}{default}{note}", "", state)
        if state.kind == registry.BUILD:
            text = f"read by {title} only; a job that runs does not look at it. {variable.does}{note}"
            return NameVerdict(model.BUILD_TIME_ONLY, text)
        if state.kind == registry.UNKNOWN:
            seen = f"; it was read from {first} to {last}" if state.versions else ""
            text = f"unknown for this release: {title} was not read for ROCm {release}{seen}"
            return NameVerdict(model.UNKNOWN, text)
        if state.kind in (registry.UNUSED, registry.DEBUG):
            return NameVerdict(model.UNREAD, f"{title} has the name. {variable.does}{note}", instead)
        if state.kind == registry.NOT_BUILT:
            return NameVerdict(
                model.UNREAD, f"{title} has it in a file that is not compiled in {release}.{note}", instead
            )
        if state.kind == registry.GONE:
            text = f"{title} read it up to {last}; in ROCm {release} it has no effect. {variable.does}{note}"
            return NameVerdict(model.OBSOLETE, text, instead)
        return NameVerdict(model.NOT_YET, f"{title} reads it from {first} on, not in ROCm {release}.{note}", instead)

    def _dead(self, name: str) -> NameVerdict:
        entry = self.registry.dead[name]
        instead, note = entry.get("use_instead", ""), f" {entry['note']}" if entry.get("note") else ""
        owner = self._owner(name)
        if owner is not None and not self.registry.knows(owner, self.release):
            text = (
                f"unknown for this release: nothing read it in any release that was looked at, {self.release} was not"
            )
            return NameVerdict(model.UNKNOWN, text + (f"; {instead} was the name" if instead else ""))
        meant = f"; {instead} is the name" if instead else ""
        return NameVerdict(model.UNREAD, f"nothing reads it{meant}.{note}", instead)

    def _of_prefix(self, name: str, owner: Component, beyond: bool) -> NameVerdict:
        if beyond:
            text = f"unknown for this release: {owner.title} was not read for ROCm {self.release}"
            return NameVerdict(model.UNKNOWN, text)
        if owner.closed:
            return NameVerdict(model.UNREAD, f"nothing reads it: {owner.title} has no such name in ROCm {self.release}")
        return NameVerdict(model.UNKNOWN, f"not among the names of {owner.title} that are known here; it may read it")

    def _owner(self, name: str) -> Component | None:
        """Return the component whose prefix a name has, the longest that fits."""
        fitting = [
            (len(prefix), component)
            for component in self.registry.components.values()
            for prefix in component.prefixes
            if name.startswith(prefix)
        ]
        return max(fitting, key=lambda pair: pair[0])[1] if fitting else None

    def _twin(self, name: str) -> str:
        prefix, _underscore, rest = name.partition("_")
        twin = _TWINS.get(prefix + "_", "") + rest
        return twin if twin != rest and self.registry.is_read(twin, self.release) else ""

    @functools.cached_property
    def _nearest(self) -> Nearest:
        """Look among the names that do something in this release."""
        useful = (registry.READ, registry.BUILD)
        return Nearest(
            name for name in self.registry.variables if self.registry.states(name, self.release)[0].kind in useful
        )

    def _near_prefix(self, name: str) -> str:
        head = name.partition("_")[0] + "_"
        for component in self.registry.components.values():
            for prefix in component.prefixes if component.closed else ():
                if len(prefix) >= _NEAR_PREFIX and head != name + "_" and edits(head, prefix, 1) is not None:
                    return component.title
        return ""


@functools.cache
def names_of(release: str) -> Names:
    """Return the judge of a release by the collection's registry, made once a process: a fleet asks the same names.

    :raises ValueError: as Names.
    """
    return Names(default_registry(), release)
