# SPDX-License-Identifier: Apache-2.0
"""Say what RCCL makes of a topology file: refuse it, misread it, complete it, or take it."""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ansible_collections.instinct.bringup.plugins.plugin_utils.rccl_reader import (
    CHILDREN,
    MAX_ATTRIBUTES,
    MAX_CHILDREN,
    MAX_TEXT,
    Node,
    Rejected,
    number,
    read_topology,
)

# Worst first.
SEVERITIES = ("rejected", "silently_wrong", "incomplete", "ignored", "note")
OLDEST_KNOWN = (2, 13)
NEWEST_KNOWN = (2, 21)
# NCCL's parser has had room for so many elements since then; RCCL's has not been seen to differ.
_SMALLER_SINCE = (2, 21)
_SMALLER_NODES = 256

# RCCL compares the beginning of a text with these (graph/topo.cc).
_OLD_SPEEDS = ("2.5 GT/s", "5 GT/s", "8 GT/s", "16 GT/s", "32 GT/s")
_SPEEDS = (*_OLD_SPEEDS, "5.0 GT/s PCIe", "8.0 GT/s PCIe", "16.0 GT/s PCIe", "32.0 GT/s PCIe", "64.0 GT/s PCIe")
_CLASSES = ("0x060400", "0x068000", "0x068001", "0x03", "0x02")
# Accelerators, which the dumps of MI300X have.
_NEW_CLASSES = (*_CLASSES, "0x12")
_GCN_STRINGS = (2, 18)

# Without these the topology cannot be built, and detection never fills them in.
_NEEDED = {"cpu": ("numaid",), "pci": ("busid",), "xgmi": ("target", "count")}
# Detection on the host itself fills these in; anywhere else they lack.
_FILLED = {
    "cpu": ("arch",),
    "pci": ("class", "link_speed", "link_width"),
    "gpu": ("dev", "sm", "gcn", "arch", "gdr"),
    "xgmi": ("tclass",),
}
_FILLED_ON_X86 = ("vendor", "familyid", "modelid")
# What RCCL reads of each element, all versions together. keep and host_hash are its own marks.
_READ = {
    "system": {"version", "name"},
    "cpu": {"numaid", "affinity", "arch", "vendor", "familyid", "modelid", "host_hash"},
    "pci": {
        "busid", "class", "vendor", "device", "subsystem_vendor", "subsystem_device", "link_speed", "link_width",
    },
    "gpu": {"dev", "sm", "gcn", "arch", "rank", "gdr", "keep"},
    "xgmi": {"target", "count", "tclass"},
    "nic": set(),
    "net": {"name", "dev", "speed", "port", "guid", "maxconn", "gdr", "coll", "latency", "keep"},
}  # fmt: skip
# Read with strtol: a text is 0, and 100G is 100.
_NUMBERS = {
    "cpu": ("numaid", "familyid", "modelid"),
    "pci": ("link_width",),
    "gpu": ("dev", "sm", "arch", "gdr"),
    "xgmi": ("count",),
    "net": ("dev", "speed", "port", "maxconn", "gdr", "coll"),
}
_NUMBER = re.compile(r"\s*[+-]?(0[xX][0-9a-fA-F]+|[0-9]+)\s*")
_BUSID = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")


@dataclasses.dataclass(frozen=True)
class Finding:
    """Hold one finding. severity: one of SEVERITIES."""

    severity: str
    line: int
    message: str


def lint_topology(text: str, rccl_version: str) -> list[Finding]:
    """Return what RCCL of a version makes of a text, by line. A right file has notes at most.

    :raises ValueError: rccl_version is not a version such as 2.13.4.
    """
    if not re.fullmatch(r"[0-9]+\.[0-9]+(\.[0-9]+)*", rccl_version):
        raise ValueError(f"rccl_version {rccl_version!r} is not a version such as 2.13.4")
    version = tuple(int(part) for part in rccl_version.split("."))
    findings = []
    if version[:2] < OLDEST_KNOWN:
        known = ".".join(map(str, OLDEST_KNOWN))
        findings.append(Finding("note", 1, f"RCCL {rccl_version} is older than the rules known here, those of {known}"))
    if version[:2] > NEWEST_KNOWN:
        known = ".".join(map(str, NEWEST_KNOWN))
        findings.append(Finding("note", 1, f"RCCL {rccl_version} is newer than the rules known here, those of {known}"))
    try:
        top = read_topology(text)
    except Rejected as error:
        return [*findings, Finding("rejected", error.line, error.message)]
    systems = top.children
    if not systems:
        return [*findings, Finding("ignored", 1, "no system element: RCCL takes what it detects itself")]
    nodes = [node for system in systems for node in system.walk()]
    findings += [finding for node in [top, *nodes] for finding in _shape(node)]
    findings += [finding for system in systems for finding in _version(system)]
    if version >= _SMALLER_SINCE and len(nodes) > _SMALLER_NODES:
        message = f"{len(nodes)} elements: newer parsers may have room for {_SMALLER_NODES} only"
        findings.append(Finding("note", 1, message))
    findings += [finding for node in nodes for finding in (*_attributes(node), *_values(node, version))]
    findings += _links(nodes)
    findings += _duplicates(nodes)
    return sorted(findings, key=lambda finding: (finding.line, SEVERITIES.index(finding.severity)))


def verdict(findings: t.Sequence[Finding]) -> str:
    """Return the worst severity of a file, or "ok" where there is none above a note."""
    worst = min((SEVERITIES.index(finding.severity) for finding in findings), default=len(SEVERITIES))
    return SEVERITIES[worst] if worst < SEVERITIES.index("note") else "ok"


def _shape(node: Node) -> t.Iterator[Finding]:
    """Judge what does not fit RCCL's arrays, or stands where RCCL does not look."""
    if len(node.children) > MAX_CHILDREN:
        message = f"{len(node.children)} elements in <{node.name}>: RCCL has room for {MAX_CHILDREN} and writes on"
        yield Finding("silently_wrong", node.line, message)
    if node.surplus:
        names = ", ".join(node.surplus)
        yield Finding("ignored", node.line, f"attributes after the first {MAX_ATTRIBUTES} are dropped: {names}")
    for name in node.bare:
        yield Finding("silently_wrong", node.line, f"{name} in <{node.name}> has no value: RCCL takes it as empty or 0")
    for name, value in node.attributes.items():
        if len(value) > MAX_TEXT:
            message = f"{name} is {len(value)} characters long: RCCL has room for {MAX_TEXT} and writes on"
            yield Finding("silently_wrong", node.line, message)
    for child in node.dropped:
        if child.name == "nvlink":
            yield Finding("silently_wrong", child.line, "<nvlink> is dropped by RCCL; on AMD the element is <xgmi>")
        elif child.name in CHILDREN:
            where = f"in <{node.name}>" if node.name else "at the top"
            yield Finding("silently_wrong", child.line, f"<{child.name}> {where} is dropped with all that is in it")
        else:
            yield Finding("note", child.line, f"<{child.name}> is unknown to RCCL and dropped")


def _version(system: Node) -> t.Iterator[Finding]:
    version = system.get("version")
    if version is None or not re.match(r"\s*(0x0*|0*)2(?![0-9a-fA-F])", version):
        seen = "is missing" if version is None else f"is {version!r}"
        yield Finding("rejected", system.line, f"version of <system> {seen}; it must be 2")


def _attributes(node: Node) -> t.Iterator[Finding]:
    for name in _NEEDED.get(node.name, ()):
        if node.get(name) is None:
            yield Finding("rejected", node.line, f"<{node.name}> without {name}, which RCCL never fills in")
    wanted = _FILLED.get(node.name, ())
    if node.name == "cpu" and node.get("arch") in (None, "x86_64"):
        wanted += _FILLED_ON_X86
    missing = [name for name in wanted if node.get(name) is None]
    if missing:
        message = f"<{node.name}> without {', '.join(missing)}: only detection on the host itself fills that in"
        yield Finding("incomplete", node.line, message)
    unread = sorted(set(node.attributes) - _READ.get(node.name, set(node.attributes)))
    if unread:
        yield Finding("note", node.line, f"<{node.name}> has what RCCL does not read: {', '.join(unread)}")
    if node.name == "net" and node.get("dev") is None:
        yield Finding("note", node.line, "<net> without dev is left out unless RCCL finds a device of that name")


def _values(node: Node, version: tuple[int, ...]) -> t.Iterator[Finding]:
    classes = _NEW_CLASSES if version >= _GCN_STRINGS else _CLASSES
    speed, tclass, rank = node.get("link_speed"), node.get("tclass"), node.get("rank")
    for name in _NUMBERS.get(node.name, ()):
        value = node.get(name)
        # An empty link_width is what RCCL itself writes where /sys tells none.
        if value and not _NUMBER.fullmatch(value):
            yield Finding(
                "silently_wrong", node.line, f"{name} {value!r} is no number: RCCL reads it as {number(value)}"
            )
    for busid in filter(None, (node.get("busid"), node.get("target"))):
        if not _BUSID.fullmatch(busid):
            message = (
                f"{busid!r} is not of the form 0000:23:00.0: on the host RCCL finds no device by it and adds its own"
            )
            yield Finding("note", node.line, message)
    if node.name == "pci" and speed is not None and not speed.startswith(_SPEEDS):
        yield Finding("silently_wrong", node.line, f"link_speed {speed!r} is not understood: RCCL plans with 8 GT/s")
    if node.name == "xgmi" and tclass is not None and not tclass.startswith(classes):
        yield Finding("silently_wrong", node.line, f"tclass {tclass!r} is unknown: the target becomes a switch")
    if node.name != "gpu":
        return
    gcn = node.get("gcn")
    if gcn is not None and version < _GCN_STRINGS and not gcn.isdigit():
        yield Finding(
            "note", node.line, f"gcn {gcn!r}: RCCL before 2.18 writes a number, 910 for gfx90a, and reads this as 0"
        )
    if rank is not None and "," in rank and version < _GCN_STRINGS:
        yield Finding("silently_wrong", node.line, f"rank {rank!r}: RCCL sees two ranks on one GPU; leave rank out")
    elif rank is not None:
        wrong = "appends its own and makes two ranks of one GPU" if version < _GCN_STRINGS else "overwrites it"
        yield Finding("note", node.line, f"rank stands in dumps; RCCL {wrong}. Leave it out")


def _links(nodes: t.Sequence[Node]) -> t.Iterator[Finding]:
    seen: dict[tuple[str, str], Node] = {}
    gpus = set()
    for node in nodes:
        pci = node.parent
        if node.name == "gpu" and pci is not None and pci.get("busid"):
            gpus.add(bus_number(pci.get("busid")))
        if node.name == "xgmi" and pci is not None and pci.parent is not None and node.get("target"):
            seen[bus_number(pci.parent.get("busid")), bus_number(node.get("target"))] = node
    for (source, target), node in seen.items():
        to_gpu = (node.get("tclass") or "0x03").startswith(("0x03", "0x12"))
        if to_gpu and target not in gpus:
            yield Finding("rejected", node.line, f"xgmi to {node.get('target')}, which is no GPU of this file")
        elif to_gpu and (target, source) not in seen:
            yield Finding(
                "rejected", node.line, f"xgmi to {node.get('target')} has no reverse: RCCL finds no path back"
            )


def _duplicates(nodes: t.Sequence[Node]) -> t.Iterator[Finding]:
    first: dict[str, int] = {}
    for node in nodes:
        if node.name == "pci" and node.get("busid"):
            number = bus_number(node.get("busid"))
            if number in first:
                message = f"busid {node.get('busid')} stands in line {first[number]} too: RCCL takes one of them"
                yield Finding("silently_wrong", node.line, message)
            first.setdefault(number, node.line)


def bus_number(busid: str | None) -> str:
    """Return a bus id as RCCL compares it: its hexadecimal digits as one number."""
    return "".join(re.findall("[0-9a-f]", (busid or "").lower())).lstrip("0")
