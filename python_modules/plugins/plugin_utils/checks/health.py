# SPDX-License-Identifier: Apache-2.0
"""Check what the driver and the kernel's log say of each GPU's health."""

from __future__ import annotations

import collections.abc as c

from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.hardware import (
    PCI_ROOT,
    Json,
    compute_cards,
    gpu_events,
    pci_gpus,
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

LOG = "kernel log"
# The driver's own words for having given a card up.
GAVE_UP = ("init_fatal", "post_error", "probe_failed", "discovery")
ERRNO = {"-12": "no memory: mostly a BAR that found no place", "-22": "invalid: the card did not start"}


@check(
    "gpu.init_fatal",
    "The driver has not given up any GPU in this boot",
    areas=("pci.gpus", "kernel_log"),
    required=False,
    remedy=(
        "Read the log around the named line. -12 with BARs: see pcie.bar_assigned. A post error: power the node off, "
        "not only reset it, then reseat the card; if it comes again, the card's firmware or the card is broken."
    ),
)
def init_fatal(context: CheckContext) -> c.Iterator[Finding]:
    """Look in the kernel log for each GPU's failed start. A card that is driven by now is only warned of."""
    gpus = pci_gpus(context)
    if not gpus:
        yield skipped(f"no {context.model['title']} on PCI")
    for gpu in gpus:
        events = [event for event in gpu_events(context, gpu["bdf"]) if event["kind"] in GAVE_UP]
        if not events:
            yield Finding(OK, gpu["bdf"], "no failed start", "none", "", LOG)
            continue
        number = next((str(event["detail"]) for event in events if event["kind"] == "probe_failed"), "")
        cause = next((event for event in events if event["kind"] in ("post_error", "discovery")), events[0])
        reason = str(cause["text"]) + (f" (error {number}, {ERRNO[number]})" if number in ERRNO else "")
        if gpu.get("driver") == "amdgpu":
            reason += "; by now the driver drives it"
            yield Finding(WARN, gpu["bdf"], "no failed start", number or "failed", reason, LOG)
        else:
            yield Finding(FAIL, gpu["bdf"], "no failed start", number or "failed", reason, LOG)


@check(
    "ras.uncorrectable",
    "No GPU has counted an error that it could not correct",
    areas=("pci.gpus",),
    required=False,
    remedy=(
        "Drain the node and reboot it, which retires the bad pages. If the counter of the same card rises again, "
        "replace the card: a job that read such memory has a wrong result."
    ),
)
def uncorrectable(context: CheckContext) -> c.Iterator[Finding]:
    """Sum the uncorrectable errors of every block of each GPU. A driver without RAS is skipped, not ok."""
    gpus = pci_gpus(context)
    if not gpus:
        yield skipped(f"no {context.model['title']} on PCI")
    for gpu in gpus:
        yield _judge_ras(context, gpu)


def _judge_ras(context: CheckContext, gpu: Json) -> Finding:
    place = f"{PCI_ROOT}/{gpu['bdf']}/ras"
    ras = (gpu.get("health") or {}).get("ras")
    said = next((event for event in gpu_events(context, gpu["bdf"]) if event["kind"] == "ras"), None)
    if said is not None:
        return Finding(FAIL, gpu["bdf"], "0", str(said["detail"]), str(said["text"]), LOG)
    if gpu.get("health") is None:
        return skipped("without a driver nobody counts", gpu["bdf"])
    if ras is None or not ras.get("blocks"):
        why = context.unreadable(place)
        if why:
            return unknown(why, place, gpu["bdf"], "0")
        return skipped("this driver shows no RAS counters of it (the kernel's own mostly does not)", gpu["bdf"])
    blocks = ras["blocks"]
    wrong = {name: counts["ue"] for name, counts in sorted(blocks.items()) if counts and counts["ue"]}
    if wrong:
        observed = ", ".join(f"{number} in {name}" for name, number in wrong.items())
        file = f"{place}/{next(iter(wrong))}_err_count"
        return Finding(FAIL, gpu["bdf"], "0", observed, f"uncorrectable errors: {observed}", file)
    holes = [name for name, counts in sorted(blocks.items()) if counts is None]
    if holes:
        file = f"{place}/{holes[0]}_err_count"
        return unknown(context.problem(file, "pci"), file, gpu["bdf"], "0")
    pages = ras.get("bad_pages") or 0
    if pages:
        reason = f"{pages} pages of its memory are retired or wait for it"
        return Finding(WARN, gpu["bdf"], "0", f"0, {pages} bad pages", reason, f"{place}/gpu_vram_bad_pages")
    return Finding(OK, gpu["bdf"], "0", "0", "", place)


@check(
    "gpu.temperature",
    "No GPU is at its critical temperature",
    areas=("pci.gpus",),
    required=False,
    remedy="Look at the server's fans and air baffles, and at the room. A card at its limit runs slower without a word.",
)
def temperature(context: CheckContext) -> c.Iterator[Finding]:
    """Compare each sensor of each GPU with the card's own critical value: at it fails, within 5 degrees is warned of."""
    gpus = [gpu for gpu in compute_cards(context) if gpu.get("health")]
    if not gpus:
        yield skipped("no GPU that a driver measures")
    for gpu in gpus:
        sensors = ((gpu["health"].get("sensors") or {}).get("temperatures")) or {}
        known = [
            (float(entry["critical"]) - float(entry["celsius"]), name, entry)
            for name, entry in sorted(sensors.items())
            if entry.get("celsius") is not None and entry.get("critical")
        ]
        if not known:
            yield skipped("the driver shows no temperatures of it", gpu["bdf"])
            continue
        room, name, entry = min(known, key=lambda item: item[0])
        outcome = FAIL if room <= 0 else WARN if room <= 5 else OK
        reason = f"{name} is {room:.0f} degrees below its limit" if outcome != OK else ""
        wanted, seen = f"below {entry['critical']:.0f} C", f"{name} {entry['celsius']:.0f} C"
        yield Finding(outcome, gpu["bdf"], wanted, seen, reason, f"{PCI_ROOT}/{gpu['bdf']}/hwmon")
