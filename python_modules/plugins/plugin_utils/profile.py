# SPDX-License-Identifier: Apache-2.0
"""Hold what a site wants of a node: one flat set of validated options.

The options are those of catalog/profile.yml and of every role's argument_specs. A role that is
not entered validates nothing, so the plan validates all of them here.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import difflib
import functools
import math
import pathlib
import typing as t

import yaml
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ansible_collections.instinct.bringup.plugins.plugin_utils.catalog import LOADER, Catalog

ROLES_DIR = pathlib.Path(__file__).resolve().parents[2] / "roles"
# How alike two names must be for one to be the other misspelled (difflib's ratio).
NEAR = 0.85
OptionSpecs = dict[str, dict[str, t.Any]]


class Problem(t.NamedTuple):
    """Say of one option what was given and what it takes."""

    option: str
    seen: str
    wanted: str


@dataclasses.dataclass(frozen=True)
class Profile(collections.abc.Mapping[str, t.Any]):
    """Give the options of one host, every one with a value or None.

    problems: what cannot be used; a profile with problems makes no plan.
    """

    options: t.Mapping[str, t.Any]
    problems: tuple[Problem, ...] = ()

    def __getitem__(self, name: str) -> t.Any:
        return self.options[name]

    def __iter__(self) -> t.Iterator[str]:
        return iter(self.options)

    def __len__(self) -> int:
        return len(self.options)


@functools.cache
def role_options(role: str, roles_dir: pathlib.Path = ROLES_DIR) -> OptionSpecs:
    """Return a role's options by name, without those that the plan itself passes."""
    text = (roles_dir / role / "meta" / "argument_specs.yml").read_text(encoding="utf-8")
    options = yaml.load(text, Loader=LOADER)["argument_specs"]["main"]["options"]
    return {name: spec for name, spec in options.items() if not spec.get("required")}


def all_options(catalog: Catalog, roles_dir: pathlib.Path = ROLES_DIR) -> OptionSpecs:
    """Return every option that a profile may hold, by name."""
    options = dict(catalog.profile_options)
    for path in sorted(roles_dir.iterdir()):
        if (path / "meta" / "argument_specs.yml").is_file():
            options.update(role_options(path.name, roles_dir))
    return options


def build_profile(options: OptionSpecs, given: t.Mapping[str, t.Any]) -> Profile:
    """Return the profile that the given values and the options' defaults make."""
    values = {name: given.get(name, spec.get("default")) for name, spec in options.items()}
    problems = []
    for name, spec in options.items():
        problem = _text_problem(name, spec, values[name]) or _null_problem(name, spec, values[name])
        if problem is None and values[name] is not None:
            values[name], problem = _validated(name, spec, values[name])
        if problem is not None:
            problems.append(problem)
    return Profile(values, tuple(problems))


def unknown_names(options: OptionSpecs, given: t.Iterable[str]) -> list[tuple[str, str]]:
    """Return the names that are nearly an option's, each with that option: nothing reads a misspelled one."""
    prefixes = {name.partition("_")[0] for name in options}
    # Only names that begin as options do: comparing every variable of a host would cost more than its plan.
    strangers = sorted(name for name in set(given) - set(options) if name.partition("_")[0] in prefixes)
    near = {name: difflib.get_close_matches(name, options, n=1, cutoff=NEAR) for name in strangers}
    return [(name, matches[0]) for name, matches in near.items() if matches]


def _validated(name: str, spec: dict[str, t.Any], value: t.Any) -> tuple[t.Any, Problem | None]:
    """Return a value as its type reads it, or what is wrong with it."""
    checked = {key: spec[key] for key in ("type", "choices", "elements") if key in spec}
    # Ansible takes true as 1, and stops at .inf without a word of the option.
    odd = spec["type"] == "int" and (isinstance(value, bool) or (isinstance(value, float) and not math.isfinite(value)))
    result = None if odd else ArgumentSpecValidator({name: checked}).validate({name: value})
    if result is not None and not result.error_messages:
        return result.validated_parameters[name], None
    kinds = {"int": "a whole number", "bool": "true or false", "list": "a list", "dict": "a mapping"}
    choices = ", ".join(str(choice) for choice in spec.get("choices", []))
    wanted = f"one of {choices}" if choices else kinds.get(spec["type"], spec["type"])
    return value, Problem(name, f"{name} is {value!r}", wanted)


def _null_problem(name: str, spec: dict[str, t.Any], value: t.Any) -> Problem | None:
    """Say that a name stands without a value, which YAML makes null: neither the default nor anything else."""
    if value is not None or spec.get("default") is None:
        return None
    return Problem(name, f"{name} is null", f"a value; left out it is {spec['default']!r}")


def _text_problem(name: str, spec: dict[str, t.Any], value: t.Any) -> Problem | None:
    """Say what YAML made of a text that was not quoted: 6.10 becomes the number 6.1."""
    if spec["type"] not in ("str", "path") or value is None or isinstance(value, str):
        return None
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    seen = f"{name} is {value!r}, {'a number' if is_number else type(value).__name__}"
    example = f'{name}: "{spec.get("default") or "5.4.2"}"'
    return Problem(name, seen, f"text in quotes, such as {example}; YAML reads an unquoted 6.10 as 6.1")
