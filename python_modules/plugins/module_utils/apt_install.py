# SPDX-License-Identifier: Apache-2.0
"""Read apt's lists anew, and see what an installation would take away, before it is begun."""

from __future__ import annotations

import re
from typing import Dict, List, NamedTuple, Sequence

from ansible_collections.instinct.bringup.plugins.module_utils.command_runner import Result, Run, last_words
from ansible_collections.instinct.bringup.plugins.module_utils.fetch import mask
from ansible_collections.instinct.bringup.plugins.module_utils.package_lock import (
    LOCK_TIMEOUT,
    describe_lock,
    run_when_unlocked,
)
from ansible_collections.instinct.bringup.plugins.module_utils.package_state import read_rows

_APT = ["apt-get", "-q", "-o", f"DPkg::Lock::Timeout={LOCK_TIMEOUT}"]
_ALLOWED = ["--no-auto-remove", "--allow-downgrades", "--allow-change-held-packages"]
_COMPLAINT = re.compile(r"^([EW]): (.*)$", re.M)
# What apt says, as a warning only, of lists that it goes on without.
_MISSED = re.compile(
    r"Failed to fetch|GPG error|is not signed|no longer signed|does not have a Release file|not valid yet|is expired"
)
_URL = re.compile(r"https?://[^\s'\"]+")
_SIMULATED = re.compile(r"^(Purg|Remv|Inst) ([^\s:]+)(?::\S+)?( \[[^\]]*\])?", re.M)
# The proxy that apt was told of, when what it says has to do with one.
_PROXY = re.compile(r'^Acquire::(?:https?::Proxy[^ ]*) "([^"]+)";', re.M)


class InstallRefused(Exception):
    """Nothing was installed or removed; the message says what stands against it and what to do."""


class Missed(NamedTuple):
    """A list that could not be read: where it is, and apt's own words."""

    url: str
    words: str


def read_lists(run: Run, required: Sequence[str]) -> List[str]:
    """Read the lists anew, and return a sentence for each that the site can do without.

    required: the beginnings of the URLs that this run installs from. InstallRefused when one of them could not be read,
    or when apt could not read lists at all.
    """
    result = run_when_unlocked(run, [*_APT, "update"])
    missed = missed_lists(result)
    needed = [entry for entry in missed if any(_begins(entry.url, url) for url in required)]
    if needed or result.rc != 0:
        told = [entry.words for entry in needed or missed] or [describe_lock(result) or last_words(result)]
        lines = "".join("\n- %s" % words for words in dict.fromkeys(told))
        raise InstallRefused(
            "apt could not read the lists that the packages come from:%s\nNothing was installed. Look at the server%s, at "
            "the node's clock, and at the file below /etc/apt/sources.list.d that names the URL; then run again"
            % (lines, _proxies(run))
        )
    return ["apt goes on without a list of the site's: %s" % entry.words for entry in missed]


def missed_lists(result: Result) -> List[Missed]:
    """Return the lists that `apt-get update` could not read, each with its URL, credentials masked."""
    found: Dict[str, Missed] = {}
    for level, words in _COMPLAINT.findall(result.err + "\n" + result.out):
        url = _URL.search(words)
        if url and (level == "E" or _MISSED.search(words)):
            found.setdefault(words, Missed(mask(url.group(0)), mask(words)))
    return list(found.values())


def refuse_removals(run: Run, packages: Sequence[str], ours: Sequence[str]) -> List[str]:
    """Let apt simulate the installation, and return the names of what it would install.

    packages: words of apt-get, a name or name=version. ours: packages whose hold this run may pass over.
    InstallRefused when anything would be removed, or a package changed that somebody holds.
    """
    result = run([*_APT, "-s", *_ALLOWED, "install", *packages])
    rows = _SIMULATED.findall(result.out)
    gone = list(dict.fromkeys(name for verb, name, _old in rows if verb != "Inst"))
    if gone:
        raise InstallRefused(
            "to install these packages apt would remove: %s. They are not on the plan's list, so nothing was installed. "
            "Remove or move them yourself if they may go; `apt-get -s install %s` shows why"
            % (", ".join(gone), " ".join(packages[:6]))
        )
    named = {word.partition("=")[0] for word in packages} | set(ours)
    changed = {name for verb, name, old in rows if verb == "Inst" and old and name not in named}
    held = sorted({row.name for row in read_rows(run) if row.hold} & changed)
    if held:
        raise InstallRefused(
            "to install these packages apt would change what is on hold: %s. The hold is not ours, so nothing was "
            "installed. `apt-mark unhold %s` if they may change" % (", ".join(held), " ".join(held))
        )
    if result.rc != 0:
        raise InstallRefused(
            "apt cannot install %s: %s. Nothing was installed; `apt-cache policy` of the named packages shows which "
            "versions the sources have" % (", ".join(packages), describe_lock(result) or last_words(result, 8))
        )
    return list(dict.fromkeys(name for _verb, name, _old in rows))


def _begins(url: str, start: str) -> bool:
    start = mask(start).rstrip("/")
    return url.rstrip("/") == start or url.startswith(start + "/")


def _proxies(run: Run) -> str:
    """Return a remark that names the proxies of apt's own configuration, since its message may name only the server."""
    found = _PROXY.findall(run(["apt-config", "dump"]).out)
    proxies = [mask(proxy) for proxy in dict.fromkeys(found) if proxy != "DIRECT"]
    return " and at apt's proxy %s" % ", ".join(proxies) if proxies else ""
