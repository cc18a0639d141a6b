# SPDX-License-Identifier: Apache-2.0
"""Make the environment of a node's jobs: a profile of catalog/env_profiles.yml and the site's own additions."""

from __future__ import annotations

import collections.abc as c
import dataclasses
import functools
import re
import typing as t

import yaml

from ansible_collections.instinct.bringup.plugins.plugin_utils.catalog import CATALOG_DIR, LOADER
from ansible_collections.instinct.bringup.plugins.plugin_utils.env import model, registry
from ansible_collections.instinct.bringup.plugins.plugin_utils.env.facts import VALUE, NodeFacts
from ansible_collections.instinct.bringup.plugins.plugin_utils.env.lint import Linter
from ansible_collections.instinct.bringup.plugins.plugin_utils.env.model import Assignment, Finding, Parsed
from ansible_collections.instinct.bringup.plugins.plugin_utils.env.names import Names, names_of, shown_default
from ansible_collections.instinct.bringup.plugins.plugin_utils.env.visible import VISIBLE

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ALLOWED = "letters, digits and _./:,^=+@%-, which every program that reads the five files takes alike"


class ProfileError(ValueError):
    """Say which variable cannot be rendered, what was given and what to write instead."""


@dataclasses.dataclass(frozen=True)
class EnvVariable:
    """One variable. why: why it has this value here. replaces: names of recipes that meant this one."""

    name: str
    value: str
    why: str
    does: str = ""
    default: str = ""
    replaces: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class EnvProfile:
    """The variables of one node, sorted by name. unset: name to why it is not among them. notes: for the plan."""

    name: str
    purpose: str
    release: str
    rccl: str
    gpu: str
    variables: tuple[EnvVariable, ...]
    unset: c.Mapping[str, str]
    notes: tuple[str, ...] = ()

    @property
    def values(self) -> dict[str, str]:
        """Return name to value."""
        return {variable.name: variable.value for variable in self.variables}


@dataclasses.dataclass(frozen=True)
class Target:
    """What a profile is made for. release, gpu: entries of the catalog."""

    release: c.Mapping[str, t.Any]
    gpu: c.Mapping[str, t.Any]
    facts: NodeFacts

    @functools.cached_property
    def names(self) -> Names:
        """Return the judge of names of this release."""
        return names_of(str(self.release["release"]))


def make_profile(
    name: str, target: Target, additions: c.Mapping[str, t.Any] | None = None, allow_unread: bool = False
) -> EnvProfile:
    """Return a profile for one node.

    additions: the site's own, name to value. allow_unread: take names that nothing reads, with a note.

    :raises ProfileError: no such profile, one that is not for this node, or an addition that does not do
        what it looks like.
    """
    profiles = _data()["profiles"]
    if name not in profiles:
        raise ProfileError(f"rccl_profile {name!r} is not known; there are {', '.join(profiles)}")
    requires = profiles[name].get("requires")
    if requires and target.facts.holds(requires) is False:
        raise ProfileError(f"rccl_profile {name} is for nodes that are {requires}, and every card here is in a hive")
    variables, unset = {}, {}
    for variable, entry in _entries(name).items():
        reason = _left_out(variable, entry, target)
        if reason is None:
            value = entry["value"].format(**target.facts.fill)
            if not VALUE.fullmatch(value):
                raise ProfileError(f"{variable} would be {value!r}, which is empty or holds other than {_ALLOWED}")
            variables[variable] = _variable(variable, value, entry["why"], target)
        elif reason:
            unset[variable] = reason
    added = _additions(additions or {}, target)
    notes = _lint_additions(added, variables, target, allow_unread)
    variables.update(added)
    for recipe in _data()["recipe"]:
        verdict = target.names.judge(recipe)
        if recipe not in variables and recipe not in unset and verdict is not None:
            unset[recipe] = verdict.message
    shown = {replaced for variable in variables.values() for replaced in variable.replaces}
    return EnvProfile(
        name=name,
        purpose=profiles[name]["purpose"],
        release=target.release["release"],
        rccl=target.release["rccl"],
        gpu=target.gpu["title"],
        variables=tuple(variables[variable] for variable in sorted(variables)),
        unset={variable: why for variable, why in unset.items() if variable not in shown | set(variables)},
        notes=tuple(notes),
    )


def profile_names() -> list[str]:
    """Return the names of all profiles."""
    return list(_data()["profiles"])


def _entries(name: str) -> dict[str, dict[str, t.Any]]:
    """Return a profile's variables with those of the profiles that it extends."""
    profile = _data()["profiles"][name]
    inherited = _entries(profile["extends"]) if "extends" in profile else {}
    return {**inherited, **profile["variables"]}


def _left_out(name: str, entry: c.Mapping[str, t.Any], target: Target) -> str | None:
    """Return why a variable of the catalog is not set here, None where it is, empty where nobody asks."""
    if "gfx" in entry and target.gpu["gfx"] not in entry["gfx"]:
        return ""
    release = registry.version_key(target.release["release"])
    if "from" in entry and release < registry.version_key(entry["from"]):
        return ""
    if "where" in entry and not target.facts.holds(entry["where"]):
        unknown = target.facts.holds(entry["where"]) is None
        return "The wiring of this node could not be looked at." if unknown else str(entry.get("absent", ""))
    verdict = target.names.judge(name)
    if verdict is None or (verdict.verdict != model.OK and "evidence" not in entry):
        return verdict.message if verdict is not None else "nothing is known of it"
    return None


def _variable(name: str, value: str, why: str, target: Target) -> EnvVariable:
    verdict = target.names.judge(name)
    state = verdict.state if verdict is not None else None
    replaces = tuple(dead for dead, entry in target.names.registry.dead.items() if entry.get("use_instead") == name)
    if state is None:
        return EnvVariable(name, value, why, replaces=replaces)
    return EnvVariable(name, value, why, state.variable.does, shown_default(state), replaces)


def _additions(given: c.Mapping[str, t.Any], target: Target) -> dict[str, EnvVariable]:
    added = {}
    for name, value in given.items():
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise ProfileError(f"rccl_extra_env: {name!r} is no name of a variable")
        if name in VISIBLE:
            raise ProfileError(
                f"rccl_extra_env: {name} would choose the GPUs of every job on the node; set it in the job"
            )
        text = str(int(value)) if isinstance(value, bool) else str(value)
        if not VALUE.fullmatch(text):
            raise ProfileError(f"rccl_extra_env: {name}: {text!r} is empty or holds other characters than {_ALLOWED}")
        added[name] = _variable(name, text, "The site's own value (rccl_extra_env).", target)
    return added


def _lint_additions(
    added: c.Mapping[str, EnvVariable], own: c.Mapping[str, EnvVariable], target: Target, allow_unread: bool
) -> list[str]:
    """Refuse what cannot do what it looks like, and return notes on what is odd.

    What only the node's devices speak against is a note: they may come with a driver of this very run.
    """
    both = {**own, **added}
    parsed = Parsed("site", tuple(Assignment(name, entry.value, 0) for name, entry in both.items()))
    release = target.release["release"]
    by_form = Linter(release, target.gpu).parsed(parsed).findings
    refused = [finding for finding in by_form if finding.name in added and _is_refused(finding, allow_unread)]
    if refused:
        raise ProfileError("; ".join(f"rccl_extra_env: {_told(finding)}" for finding in refused))
    told = {finding.name for finding in by_form if finding.verdict != model.OK}
    on_node = Linter(release, target.gpu, target.facts.host).parsed(parsed).findings
    return [
        f"environment: {_told(finding)}"
        for finding in on_node
        if finding.verdict != model.OK and (finding.name in added or finding.name not in told)
    ]


def _is_refused(finding: Finding, allow_unread: bool) -> bool:
    if finding.verdict in model.NO_EFFECT:
        return not allow_unread
    return finding.verdict in (model.BAD_VALUE, model.CONFLICT)


def _told(finding: Finding) -> str:
    instead = f" Use {finding.use_instead}." if finding.use_instead else ""
    return f"{finding.name} ({finding.verdict}): {finding.message}{instead}"


@functools.cache
def _data() -> dict[str, t.Any]:
    with (CATALOG_DIR / "env_profiles.yml").open(encoding="utf-8") as stream:
        data: dict[str, t.Any] = yaml.load(stream, Loader=LOADER)
    return data
