# SPDX-License-Identifier: Apache-2.0
"""Check what RCCL gets to read on the node: from where each value comes, and which ones a run took."""

from __future__ import annotations

import collections.abc as c
import functools

from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.env_sources import (
    AREAS,
    SYSTEM_CONF,
    USER_CONF,
    Source,
    host_of,
    place,
    sources_of,
    summed_up,
    values_of,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.model import (
    FAIL,
    OK,
    WARN,
    CheckContext,
    Finding,
    skipped,
    unknown,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.registry import check
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.vendor import planned_file
from ansible_collections.instinct.bringup.plugins.plugin_utils.env import parsers
from ansible_collections.instinct.bringup.plugins.plugin_utils.env.model import Assignment
from ansible_collections.instinct.bringup.plugins.plugin_utils.env.references import GRAPH
from ansible_collections.instinct.bringup.plugins.plugin_utils.env.registry import default_registry
from ansible_collections.instinct.bringup.plugins.plugin_utils.env.selectors import select_interfaces
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.rccl import MEMORY

IFNAME = "NCCL_SOCKET_IFNAME"
# RCCL logs the numbers that it takes; of texts it logs some.
_LOGGED_FORMS = frozenset({"int", "bytes", "bool"})


@check(
    "net.ifname_expands",
    "The interfaces that RCCL is told to use are on this node",
    areas=("environment", "net.interfaces"),
    remedy="Set rccl_socket_ifname to interfaces of this node: = before exact names, ^ before those to leave out.",
)
def ifname_expands(context: CheckContext) -> c.Iterator[Finding]:
    """Expand NCCL_SOCKET_IFNAME, a list of prefixes, to the interfaces of the node, wherever it is set."""
    interfaces = host_of(context).interfaces
    found = values_of(sources_of(context), IFNAME)
    if not found:
        yield skipped(f"{IFNAME} is not set: RCCL chooses among the interfaces that are up")
        return
    if interfaces is None:
        yield unknown("no interface could be read", "/sys/class/net")
        return
    for source, assignment in found:
        yield _expanded(source, assignment, interfaces)


def _expanded(source: Source, assignment: Assignment, interfaces: tuple[str, ...]) -> Finding:
    value, evidence = str(assignment.value), place(source, assignment.line)
    selection = select_interfaces(value, interfaces)
    observed = f"{value} is {', '.join(selection.chosen) or 'none'}"
    if not selection.chosen:
        reason = f"it matches no interface; there are {', '.join(interfaces)}"
        return Finding(FAIL, IFNAME, "one interface or more", observed, reason, evidence)
    if not selection.exclude:
        for item, names in selection.matches.items():
            if not names:
                reason = f"{item} matches no interface; there are {', '.join(interfaces)}"
                return Finding(WARN, IFNAME, "every name matches", observed, reason, evidence)
            if len(names) > 1:
                reason = f"{item} is the beginning of {', '.join(names)}, and RCCL may use each"
                return Finding(WARN, IFNAME, "one interface a name", observed, reason, evidence)
    return Finding(OK, IFNAME, "one interface or more", observed, "", evidence)


@check(
    "rccl.conf_sources",
    "Each value that RCCL reads is the profile's, and no other place says otherwise",
    areas=AREAS,
    required=False,
    remedy="Keep a value in one place: rccl_extra_env of the inventory, or the job's own environment.",
)
def conf_sources(context: CheckContext) -> c.Iterator[Finding]:
    """Tell for each variable of RCCL the value that a job gets and where it comes from.

    The environment wins over ~/.rccl.conf, and that over /etc/rccl.conf.
    """
    sources = sources_of(context)
    wanted = _planned(context)
    set_names = {entry.name for source in sources for entry in source.parsed.assignments}
    names = sorted({*wanted, *set_names} & _rccl_names(str(context.option("rocm_release"))))
    if not names:
        yield skipped("no place sets a variable of RCCL, and the profile has none")
    for name in names:
        yield _sourced(name, sources, wanted.get(name))


@functools.cache
def _rccl_names(release: str) -> frozenset[str]:
    registry = default_registry()
    return frozenset(
        name
        for name in registry.variables
        for state in registry.states(name, release)
        if state.kind == "read" and state.variable.component.id == "rccl"
    )


def _planned(context: CheckContext) -> dict[str, str]:
    """Return what the profile says, as the plan renders it."""
    entry = planned_file(context, SYSTEM_CONF)
    parsed = parsers.parse(str(entry["content"]), "rccl_conf") if entry is not None else None
    return {} if parsed is None else {name: str(held.value) for name, held in parsed.effective().items()}


def _rank(source: Source) -> int:
    """Return how early RCCL finds a place: a process's environment, the files that make one, then its own files."""
    if source.process:
        return 0
    if source.path.endswith("/" + USER_CONF):
        return 2
    return 3 if source.path == SYSTEM_CONF else 1


def _sourced(name: str, sources: list[Source], wanted: str | None) -> Finding:
    # Of files that shells read the last one wins, and the snapshot has them in that order.
    last_first = values_of(sources, name)[::-1]
    found = sorted(last_first, key=lambda pair: _rank(pair[0]))
    if not found:
        return Finding(
            WARN, name, f"{name}={wanted}", "set nowhere", "the profile's files were not read or lack it", "/etc"
        )
    told = [f"{assignment.value} from {place(source, assignment.line)}" for source, assignment in found]
    values = {str(assignment.value) for _source, assignment in found}
    first, evidence = str(found[0][1].value), place(found[0][0], found[0][1].line)
    expected = f"{name}={wanted}" if wanted is not None else "one value"
    if wanted is not None and first != wanted:
        return Finding(
            WARN, name, expected, "; ".join(told), f"the profile says {wanted}, a job gets {first}", evidence
        )
    if len(values) > 1:
        return Finding(WARN, name, expected, "; ".join(told), f"places differ; a job gets {first}", evidence)
    return Finding(OK, name, expected, "; ".join(told), "", evidence)


@check(
    "rccl.graph_file_injected",
    "No file on the node gives RCCL ready-made rings",
    areas=AREAS,
    remedy="Take NCCL_GRAPH_FILE out: rings of another machine end the job, and RCCL finds its own from the topology.",
)
def graph_file_injected(context: CheckContext) -> c.Iterator[Finding]:
    """Look for NCCL_GRAPH_FILE in every place, which images for larger machines are known to set."""
    found = [
        (source, entry) for source in sources_of(context) for entry in source.parsed.assignments if entry.name == GRAPH
    ]
    for source, entry in found:
        value = entry.value if entry.value is not None else entry.known
        reason = "a graph that does not fit ends the job: a GPU of the file is not found"
        yield Finding(FAIL, GRAPH, "not set", str(value), reason, place(source, entry.line))
    if not found:
        yield summed_up(context, f"{GRAPH} is set nowhere")


@check(
    "env.applied",
    "A run took the variables of the profile",
    areas=AREAS,
    required=False,
    remedy="See that the job gets them: a launcher over ssh passes on few variables, and /etc/rccl.conf needs none.",
)
def applied(context: CheckContext) -> c.Iterator[Finding]:
    """Compare the profile with what RCCL says it took, in the log of a run with NCCL_DEBUG=INFO (rccl_debug_log).

    Of the numbers every one that is taken is logged; one that the log does not name was not read.
    """
    logs = context.snapshot["environment"].get("logs") or []
    if not logs:
        yield skipped("rccl_debug_log names no log of a run with NCCL_DEBUG=INFO")
        return
    wanted = _planned(context)
    for log in logs:
        if log["taken"] is None:
            yield unknown(context.problem(log["path"], "environment"), log["path"], log["path"])
            continue
        yield from _compared(log, wanted)


def _compared(log: c.Mapping[str, object], wanted: c.Mapping[str, str]) -> c.Iterator[Finding]:
    taken, path = log["taken"], str(log["path"])
    assert isinstance(taken, dict)
    registry = default_registry()
    for name, value in wanted.items():
        forms = {variable.form for variable in registry.variables.get(name, ()) if variable.component.id == "rccl"}
        if name in taken and taken[name] != value:
            yield Finding(WARN, name, value, str(taken[name]), "the job was given another value", path)
        elif name in taken:
            yield Finding(OK, name, value, str(taken[name]), "", path)
        elif forms & _LOGGED_FORMS:
            yield Finding(WARN, name, value, "not in the log", "RCCL did not take it in this run", path)
    others = sorted(set(taken) - set(wanted))
    if others:
        observed = ", ".join(f"{name}={taken[name]}" for name in others)
        yield Finding(OK, "other variables", "what the job sets", observed, "", path)


@check(
    "rccl.memory",
    "What RCCL's buffers take of each card is told, without the profile and with it",
    areas=("pci.gpus",),
    required=False,
    remedy="Choose another rccl_profile where it is too much: low_memory takes the least.",
)
def memory(context: CheckContext) -> c.Iterator[Finding]:
    """Repeat the plan's bounds of the device memory that RCCL takes on each rank. Nothing is judged."""
    told = [str(note) for note in context.plan.get("notes") or () if str(note).startswith(MEMORY)]
    for note in told:
        subject, _colon, text = note.partition(": ")
        yield Finding(OK, subject, "bounds", text, "", "the formula of RCCL's source")
    if not told:
        yield skipped("the plan of this node has no bounds: no GPU was seen")
