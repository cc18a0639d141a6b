# SPDX-License-Identifier: Apache-2.0
"""Read the kernel's log: what the driver, the PCI bus and the firmware loader said since the boot.

The ring buffer forgets its oldest lines, so that nothing said here is no proof of health.
"""

from __future__ import annotations

import os
import re
from typing import Any, Callable, Dict, List, Match, Optional, Tuple

from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

KMSG = "/dev/kmsg"
# Where Ubuntu keeps the messages of the boot, and where a captured tree has them.
FILE = "/var/log/dmesg"
MAX_BYTES = 16 * 1024 * 1024
# One broken card writes the same line for hours.
MAX_EVENTS = 200
MAX_TEXT = 240
_RECORD = 8192

_BDF = r"(?P<bdf>[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])"
_STAMP = re.compile(r"^(?:<\d+>)?\[\s*\d+\.\d+\]\s?")
_HEX_ESCAPE = re.compile(r"\\x([0-9a-f]{2})")

Json = Dict[str, Any]


# Kind of event, words that every such line holds, and how it is worded, old and new. "detail" is what the kind is about.
# A pattern is made when its words are first met: most nodes meet none, and making all costs more than reading the log.
RULES: Tuple[Tuple[str, str, str], ...] = (
    ("probe_failed", "failed with error", r"probe of " + _BDF + r" failed with error (?P<detail>-\d+)"),
    (
        "probe_failed",
        "failed with error",
        _BDF + r": probe with driver amdgpu failed with error (?P<detail>-\d+)",
    ),
    ("post_error", "gpu post error", _BDF + r": .*gpu post error"),
    ("init_fatal", "Fatal error during GPU init", _BDF + r": .*Fatal error during GPU init"),
    ("discovery", "invalid ip discovery", r"(?:" + _BDF + r": )?.*get invalid ip discovery binary signature"),
    ("bar_no_space", "no space", _BDF + r": BAR (?P<detail>\d+)[: ].*(?:no space for|can't assign; no space)"),
    (
        "firmware_missing",
        "Direct firmware load",
        r"(?:" + _BDF + r": )?Direct firmware load for (?P<detail>\S+) failed with error -2",
    ),
    ("atomics_missing", "atomic ops", _BDF + r": .*PCIE atomic ops is not supported"),
    ("p2p_denied", "peer-to-peer", _BDF + r": cannot be used for peer-to-peer DMA"),
    (
        "link_limited",
        "available PCIe bandwidth",
        _BDF + r": (?P<detail>[0-9.]+ Gb/s available PCIe bandwidth, limited by .*)",
    ),
    (
        "key_rejected",
        "rejected",
        r"(?P<detail>Loading of unsigned module is rejected|Key was rejected by service)",
    ),
    ("key_rejected", "verification failed", r"(?P<detail>amdgpu: module verification failed: signature.*missing)"),
    (
        "aer",
        "PCIe Bus Error",
        r"(?:pcieport|amdgpu|pci) " + _BDF + r": (?:AER: )?PCIe Bus Error: severity=(?P<detail>[A-Za-z() -]+)",
    ),
    (
        "ras",
        "uncorrectable hardware errors",
        _BDF + r": .*(?P<detail>\d+ uncorrectable hardware errors detected in \w+ block)",
    ),
)
_HIVE = _BDF + r": (?:amdgpu: )?XGMI: Add node (?P<node>\d+), hive (?P<hive>0x[0-9a-f]+)"
_APEI = "[Hardware Error]"
_APEI_SEVERITY = r"\[Hardware Error\]:\s+(?:Error \d+, type|event severity): (?P<severity>\w+)"
_APEI_DEVICE = r"\[Hardware Error\]:\s+device_id: " + _BDF
_VRAM = _BDF + r": .*Detected VRAM RAM=(?P<ram>\d+)M, BAR=(?P<bar>\d+)M"


def _find(words: str, pattern: str, line: str) -> Optional[Match[str]]:
    """Search a line that holds some words; re keeps what it has compiled."""
    return re.search(pattern, line) if words in line else None


def parse_kernel_log(text: str) -> Json:
    """Return what a kernel log tells: "events", "hives" and "vram".

    events: [{"kind", "bdf", "detail", "text"}], the first 200. hives: {BDF: hive id as text}.
    vram: {BDF: {"ram_mib", "bar_mib"}}. whole: whether the log begins at the boot.
    """
    events: List[Json] = []
    hives: Dict[str, str] = {}
    vram: Dict[str, Json] = {}
    severity: Optional[str] = None
    whole = False
    for raw in text.splitlines():
        line = _STAMP.sub("", raw)
        whole = whole or line.startswith("Linux version ")
        severity, event = _apei(line, severity)
        event = event or _event(line)
        if event is not None and len(events) < MAX_EVENTS:
            events.append(event)
        found = _find("XGMI: Add node", _HIVE, line)
        if found:
            hives[found.group("bdf")] = found.group("hive")
        found = _find("Detected VRAM", _VRAM, line)
        if found:
            vram[found.group("bdf")] = {"ram_mib": int(found.group("ram")), "bar_mib": int(found.group("bar"))}
    return {"whole": whole, "events": events, "hives": hives, "vram": vram}


def _event(line: str) -> Optional[Json]:
    for kind, words, pattern in RULES:
        found = _find(words, pattern, line)
        if found:
            parts = found.groupdict()
            detail = (parts.get("detail") or "").strip() or None
            return {"kind": kind, "bdf": parts.get("bdf"), "detail": detail, "text": line[:MAX_TEXT]}
    return None


def _apei(line: str, severity: Optional[str]) -> Tuple[Optional[str], Optional[Json]]:
    """Follow the firmware's own report of an error: its severity comes lines before its device."""
    found = _find(_APEI, _APEI_SEVERITY, line)
    if found:
        return found.group("severity"), None
    found = _find(_APEI, _APEI_DEVICE, line)
    if found and severity:
        event = {"kind": "aer", "bdf": found.group("bdf"), "detail": severity, "text": line[:MAX_TEXT]}
        return None, event
    return severity, None


def read_kernel_log(tree: Tree, live: bool) -> Optional[Json]:
    """Return the snapshot's "kernel_log", None with a problem where no log can be read."""
    if live:
        text = read_ring(tree)
    else:
        text = tree.read_text("kernel_log", FILE, limit=MAX_BYTES)
    return parse_kernel_log(text) if text is not None else None


def read_ring(tree: Tree, read: Callable[[int, int], bytes] = os.read) -> Optional[str]:
    """Return the messages of the kernel's ring buffer, one a line, without waiting for new ones."""
    try:
        handle = os.open(tree.host_path(KMSG), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        tree.problem("kernel_log", KMSG, error)
        return None
    lines: List[str] = []
    size = 0
    try:
        while size < MAX_BYTES:
            try:
                record = read(handle, _RECORD)
            except BlockingIOError:
                break
            except BrokenPipeError:
                # The oldest records were overwritten while we read; the next read goes on behind them.
                continue
            if not record:
                break
            size += len(record)
            lines.append(message_of(record))
    except OSError as error:
        tree.problem("kernel_log", KMSG, error)
        return None
    finally:
        os.close(handle)
    return "\n".join(lines)


def message_of(record: bytes) -> str:
    """Return the message of a record such as b"6,339,5140900,-;NET: Registered\n SUBSYSTEM=net\n"."""
    text = record.decode("utf-8", "replace").partition("\n")[0]
    before, semicolon, message = text.partition(";")
    plain = message if semicolon and before[:1].isdigit() else text
    return _HEX_ESCAPE.sub(lambda found: chr(int(found.group(1), 16)), plain)
