# SPDX-License-Identifier: Apache-2.0
"""Hold what a site wants of a node: one flat set of validated options.

The options are those of catalog/profile.yml and of every role's argument_specs. A role that is
not entered validates nothing, so the plan validates all of them here.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import functools
import pathlib
import typing as t

import yaml
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ansible_collections.instinct.bringup.plugins.plugin_utils.catalog import LOADER, Catalog

ROLES_DIR = pathlib.Path(__file__).resolve().parents[2] / "roles"
OptionSpecs = dict[str, dict[str, t.Any]]


@dataclasses.dataclass(frozen=True)
class Profile(collections.abc.Mapping[str, t.Any]):
    """Give the options of one host, every one with a value or None.

    problems: sentences about values that cannot be used; a profile with problems makes no plan.
    """

    options: t.Mapping[str, t.Any]
    problems: tuple[str, ...] = ()

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
    problems = [problem for name in options if (problem := _text_problem(name, options[name], values[name]))]
    if problems:
        return Profile(values, tuple(problems))
    result = ArgumentSpecValidator(
        {
            name: {key: spec[key] for key in ("type", "choices", "elements") if key in spec}
            for name, spec in options.items()
        }
    ).validate({name: value for name, value in values.items() if value is not None})
    return Profile({**values, **result.validated_parameters}, tuple(result.error_messages))


def _text_problem(name: str, spec: dict[str, t.Any], value: t.Any) -> str | None:
    """Say what YAML made of a text that was not quoted: 6.10 becomes the number 6.1."""
    if spec["type"] not in ("str", "path") or value is None or isinstance(value, str):
        return None
    kind = "a number" if isinstance(value, (int, float)) and not isinstance(value, bool) else type(value).__name__
    return (
        f"{name} is {value!r}, {kind}, but must be text. YAML reads an unquoted 6.10 as 6.1; "
        f'write it in quotes, for example {name}: "{spec.get("default") or "5.4.2"}"'
    )
