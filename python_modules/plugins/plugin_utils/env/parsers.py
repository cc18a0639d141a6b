# SPDX-License-Identifier: Apache-2.0
"""Read files of variables, each by the rules of the program that reads it on the node."""

from __future__ import annotations

import collections.abc as c
import pathlib
import re
import shlex

from ansible_collections.instinct.bringup.plugins.plugin_utils.env.model import Assignment, Note, Parsed
from ansible_collections.instinct.bringup.plugins.plugin_utils.env.shell import parse_shell
from ansible_collections.instinct.bringup.plugins.plugin_utils.env.shell_commands import NAME

_SECTION = re.compile(r"^\[(Unit|Service|Manager|Install|Slice|Socket)\]\s*$", re.MULTILINE)
_LUA = re.compile(r"^\s*(?:setenv|pushenv)\s*\(\s*([\"'])(.*?)\1\s*,\s*(?:([\"'])(.*?)\3|(.*?))\s*\)\s*(?:--.*)?$")
_TCL = re.compile(r"^\s*setenv\s+(\S+)\s+(?:\"([^\"]*)\"|\{([^}]*)\}|(\S+))\s*$")
# RCCL copies a line into buffers of 1,024 bytes.
_RCCL_LONGEST = 1023


class NotText(ValueError):
    """Say why a file cannot be read as settings."""


def decode(data: bytes) -> str:
    """Return the text of a file.

    :raises NotText: it is not UTF-8, or it holds a NUL that is none between the entries of an environment.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise NotText(f"the file is not text: byte {error.start + 1} is no UTF-8") from error
    if "\0" in text and not is_environ(text):
        raise NotText(f"the file is not text: character {text.index(chr(0)) + 1} is NUL")
    return text


def is_environ(text: str) -> bool:
    """Say whether a text is a process's environment as /proc shows it: entries that end with NUL."""
    return "\0" in text and all("=" in entry for entry in text.split("\0") if entry)


def detect(text: str, path: str = "") -> str:
    """Return the name in FORMS of a file, by its path and, where that says nothing, by its text."""
    place = pathlib.PurePosixPath(path)
    if is_environ(text) or (place.name == "environ" and place.parts[1:2] == ("proc",)):
        return "process"
    if _SECTION.search(text) or place.suffix in (".service", ".slice", ".scope", ".socket"):
        return "systemd_unit"
    if place.suffix == ".env" or "environment.d" in place.parts:
        return "systemd_environment"
    if place.name.endswith("deepspeed_env"):
        return "deepspeed_env"
    if place.suffix == ".conf":
        return "rccl_conf"
    if place.name == "environment":
        return "environment"
    if text.startswith("#%Module") or place.suffix == ".lua" or re.search(r"^\s*setenv\(", text, re.MULTILINE):
        return "module_file"
    return "slurm" if re.search("^#SBATCH", text, re.MULTILINE) else "shell"


def parse(text: str, form: str) -> Parsed:
    """Return what a file sets.

    :raises KeyError: no such form.
    """
    return FORMS[form](text)


def _rccl_conf(text: str) -> Parsed:
    """Read rccl.conf as RCCL does: the name is everything before the first =, the value everything behind it."""
    assignments, notes = [], []
    for number, line in enumerate(text.split("\n"), 1):
        name, equals, value = line.partition("=")
        if equals:
            assignments.append(Assignment(name[:_RCCL_LONGEST], value[:_RCCL_LONGEST], number))
        elif line.strip():
            notes.append(Note(number, "no = in the line: RCCL passes over it"))
    return Parsed("rccl_conf", tuple(assignments), tuple(notes), first_wins=True)


def _deepspeed_env(text: str) -> Parsed:
    assignments, notes = [], []
    for number, line in enumerate(text.splitlines(), 1):
        name, equals, value = line.partition("=")
        if not equals:
            notes.append(Note(number, "no = in the line: DeepSpeed's launcher ends with a ValueError"))
        elif not NAME.fullmatch(name.strip()):
            notes.append(Note(number, f"{name.strip()!r} is no name: the command on the other nodes breaks"))
        else:
            assignments.append(Assignment(name.strip(), value.strip(), number))
    return Parsed("deepspeed_env", tuple(assignments), tuple(notes))


def _environment(text: str) -> Parsed:
    """Read /etc/environment as pam_env does: no expansion, quotes only around the whole value."""
    assignments, notes = [], []
    for number, line in _joined(text):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        name, equals, value = line.removeprefix("export ").strip().partition("=")
        if not equals or not NAME.fullmatch(name):
            notes.append(Note(number, "not NAME=VALUE: pam_env passes over it"))
            continue
        if value[:1] in ("'", '"'):
            value = value[1:].removesuffix(value[0])
        assignments.append(Assignment(name, value, number))
    return Parsed("environment", tuple(assignments), tuple(notes))


def _systemd_environment(text: str) -> Parsed:
    assignments, notes = [], []
    for number, line in _joined(text):
        line = line.strip()
        if not line or line[0] in "#;":
            continue
        name, equals, value = line.partition("=")
        if not equals or not NAME.fullmatch(name.strip()):
            notes.append(Note(number, "not NAME=VALUE: systemd passes over it"))
            continue
        words = _words(value)
        assignments.append(Assignment(name.strip(), value.strip() if words is None else " ".join(words), number))
    return Parsed("systemd_environment", tuple(assignments), tuple(notes))


def _systemd_unit(text: str) -> Parsed:
    """Read the Environment= lines of a unit or a drop-in. An empty one takes back those before it."""
    assignments: list[Assignment] = []
    notes = []
    for number, line in _joined(text):
        key, _equals, value = (part.strip() for part in line.partition("="))
        if key == "EnvironmentFile":
            notes.append(Note(number, f"{value} is read here, and was not looked at"))
        if key not in ("Environment", "DefaultEnvironment"):
            continue
        if not value:
            assignments = []
        for word in _words(value) or ():
            name, equals, rest = word.partition("=")
            if equals and NAME.fullmatch(name):
                hidden = "a specifier of systemd" if "%" in rest.replace("%%", "") else ""
                assignments.append(Assignment(name, None if hidden else rest.replace("%%", "%"), number, hidden))
    return Parsed("systemd_unit", tuple(assignments), tuple(notes))


def _module_file(text: str) -> Parsed:
    assignments = []
    for number, line in enumerate(text.splitlines(), 1):
        lua, tcl = _LUA.match(line), _TCL.match(line)
        if lua is not None:
            hidden = "" if lua.group(3) else "an expression of Lua"
            assignments.append(Assignment(lua.group(2), None if hidden else lua.group(4), number, hidden))
        elif tcl is not None:
            value = next((part for part in tcl.groups()[1:] if part is not None), "")
            hidden = "" if tcl.group(3) is not None or not re.search(r"[$\[]", value) else "an expression of Tcl"
            assignments.append(Assignment(tcl.group(1), None if hidden else value, number, hidden))
    return Parsed("module_file", tuple(assignments))


def _process(text: str) -> Parsed:
    """Read /proc/PID/environ; a line is an entry here."""
    entries = [entry.partition("=") for entry in text.split("\0") if entry]
    found = [Assignment(name, value, number) for number, (name, _equals, value) in enumerate(entries, 1)]
    return Parsed("process", tuple(found))


def _joined(text: str) -> c.Iterator[tuple[int, str]]:
    """Yield lines with the number of their first, a backslash at the end joining the next."""
    number, held = 0, ""
    for position, line in enumerate(text.splitlines(), 1):
        number = number or position
        if line.endswith("\\"):
            held += line[:-1] + " "
            continue
        yield number, held + line
        number, held = 0, ""
    if held:
        yield number, held


def _words(text: str) -> list[str] | None:
    """Return the words of a value with their quotes taken off, None where a quote does not end."""
    try:
        return shlex.split(text)
    except ValueError:
        return None


FORMS: dict[str, c.Callable[[str], Parsed]] = {
    "shell": parse_shell,
    "slurm": lambda text: parse_shell(text, "slurm"),
    "environment": _environment,
    "rccl_conf": _rccl_conf,
    "deepspeed_env": _deepspeed_env,
    "systemd_environment": _systemd_environment,
    "systemd_unit": _systemd_unit,
    "module_file": _module_file,
    "process": _process,
}
