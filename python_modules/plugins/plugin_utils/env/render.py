# SPDX-License-Identifier: Apache-2.0
"""Write a profile in the five forms that programs read. All carry the same names and values.

RCCL and DeepSpeed know no comment in their files, so the words stand in the other three.
"""

from __future__ import annotations

import collections.abc as c
import re
import textwrap

from ansible_collections.instinct.bringup.plugins.plugin_utils.env.profile import EnvProfile

_WIDTH = 100
_PLAIN = re.compile(r"[A-Za-z0-9_./:,+@%-]+")


def as_shell(env: EnvProfile) -> str:
    """Return the file for /etc/profile.d."""
    return _commented(env, "#", lambda name, value: f"export {name}={_quoted(value)}")


def as_systemd_environment(env: EnvProfile) -> str:
    """Return the file for a unit's EnvironmentFile=."""
    return _commented(env, "#", lambda name, value: f"{name}={value}")


def as_module_file(env: EnvProfile) -> str:
    """Return the file for Lmod, in Lua."""
    return _commented(env, "--", lambda name, value: f'setenv("{name}", "{value}")')


def as_rccl_conf(env: EnvProfile) -> str:
    """Return the file for /etc/rccl.conf.

    RCCL hands each line to its own process, where the real environment has not set the name. What is
    read before RCCL starts must therefore stand in one of the other files as well, as all of it does.
    """
    return _plain(env)


def as_deepspeed_env(env: EnvProfile) -> str:
    """Return the file whose lines DeepSpeed's launcher passes to every node."""
    return _plain(env)


def _quoted(value: str) -> str:
    """Return a value for any shell: zsh looks for a command after a leading =."""
    return value if _PLAIN.fullmatch(value) else f"'{value}'"


def _plain(env: EnvProfile) -> str:
    return "".join(f"{variable.name}={variable.value}\n" for variable in env.variables)


def _commented(env: EnvProfile, mark: str, line: c.Callable[[str, str], str]) -> str:
    lines = _wrapped(
        f"The environment of RCCL's jobs, profile {env.name}, for ROCm {env.release} (RCCL {env.rccl}) and {env.gpu}. "
        "Made by instinct-bringup; changes by hand are overwritten.",
        mark,
    )
    lines += _wrapped(env.purpose, mark)
    lines += _wrapped("Which GPUs a job sees is the job's own matter, so no variable of that kind is here.", mark)
    for variable in env.variables:
        default = f"Default: {variable.default}." if variable.default else ""
        replaces = "".join(f" Recipes call it {name}, which nothing reads." for name in variable.replaces)
        lines += ["", *_wrapped(f"{variable.does} {variable.why}".strip(), mark)]
        lines += _wrapped((default + replaces).strip(), mark)
        lines.append(line(variable.name, variable.value))
    if env.unset:
        lines += ["", *_wrapped("Names that are not set here, and why:", mark)]
    for name, reason in env.unset.items():
        lines += _wrapped(f"{name}: {reason}", mark, "  ")
    return "\n".join(lines) + "\n"


def _wrapped(text: str, mark: str, indent: str = "") -> list[str]:
    prefix = f"{mark} {indent}"
    return textwrap.wrap(text, _WIDTH, initial_indent=prefix, subsequent_indent=prefix + indent, break_on_hyphens=False)
