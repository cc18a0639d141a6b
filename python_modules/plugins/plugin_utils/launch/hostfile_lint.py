# SPDX-License-Identifier: Apache-2.0
"""Judge a hostfile line by line, as DeepSpeed's launcher and Open MPI read it.

DeepSpeed says of a bad line only that there is one, in some releases with a literal "{line}", and takes what stands
behind the number without a word.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import re

from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.hostfile import MOST_SLOTS

_ENTRY = re.compile(r"(?P<host>\S+)\s+(?P<key>[^\s=]+)=(?P<slots>[0-9]+)(?P<rest>.*)", re.DOTALL)
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._:-]*[A-Za-z0-9])?")
_SHOWN = 60


@dataclasses.dataclass(frozen=True)
class HostfileFinding:
    """Say what is wrong with a line. line: counted from 1, 0 for the whole file."""

    line: int
    text: str
    message: str

    def sentence(self) -> str:
        """Return the finding with its place and the offending text."""
        return f"line {self.line}, {self.text}: {self.message}" if self.line else self.message


@dataclasses.dataclass(frozen=True)
class Hostfile:
    """Hold the entries that can be read, in order, and what is wrong with the rest."""

    hosts: tuple[tuple[str, int], ...]
    findings: tuple[HostfileFinding, ...]

    @property
    def world_size(self) -> int:
        """Return the sum of all slots."""
        return sum(slots for _host, slots in self.hosts)


# Every node of a fleet has the same file, and several checks read it: a thousand times a thousand lines are seconds.
@functools.lru_cache(maxsize=16)
def read_hostfile(text: str) -> Hostfile:
    """Return what a hostfile says and what is wrong with it. Any text is taken."""
    hosts: dict[str, int] = {}
    first: dict[str, int] = {}
    findings: list[HostfileFinding] = []
    if text.startswith("\ufeff"):
        findings.append(HostfileFinding(1, "", "the file begins with a byte order mark; save it as plain UTF-8"))
        text = text.removeprefix("\ufeff")
    # Only "\n" ends a line here: splitlines() would also cut at characters that no launcher knows.
    for number, line in enumerate(text.split("\n"), 1):
        bare = line.strip()
        if not bare or bare.startswith("#"):
            continue
        shown = repr(line if len(line) <= _SHOWN else line[:_SHOWN] + "…")
        entry = _ENTRY.fullmatch(bare)
        problem = _problem(line, bare, entry)
        if not problem and entry and entry["host"] in hosts:
            problem = f"{entry['host']} stands on line {first[entry['host']]} already; name each host once"
        if problem:
            findings.append(HostfileFinding(number, shown, problem))
        if entry and entry["key"] == "slots" and not _too_many(entry) and entry["host"] not in hosts:
            hosts[entry["host"]], first[entry["host"]] = int(entry["slots"]), number
    if not hosts:
        findings.append(HostfileFinding(0, "", "no line names a host and its slots"))
    return Hostfile(tuple(hosts.items()), tuple(findings))


def _problem(line: str, bare: str, entry: re.Match[str] | None) -> str:
    """Return what is wrong with a line on its own, "" where nothing is."""
    if line.endswith("\r"):
        return "a Windows line end, which Open MPI takes for a part of the entry; write it with Unix line ends"
    if entry is None:
        return _shape(bare)
    if entry["key"] != "slots":
        near = difflib.get_close_matches(entry["key"].lower(), ["slots"], n=1)
        return f"{entry['key']}= is no key of a hostfile" + ("; slots= is meant" if near else "; write slots=N")
    if "@" in entry["host"]:
        user, _at, host = entry["host"].partition("@")
        return f"a user has no place here; write {host} and set User {user} for it in ssh's configuration"
    if not _HOST.fullmatch(entry["host"]):
        return f"{entry['host']!r} is no host name or address"
    if _too_many(entry):
        return f"no host has more than {MOST_SLOTS} GPUs; slots is their number"
    if int(entry["slots"]) == 0:
        return "0 slots; leave the host out, or say how many GPUs it has"
    rest = entry["rest"]
    if rest and not rest[0].isspace():
        return f"{rest!r} stands at the number, and DeepSpeed drops it without a word; slots is a whole number"
    return ""


def _too_many(entry: re.Match[str]) -> bool:
    """Say whether the number is beyond any host. Python refuses to read one of thousands of digits."""
    return len(entry["slots"]) > len(str(MOST_SLOTS)) or int(entry["slots"]) > MOST_SLOTS


def _shape(bare: str) -> str:
    if re.search(r"slots\s*=\s*[0-9]", bare):
        return "blanks around = or before the host are not understood; write it as NAME slots=N"
    if re.fullmatch(r"\S+:[0-9]+", bare):
        return "NAME:N is mpirun's form for its --host option; write it as NAME slots=N"
    return "not of the form NAME slots=N"
