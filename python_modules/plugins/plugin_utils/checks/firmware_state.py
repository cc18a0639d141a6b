# SPDX-License-Identifier: Apache-2.0
"""Check firmware against what is known, what the operator asks for, and what the driver needs to start."""

from __future__ import annotations

import collections
import collections.abc as c

from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.firmware import by_board
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.firmware_fields import (
    NotComparable,
    parse_minimum,
    readings,
    shown,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.hardware import PCI_ROOT, Json, pci_gpus
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

FOLDER = "/lib/firmware"
VENDOR = "Firmware of a card comes from the server's vendor; amdgpu must not be loaded while it is written."


@check(
    "fw.vbios_allowed",
    "Each GPU's VBIOS is one that is known",
    areas=("pci.gpus",),
    required=False,
    remedy="A board vendor's own VBIOS is rightly another one: declare it in fw_vbios_allowed. Else ask the vendor.",
)
def vbios_allowed(context: CheckContext) -> c.Iterator[Finding]:
    """Compare each VBIOS with the model's list and with fw_vbios_allowed. Another one is only warned of."""
    known = [*context.model.get("vbios_known", []), *(context.option("fw_vbios_allowed") or [])]
    gpus = pci_gpus(context)
    if not gpus or not known:
        yield skipped(f"no {context.model['title']} on PCI" if not gpus else "the catalog knows none of this model")
        return
    for gpu in gpus:
        path, vbios = f"{PCI_ROOT}/{gpu['bdf']}/vbios_version", gpu.get("vbios")
        expected = ", ".join(known)
        if vbios is None:
            why = "without a driver there is none" if not gpu.get("driver") else context.problem(path, "pci")
            yield unknown(why, path, gpu["bdf"], expected)
        elif vbios in known:
            yield Finding(OK, gpu["bdf"], expected, vbios, "", path)
        else:
            reason = "not among those seen on such cards; each vendor of boards has its own"
            yield Finding(WARN, gpu["bdf"], expected, vbios, reason, path)


@check(
    "fw.microcode_uniform",
    "Cards of one board run the same microcode",
    areas=("pci.gpus",),
    remedy=(
        "Reboot: the driver loads the same files into every card. If they still differ, the cards' own flash differs: "
        f"{VENDOR}"
    ),
)
def microcode_uniform(context: CheckContext) -> c.Iterator[Finding]:
    """Group the GPUs by board and require one version of each firmware within a group."""
    boards = by_board(context)
    if not boards:
        yield skipped(f"no {context.model['title']} on PCI")
    for board, gpus in sorted(boards.items()):
        yield _judge_microcode(context, board, gpus)


def _judge_microcode(context: CheckContext, board: str, gpus: list[Json]) -> Finding:
    fields = sorted({field for gpu in gpus for field in gpu.get("firmware") or {}})
    odd: list[str] = []
    where = ""
    hidden: str | None = None
    for field in fields:
        seen = {str(gpu["bdf"]): readings(gpu, field) for gpu in gpus}
        counts = collections.Counter(value for value in seen.values() if value is not None)
        usual = counts.most_common(1)[0][0] if counts else None
        for bdf, value in seen.items():
            path = f"{PCI_ROOT}/{bdf}/fw_version/{field}_fw_version"
            if value is None:
                hidden = hidden or path
            elif value != usual:
                where = where or path
                odd.append(f"{bdf} has {field} {shown(field, value)}, the others {shown(field, str(usual))}")
    if odd:
        return Finding(FAIL, board, "one version of each", f"{len(odd)} differ", "; ".join(odd[:6]), where)
    path = f"{PCI_ROOT}/{gpus[0]['bdf']}/fw_version"
    if not fields:
        bare = not any(gpu.get("driver") for gpu in gpus)
        return unknown("without a driver there is none" if bare else context.problem(path, "pci"), path, board)
    if hidden is not None:
        return unknown(context.problem(hidden, "pci"), hidden, board, "one version of each")
    return Finding(OK, board, "one version of each", f"{len(fields)} firmwares, all alike", "", path)


@check(
    "fw.minimum",
    "Each GPU's firmware is at least what the operator asks for",
    areas=("pci.gpus",),
    remedy=VENDOR,
)
def minimum(context: CheckContext) -> c.Iterator[Finding]:
    """Compare each field of fw_minimum in its own form: bytes with dots, a number, or a VBIOS's last number."""
    wanted = context.option("fw_minimum") or {}
    if not wanted:
        yield skipped("fw_minimum asks for nothing")
        return
    gpus = pci_gpus(context)
    if not gpus:
        yield skipped(f"no {context.model['title']} on PCI")
    for field, value in wanted.items():
        least = parse_minimum(str(field), value)
        for gpu in gpus:
            path = f"{PCI_ROOT}/{gpu['bdf']}/" + (
                "vbios_version" if least.field == "vbios" else f"fw_version/{least.field}_fw_version"
            )
            subject, expected = f"{gpu['bdf']} {least.field}", f"{least.text} or newer"
            reading = readings(gpu, least.field)
            if reading is None:
                yield unknown(context.problem(path, "pci"), path, subject, expected)
                continue
            observed = shown(least.field, reading)
            try:
                met = least.is_met(reading)
            except NotComparable as error:
                yield unknown(str(error), path, subject, expected)
                continue
            reason = "" if met else f"{least.field} {observed} is older than {least.text}"
            yield Finding(OK if met else FAIL, subject, expected, observed, reason, path)


@check(
    "fw.present_for_gpu",
    "The kernel finds the firmware files that the GPU's driver asks for",
    areas=("firmware_files", "pci.gpus"),
    remedy=(
        "apt-get install --reinstall linux-firmware, with AMD's driver also amdgpu-dkms-firmware, then "
        "update-initramfs -u. Without its files the driver gives every card up at the next boot."
    ),
)
def present_for_gpu(context: CheckContext) -> c.Iterator[Finding]:
    """Look for the model's files in the kernel's own order of folders, compressed or not, and in the kernel log."""
    if not pci_gpus(context):
        yield skipped(f"no {context.model['title']} on PCI")
        return
    found: dict[str, str] = context.snapshot["firmware_files"]["found"]
    wanted = [str(name) for name in context.model.get("firmware_files") or []]
    lacking = [name for name in wanted if name not in found]
    log = context.snapshot.get("kernel_log") or {}
    failed = [event for event in log.get("events") or [] if event["kind"] == "firmware_missing"]
    ours = [str(event["detail"]) for event in failed if str(event["detail"]).rpartition("/")[2] in wanted]
    expected = f"{len(wanted)} files of {context.model['title']}"
    if lacking:
        reason = f"not in any folder that the kernel looks in: {', '.join(lacking)}"
        yield Finding(FAIL, "amdgpu", expected, f"{len(lacking)} missing", reason, f"{FOLDER}/amdgpu/{lacking[0]}")
    elif ours:
        reason = f"the kernel could not load {', '.join(ours)} in this boot: the initramfs may lack it"
        yield Finding(WARN, "amdgpu", expected, "there, not loaded", reason, "kernel log")
    else:
        yield Finding(
            OK, "amdgpu", expected, f"{len(wanted)} there", "", found.get(wanted[0], FOLDER) if wanted else FOLDER
        )


@check(
    "fw.package_verify",
    "No package has lost firmware files of an Instinct card",
    areas=("firmware_files",),
    required=False,
    remedy="Reinstall the named package: an uninstall of an old driver deleted files that are not its own.",
)
def package_verify(context: CheckContext) -> c.Iterator[Finding]:
    """Compare the lists of the firmware packages with what is there."""
    missing = context.snapshot["firmware_files"]["missing"]
    if not missing:
        yield Finding(OK, "", "all files", "all files", "", "/var/lib/dpkg/info")
    for entry in missing:
        reason = f"a file of {entry['package']} is gone"
        yield Finding(FAIL, entry["path"], "there", "missing", reason, entry["path"])
