# SPDX-License-Identifier: Apache-2.0
"""Purge packages with apt, or with dpkg where an earlier run stopped half-way, and nothing beyond the list."""

from __future__ import annotations

import os
import re
from typing import Sequence

from ansible_collections.instinct.bringup.plugins.module_utils.command_runner import Result, last_words
from ansible_collections.instinct.bringup.plugins.module_utils.package_lock import (
    LOCK_TIMEOUT,
    describe_lock,
    run_when_unlocked,
)
from ansible_collections.instinct.bringup.plugins.module_utils.package_state import PackageRow, read_rows
from ansible_collections.instinct.bringup.plugins.module_utils.purge_request import Node, PurgeFailed, PurgeRefused

# A site's apt.conf may turn autoremove on, which would take what nobody listed.
_APT = ["apt-get", "-q", "-o", f"DPkg::Lock::Timeout={LOCK_TIMEOUT}", "--no-auto-remove"]
# apt refuses every work while a package is in these states; dpkg can still take it away.
_DPKG = ["dpkg", "--force-remove-reinstreq"]

_SIMULATED = re.compile(r"^(Purg|Remv|Inst) ([^\s:]+)", re.M)
_DEPENDENT = re.compile(r"^ (\S+?)(?::\S+)? depends on ", re.M)


def simulated(text: str) -> tuple[list[str], list[str]]:
    """Return the names that `apt-get -s purge` says go, and those that it would install."""
    lines = _SIMULATED.findall(text)
    gone = [name for verb, name in lines if verb != "Inst"]
    return list(dict.fromkeys(gone)), list(dict.fromkeys(name for verb, name in lines if verb == "Inst"))


def refuse_beyond(node: Node, rows: Sequence[PackageRow], others: Sequence[PackageRow] = ()) -> None:
    """Let apt or dpkg simulate the purge of the rows. PurgeRefused when anything else would go with them.

    others: packages beyond the list that dpkg stopped in, while apt would refuse any work.
    """
    if not rows:
        return
    listed = {row.name for row in rows}
    names = [row.binary for row in rows]
    if needs_dpkg(node, [*rows, *others]):
        result = node.run([*_DPKG, "--no-act", "--purge", *names])
        beyond = [name for name in dict.fromkeys(_DEPENDENT.findall(result.err + result.out)) if name not in listed]
        installs: list[str] = []
    else:
        # Holds of ours are lifted before the purge itself; the guard looks before that.
        result = node.run([*_APT, "-s", "--allow-change-held-packages", "purge", *names])
        gone, installs = simulated(result.out)
        beyond = [name for name in gone if name not in listed]
    if beyond:
        raise PurgeRefused(
            f"with these packages the package manager would also remove: {', '.join(beyond)}. "
            "They are not on the list. Remove or move them yourself if they may go, or keep this node as it is"
        )
    if installs:
        raise PurgeRefused(
            f"in exchange for these packages apt would install: {', '.join(installs)}. Something of the site's "
            "depends on what is to go; look at what `apt-get -s purge` says"
        )
    if result.rc != 0:
        raise PurgeRefused(
            f"the package manager cannot simulate the purge (exit {result.rc}): {last_words(result)}. "
            "Mend that first: `dpkg --audit` names packages that are not finished"
        )


def refuse_unfinished(others: Sequence[PackageRow]) -> None:
    """Refuse while dpkg is in the middle of a package beyond the list that configuring cannot mend.

    One that is only not configured is often the victim of a failed driver build: it is configured
    once the purge is through.
    """
    stuck = [row for row in others if row.status == "half-installed" or row.reinstall_required]
    if stuck:
        names = ", ".join(f"{row.binary} {row.version} ({row.abbrev.strip()})" for row in stuck)
        raise PurgeRefused(
            f"dpkg stopped in the middle of packages that are not on the list: {names}. "
            "Install them again or purge them first; apt refuses any work before that"
        )


def needs_dpkg(node: Node, rows: Sequence[PackageRow]) -> bool:
    """Say whether apt would refuse: a listed package is half-way, or dpkg itself was interrupted."""
    return any(row.unfinished for row in rows) or bool(_journal(node))


def purge_packages(node: Node, rows: Sequence[PackageRow]) -> None:
    """Purge the rows, configuration files included. PurgeFailed when dpkg still has one of them afterwards."""
    if not rows:
        return
    names = [row.binary for row in rows]
    recover = needs_dpkg(node, rows)
    if recover:
        result = run_when_unlocked(node.run, [*_DPKG, "--purge", *names])
    else:
        result = node.run([*_APT, "-y", "purge", *names])
    listed = {row.name for row in rows}
    left = [row for row in read_rows(node.run) if row.name in listed and row.present]
    if left or result.rc != 0:
        states = ", ".join(f"{row.binary} {row.version} ({row.abbrev.strip()})" for row in left) or "none of them"
        raise PurgeFailed(f"the purge of packages failed: {_reason(result)}. Still there: {states}")


def settle_packages(node: Node) -> None:
    """Let dpkg finish what an earlier run left, its own journal included, now that nothing stands against it.

    PurgeFailed names what dpkg still cannot finish, since every later apt run would fail on it.
    """
    if not _journal(node) and not any(row.unfinished for row in read_rows(node.run)):
        return
    result = run_when_unlocked(node.run, ["dpkg", "--configure", "-a"])
    left = [f"{row.binary} ({row.abbrev.strip()})" for row in read_rows(node.run) if row.unfinished]
    if left or result.rc != 0:
        names = ", ".join(left) or "its own state"
        raise PurgeFailed(
            f"everything on the list is gone, but dpkg cannot finish {names}: {_reason(result)}. "
            "apt will refuse any work until that is mended"
        )


def _reason(result: Result) -> str:
    end = f"exit {result.rc}" if result.rc >= 0 else f"killed by signal {-result.rc}"
    return describe_lock(result) or f"{end}: {last_words(result)}"


def _journal(node: Node) -> list[str]:
    """Return the files that say that dpkg was killed in the middle of its work."""
    try:
        return [name for name in os.listdir(node.at("/var/lib/dpkg/updates")) if name.isdigit()]
    except OSError:
        return []
