# SPDX-License-Identifier: Apache-2.0
"""Make the environment of RCCL jobs: a profile of catalog/env_profiles.yml for one node."""

from __future__ import annotations

import dataclasses
import functools
import re
import shlex
import textwrap
import typing as t

import yaml

from ansible_collections.instinct.bringup.plugins.plugin_utils.catalog import CATALOG_DIR

_NAME = re.compile(r"[A-Z_][A-Z0-9_]*")
_INTEGER = re.compile(r"[1-9][0-9]*")
# RCCL reads a number as C does and stops at the first letter: 4M is 4 to it.
_WITH_UNIT = re.compile(r"[0-9]+ ?[kKmMgG]i?[bB]?")
_WIDTH = 100


class ProfileError(ValueError):
    """Say which variable cannot be rendered, what was given and what to write instead."""


@dataclasses.dataclass(frozen=True)
class EnvVariable:
    """Hold one variable. read_by: rccl, rocr or other. replaces: names of recipes that meant this one."""

    name: str
    value: str
    why: str
    default: str
    replaces: tuple[str, ...]
    read_by: str


@dataclasses.dataclass(frozen=True)
class EnvProfile:
    """Hold the variables of one node, sorted by name. unset: name to why it is not among them."""

    name: str
    release: str
    rccl: str
    gpu: str
    variables: tuple[EnvVariable, ...]
    unset: t.Mapping[str, str]

    def value(self, name: str) -> str | None:
        """Return a variable's value, or None where the profile does not set it."""
        return next((variable.value for variable in self.variables if variable.name == name), None)


def render_profile(
    profile_name: str,
    release: t.Mapping[str, t.Any],
    gpu: t.Mapping[str, t.Any],
    snapshot: t.Mapping[str, t.Any],
    options: t.Mapping[str, t.Any],
    topology_file: str | None = None,
) -> EnvProfile:
    """Return a profile for one node.

    release, gpu: entries of the catalog. options: the role's rccl_socket_ifname and rccl_extra_env.
    topology_file: path of the node's rendered topology, None where there is none.

    :raises ProfileError: no such profile, or an addition of the site's that does not do what it looks like.
    """
    data = _data()
    if profile_name not in data["profiles"]:
        raise ProfileError(f"rccl_profile {profile_name!r} is not known; there are {', '.join(data['profiles'])}")
    holds = {"topology_file": topology_file is not None, "unbridged": has_unbridged_gpu(snapshot)}
    fill = {"socket_ifname": options["rccl_socket_ifname"], "topology_file": topology_file}
    variables = {}
    unset = dict(data["recipe"])
    for name, value in data["profiles"][profile_name].items():
        entry = data["variables"][name]
        if holds.get(entry.get("where", ""), True):
            checked = _checked(name, value.format(**fill))
            texts = (entry["why"], entry["default"], tuple(entry["replaces"]), entry["read_by"])
            variables[name] = EnvVariable(name, checked, *texts)
        elif "absent" in entry:
            unset[name] = entry["absent"]
    for name, value in (options.get("rccl_extra_env") or {}).items():
        variables[name] = _site_variable(name, value, data)
    return EnvProfile(
        name=profile_name,
        release=release["release"],
        rccl=release["rccl"],
        gpu=gpu["title"],
        variables=tuple(variables[name] for name in sorted(variables)),
        unset={name: why for name, why in unset.items() if name not in variables},
    )


def has_unbridged_gpu(snapshot: t.Mapping[str, t.Any]) -> bool:
    """Return whether KFD shows a GPU outside of any XGMI hive (hive_id 0), as the runtime asks it."""
    nodes = (snapshot.get("kfd") or {}).get("nodes") or ()
    return any(node.get("bdf") and (node.get("properties") or {}).get("hive_id") == 0 for node in nodes)


def as_profile_d(env: EnvProfile) -> str:
    """Return the file for /etc/profile.d: each variable with what it does, its default and what it replaces."""
    lines = _wrapped(
        f"RCCL's environment, profile {env.name}, for ROCm {env.release} (RCCL {env.rccl}) and {env.gpu}. "
        "Made by instinct-bringup; changes by hand are overwritten."
    )
    lines += _wrapped("Which GPUs a job sees is the job's own matter, so no variable of that kind is here.")
    for variable in env.variables:
        default = f"Default: {variable.default}." if variable.default else ""
        replaces = "".join(f" Recipes call it {name}, which nothing reads." for name in variable.replaces)
        lines += ["", *_wrapped(variable.why), *_wrapped((default + replaces).strip())]
        lines.append(f"export {variable.name}={shlex.quote(variable.value)}")
    lines += ["", *_wrapped("Names of popular recipes that are not set here, and why:")]
    shown = {name for variable in env.variables for name in variable.replaces}
    for name, reason in env.unset.items():
        if name not in shown:
            lines += _wrapped(f"{name}: {reason}", indent="  ")
    return "\n".join(lines) + "\n"


def as_rccl_conf(env: EnvProfile) -> str:
    """Return the file for /etc/rccl.conf: one NAME=VALUE a line, and nothing else.

    RCCL knows no comment there before 2025. It reads the file after the runtime has started, so only
    what RCCL itself reads has an effect in it. The real environment wins over it.
    """
    return "".join(f"{entry.name}={entry.value}\n" for entry in env.variables if entry.read_by == "rccl")


def _site_variable(name: t.Any, value: t.Any, data: t.Mapping[str, t.Any]) -> EnvVariable:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ProfileError(f"rccl_extra_env: {name!r} is no name of a variable")
    if name in data["job_only"]:
        raise ProfileError(f"rccl_extra_env: {name} would choose the GPUs of every job on the node; set it in the job")
    if name in data["recipe"]:
        raise ProfileError(f"rccl_extra_env: {name} has no effect on a job. {data['recipe'][name]}")
    known = data["variables"].get(name, {})
    text = str(int(value)) if isinstance(value, bool) else str(value)
    read_by = known.get("read_by") or ("rccl" if name.startswith(("NCCL_", "RCCL_")) else "other")
    why = f"The site's own value (rccl_extra_env). {known.get('why', '')}".strip()
    replaces = tuple(known.get("replaces", ()))
    return EnvVariable(name, _checked(name, text), why, known.get("default", ""), replaces, read_by)


def _checked(name: str, value: str) -> str:
    if not value.isprintable() or value != value.strip() or not value:
        raise ProfileError(f"{name}: {value!r} is empty or holds spaces or control characters at its ends")
    if _data()["variables"].get(name, {}).get("form") == "integer" and not _INTEGER.fullmatch(value):
        raise ProfileError(f"{name}: {value!r} is no whole number above 0; RCCL reads 4M as 4 and any other word as 0")
    if name.startswith(("NCCL_", "RCCL_")) and _WITH_UNIT.fullmatch(value):
        raise ProfileError(
            f"{name}: RCCL reads {value!r} as {int(re.split('[^0-9]', value)[0])}; write the whole number"
        )
    return value


def _wrapped(text: str, indent: str = "") -> list[str]:
    prefix = "# " + indent
    return textwrap.wrap(text, _WIDTH, initial_indent=prefix, subsequent_indent=prefix + indent, break_on_hyphens=False)


@functools.cache
def _data() -> dict[str, t.Any]:
    with (CATALOG_DIR / "env_profiles.yml").open(encoding="utf-8") as stream:
        data: dict[str, t.Any] = yaml.safe_load(stream)
    return data
