# SPDX-License-Identifier: Apache-2.0
"""Give the checks every place where a job's environment comes from, as it was read on the node."""

from __future__ import annotations

import collections.abc as c
import dataclasses

from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.model import OK, CheckContext, Finding
from ansible_collections.instinct.bringup.plugins.plugin_utils.env import model as env_model
from ansible_collections.instinct.bringup.plugins.plugin_utils.env import parsers
from ansible_collections.instinct.bringup.plugins.plugin_utils.env.host import Host, host_from
from ansible_collections.instinct.bringup.plugins.plugin_utils.env.lint import Linter
from ansible_collections.instinct.bringup.plugins.plugin_utils.env.model import Assignment, Parsed

AREAS = ("environment",)
SYSTEM_CONF = "/etc/rccl.conf"
USER_CONF = ".rccl.conf"


@dataclasses.dataclass(frozen=True)
class Source:
    """One place. user: whose it is, None for everybody's. process: an environment that is in use."""

    path: str
    user: str | None
    process: bool
    parsed: Parsed

    @property
    def is_global(self) -> bool:
        """Say whether every job on the node gets it."""
        return self.user is None and not self.process


def sources_of(context: CheckContext) -> list[Source]:
    """Return the places of a node in the order of the snapshot: files, then processes."""
    area = context.snapshot["environment"]
    found = []
    for entry in area.get("files") or ():
        path, text = str(entry["path"]), str(entry["text"])
        parsed = parsers.parse(text, parsers.detect(text, path))
        found.append(Source(path, entry.get("user"), False, parsed))
    for entry in area.get("processes") or ():
        if entry["variables"] is not None:
            values = [
                Assignment(name, value, place) for place, (name, value) in enumerate(entry["variables"].items(), 1)
            ]
            where = f"process {entry['pid']} ({entry['name']})"
            found.append(Source(where, None, True, Parsed("process", tuple(values))))
    return found


def host_of(context: CheckContext) -> Host:
    """Return the node's devices, and the files that values name."""
    files: dict[str, str | None] = dict(context.snapshot["environment"].get("referenced") or {})
    return host_from(context.snapshot, files)


def linted(context: CheckContext) -> c.Iterator[tuple[Source, env_model.Finding]]:
    """Yield what the lint says of every assignment in every place."""
    linter = Linter(str(context.option("rocm_release")), context.model, host_of(context))
    for source in sources_of(context):
        for finding in linter.parsed(source.parsed).findings:
            yield source, finding


def place(source: Source, line: int) -> str:
    """Return the evidence of an assignment: its file and line, or its process."""
    return source.path if source.process else f"{source.path}:{line}"


def summed_up(context: CheckContext, expected: str) -> Finding:
    """Return the one result of a check that found nothing wrong."""
    found = sources_of(context)
    names = {assignment.name for source in found for assignment in source.parsed.assignments}
    observed = f"{len(names)} names in {len(found)} places"
    return Finding(OK, "environment", expected, observed, "", ", ".join(source.path for source in found) or "/etc")


def values_of(sources: c.Iterable[Source], name: str) -> list[tuple[Source, Assignment]]:
    """Return where a name is set, and to what; values that cannot be told are left out."""
    found = []
    for source in sources:
        assignment = source.parsed.effective().get(name)
        if assignment is not None and assignment.value is not None:
            found.append((source, assignment))
    return found
