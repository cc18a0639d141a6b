# SPDX-License-Identifier: Apache-2.0
"""Ask apt which version of a package it would install, and from where."""

from __future__ import annotations

import os
import re
from typing import Any, Dict, List, Optional, Sequence

from ansible_collections.instinct.bringup.plugins.module_utils.probe import Probe, ProbeError, ask
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

_NAME = re.compile(r"^(\S.*):$")
_FIELD = re.compile(r"^  (Installed|Candidate): (.+)$")
_VERSION = re.compile(r"^ (?:\*\*\*|   ) (\S+) (-?[0-9]+)(?: \(phased [0-9]+%\))?$")
_SOURCE = re.compile(r"^\s{6,}(-?[0-9]+) (\S+)(?: (\S+))?")
_NONE = "(none)"
# As root, apt-cache writes /var/cache/apt anew whenever it is not of today's lists and packages. Nobody (65534) may
# only read it.
_AS_NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
_IN_MEMORY = ("-o", "Dir::Cache::pkgcache=", "-o", "Dir::Cache::srcpkgcache=")

Json = Dict[str, Any]


def read_policy(tree: Tree, probe: Probe, names: Sequence[str]) -> Optional[Dict[str, Json]]:
    """Return the snapshot's apt "policy" of the named packages; one that apt does not know is left out."""
    if not names:
        return {}
    answer = _ask(tree, probe, ["policy", *names])
    if answer is None:
        return None
    policies = parse_policy(answer)
    if answer.strip() and not policies:
        tree.problem("apt", "apt-cache", "its answer is not understood: %r" % answer[:60])
        return None
    return policies


def _ask(tree: Tree, probe: Probe, words: Sequence[str]) -> Optional[str]:
    """Return what apt-cache says, without letting it write, or None and a problem."""
    if os.geteuid() != 0:
        return ask(tree, "apt", probe, ["apt-cache", *words])
    try:
        answer = probe([*_AS_NOBODY, "apt-cache", *words])
    except ProbeError:
        answer = None
    # It warns of a source or a preference that only root may read, and goes on without it.
    if answer is not None and answer.rc == 0 and not answer.err.strip():
        return answer.out
    # Root sees everything; without its caches apt-cache reads all lists, which takes a second of CPU.
    return ask(tree, "apt", probe, ["apt-cache", *_IN_MEMORY, *words])


def parse_policy(text: str) -> Dict[str, Json]:
    """Return {package: {installed, candidate, versions}} of an `apt-cache policy` text under LC_ALL=C.

    A paragraph in another language is left out: it is not understood, which is not "not installed".
    """
    policies: Dict[str, Json] = {}
    current: Json = {}
    for line in text.splitlines():
        named = _NAME.match(line)
        if named:
            current = {}
            name = named.group(1)
            continue
        field = _FIELD.match(line)
        if field:
            key = field.group(1).lower()
            current[key] = None if field.group(2) == _NONE else field.group(2)
            if len(current) == 2:
                current["versions"] = []
                policies[name] = current
            continue
        _table_line(current, line)
    return policies


def _table_line(current: Json, line: str) -> None:
    versions: Optional[List[Json]] = current.get("versions")
    if versions is None:
        return
    version = _VERSION.match(line)
    if version:
        versions.append({"version": version.group(1), "priority": int(version.group(2)), "sources": []})
        return
    source = _SOURCE.match(line)
    if source and versions:
        priority, uri, suite = source.groups()
        versions[-1]["sources"].append({"priority": int(priority), "uri": uri, "suite": suite})
