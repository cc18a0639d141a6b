# SPDX-License-Identifier: Apache-2.0
"""Check what the node's files and running jobs set: names that nothing reads, values that do not hold here."""

from __future__ import annotations

import collections.abc as c

from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.env_sources import (
    AREAS,
    host_of,
    linted,
    place,
    sources_of,
    summed_up,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.model import (
    FAIL,
    OK,
    WARN,
    CheckContext,
    Finding,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.registry import check
from ansible_collections.instinct.bringup.plugins.plugin_utils.env import model
from ansible_collections.instinct.bringup.plugins.plugin_utils.env.visible import CUDA, HIP, ROCR, VISIBLE, resolve

_FILTERS = (ROCR, HIP, CUDA)
# net.ifname_expands tells this one with its expansion.
_TOLD_ELSEWHERE = frozenset({"NCCL_SOCKET_IFNAME"})


def _with_verdicts(context: CheckContext, verdicts: frozenset[str], outcome: str, expected: str) -> c.Iterator[Finding]:
    found = False
    for source, finding in linted(context):
        if finding.verdict in verdicts and finding.name not in _TOLD_ELSEWHERE:
            found = True
            evidence = place(source, finding.line)
            remedy = f"Use {finding.use_instead}, or take the line out." if finding.use_instead else None
            yield Finding(outcome, finding.name, expected, finding.verdict, finding.message, evidence, remedy)
    if not found:
        yield summed_up(context, expected)


@check(
    "env.unknown_var",
    "Every variable that is set is one that something reads",
    areas=AREAS,
    required=False,
    remedy="Take the line out; playbooks/lint-env.yml says more of the whole file.",
)
def unknown_var(context: CheckContext) -> c.Iterator[Finding]:
    """Look for names of RCCL's and ROCm's prefixes that nothing reads in this release, and for slips of the pen."""
    yield from _with_verdicts(context, frozenset({model.UNREAD, model.TYPO}), WARN, "a name that is read")


@check(
    "env.obsolete_var",
    "No variable is of another ROCm release",
    areas=AREAS,
    required=False,
    remedy="Take the line out, or move the node to the release that reads it.",
)
def obsolete_var(context: CheckContext) -> c.Iterator[Finding]:
    """Look for names that only older or only newer releases read."""
    yield from _with_verdicts(context, frozenset({model.OBSOLETE, model.NOT_YET}), WARN, "a name of this release")


@check(
    "env.value_refs_exist",
    "Every value is one that its reader takes, and what it names is on this node",
    areas=AREAS,
    remedy="Correct the value: RCCL takes plain whole numbers, and names of adapters and files that are there.",
)
def value_refs_exist(context: CheckContext) -> c.Iterator[Finding]:
    """Judge the form of every value, and look for the adapters and files that values name."""
    yield from _with_verdicts(context, frozenset({model.BAD_VALUE}), FAIL, "a value that is taken as it looks")


@check(
    "env.visible_conflict",
    "The variables that choose GPUs leave some, and only jobs set them",
    areas=AREAS,
    remedy="Set one of them, in the job. ROCR_VISIBLE_DEVICES filters first, and HIP counts what is left from 0.",
)
def visible_conflict(context: CheckContext) -> c.Iterator[Finding]:
    """Resolve ROCR_, HIP_ and CUDA_VISIBLE_DEVICES of each file and each running job to the GPUs that are left."""
    gpus = host_of(context).gpus
    found = False
    for source in sources_of(context):
        held = source.parsed.effective()
        values = {name: str(held[name].value) for name in VISIBLE if name in held and held[name].value is not None}
        filters = [name for name in _FILTERS if name in values]
        if not values:
            continue
        found = True
        resolved = resolve(values, gpus)
        names = " and ".join(values)
        evidence = place(source, held[next(iter(values))].line)
        if filters and resolved.left == ():
            yield Finding(FAIL, names, "at least one GPU", "none", resolved.text, evidence)
        elif len(filters) > 1:
            yield Finding(WARN, names, "one of them", f"{len(filters)} of them", resolved.text, evidence)
        elif source.is_global:
            reason = f"every job on the node gets it. {resolved.text}"
            yield Finding(WARN, names, "set by jobs only", f"set in {source.path}", reason, evidence)
        else:
            yield Finding(OK, names, "at least one GPU", resolved.text, "", evidence)
    if not found:
        yield summed_up(context, "no file chooses GPUs for every job")
