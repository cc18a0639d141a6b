# SPDX-License-Identifier: Apache-2.0
"""Check what a GPU needs of the bus beside a full link: windows, atomic operations, direct paths, no errors."""

from __future__ import annotations

import collections.abc as c

from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.hardware import (
    PCI_ROOT,
    Json,
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

_GIB = 1 << 30
_GUEST = "a hypervisor owns the bus: what the guest shows of it is not how it is set"


@check(
    "pcie.bar_assigned",
    "Every window of each GPU has an address, and the first one covers the card's memory",
    areas=("pci.gpus",),
    remedy=(
        "In the BIOS enable Above 4G Decoding and Resizable BAR, set the MMIO limit high enough (44 bits or more for "
        "several cards), and disable SR-IOV unless guests need it. Where only SR-IOV windows find no place, boot with "
        "pci=realloc=off."
    ),
)
def bar_assigned(context: CheckContext) -> c.Iterator[Finding]:
    """Read each GPU's resource file: a window without an address fails, one smaller than the memory is warned of."""
    gpus = pci_gpus(context)
    if not gpus:
        yield skipped(f"no {context.model['title']} on PCI")
    for gpu in gpus:
        yield _judge_bars(context, gpu)


def _judge_bars(context: CheckContext, gpu: Json) -> Finding:
    path = f"{PCI_ROOT}/{gpu['bdf']}/resource"
    bars = gpu.get("bars")
    memory = int(gpu.get("vram_bytes") or context.model["vram_bytes"])
    expected = f"BAR 0 of {_size(memory)} or more"
    if bars is None:
        return unknown(context.problem(path, "pci"), path, gpu["bdf"], expected)
    lacking = [int(bar["index"]) for bar in bars if not bar["size"]]
    first = next((int(bar["size"]) for bar in bars if bar["index"] == 0), 0)
    if lacking or not bars:
        reason = f"BAR {', '.join(map(str, lacking)) or '0'} has no address: the driver gives such a card up"
        said = next((event["text"] for event in gpu_events(context, gpu["bdf"]) if event["kind"] == "bar_no_space"), "")
        return Finding(FAIL, gpu["bdf"], expected, "not assigned", f"{reason}. {said}".rstrip(". "), path)
    if first < memory:
        reason = "the window is smaller than the card's memory: other cards cannot reach all of it over PCIe"
        return Finding(WARN, gpu["bdf"], expected, _size(first), reason, path)
    return Finding(OK, gpu["bdf"], expected, _size(first), "", path)


def _size(number: int) -> str:
    return f"{number / _GIB:.0f} GiB" if number >= _GIB else f"{number / (1 << 20):.0f} MiB"


def _virtual(context: CheckContext) -> str | None:
    from_system = (context.snapshot.get("system") or {}).get("virtualization")
    return str(from_system) if from_system not in (None, "docker", "lxc", "podman", "systemd-nspawn") else None


@check(
    "pcie.atomics",
    "Atomic operations of each GPU reach the processor",
    areas=("pci.gpus",),
    required=False,
    remedy=(
        "Use a slot whose every port routes atomic operations, update the BIOS and the firmware of the switch, and "
        "look in the BIOS for AtomicOp or PCIe atomics."
    ),
)
def atomics(context: CheckContext) -> c.Iterator[Finding]:
    """Read DevCap2 and DevCtl2 of the way up: each switch port routes, the root port completes, the GPU may ask."""
    gpus = pci_gpus(context)
    if not gpus:
        yield skipped(f"no {context.model['title']} on PCI")
    for gpu in gpus:
        yield _judge_atomics(context, gpu)


def _judge_atomics(context: CheckContext, gpu: Json) -> Finding:
    expected, place = "routed up to the root port", f"{PCI_ROOT}/{gpu['bdf']}/config"
    for event in gpu_events(context, gpu["bdf"]):
        if event["kind"] == "atomics_missing":
            return Finding(FAIL, gpu["bdf"], expected, "not supported", str(event["text"]), "kernel log")
    if _virtual(context):
        return skipped(_GUEST, gpu["bdf"])
    path = list(gpu.get("path") or [])
    for port in path:
        able, file = port.get("atomics"), f"{PCI_ROOT}/{port['bdf']}/config"
        if able is None:
            return unknown(context.problem(file, "pci"), file, gpu["bdf"], expected)
        if port is not path[-1] and not able["routing"]:
            reason = f"port {port['bdf']} does not route atomic operations"
            return Finding(FAIL, gpu["bdf"], expected, "not routed", reason, file)
        if port is path[-1] and not (able["completer_32"] or able["completer_64"]):
            reason = f"root port {port['bdf']} does not complete atomic operations"
            return Finding(FAIL, gpu["bdf"], expected, "not completed", reason, file)
    own = gpu.get("atomics")
    if own is None:
        return unknown(context.problem(place, "pci"), place, gpu["bdf"], expected)
    if not path:
        return unknown("the way up to the root port is not known", place, gpu["bdf"], expected)
    if not own["requester"]:
        if gpu.get("driver") != "amdgpu":
            return skipped("the driver switches them on, and none drives this GPU", gpu["bdf"])
        reason = "the driver has not switched atomic requests on"
        return Finding(WARN, gpu["bdf"], expected, "switched off", reason, place)
    return Finding(OK, gpu["bdf"], expected, "routed", "", place)


@check(
    "pcie.acs_redirect",
    "No port redirects the traffic between GPUs through the processor",
    areas=("pci.gpus",),
    required=False,
    remedy=(
        "Switch ACS off in the BIOS, or per boot: setpci -s PORT ECAP_ACS+0x6.w=0000 for the named ports. Keep it "
        "where guests own GPUs: it is what keeps them apart."
    ),
)
def acs_redirect(context: CheckContext) -> c.Iterator[Finding]:
    """Walk from each GPU to the root port and read ACSCtl: ReqRedir or CmpltRedir on any port fails.

    Source validation alone does no harm. A register that cannot be read is unknown, never off.
    """
    gpus = pci_gpus(context)
    if not gpus:
        yield skipped(f"no {context.model['title']} on PCI")
        return
    if _virtual(context):
        yield skipped(_GUEST)
        return
    owned = [gpu["bdf"] for gpu in gpus if ((gpu.get("health") or {}).get("sriov_vfs") or 0) > 0]
    if owned:
        yield skipped(f"{', '.join(owned)} is shared with guests (SR-IOV), which ACS keeps apart")
        return
    for gpu in gpus:
        yield _judge_acs(context, gpu)


def _judge_acs(context: CheckContext, gpu: Json) -> Finding:
    redirecting: list[str] = []
    hidden: str | None = None
    for port in gpu.get("path") or []:
        acs, file = port.get("acs"), f"{PCI_ROOT}/{port['bdf']}/config"
        if acs is None:
            hidden = hidden or file
        elif acs.get("request_redirect") or acs.get("completion_redirect"):
            redirecting.append(str(port["bdf"]))
    if redirecting:
        reason = f"redirected at {', '.join(redirecting)}: transfers between GPUs can hang or arrive wrong"
        evidence = f"{PCI_ROOT}/{redirecting[0]}/config"
        return Finding(FAIL, gpu["bdf"], "ReqRedir- CmpltRedir-", "redirected", reason, evidence)
    if hidden is not None or not gpu.get("path"):
        file = hidden or f"{PCI_ROOT}/{gpu['bdf']}"
        return unknown(context.problem(file, "pci"), file, gpu["bdf"], "ReqRedir- CmpltRedir-")
    evidence = f"{PCI_ROOT}/{gpu['path'][-1]['bdf']}/config"
    return Finding(OK, gpu["bdf"], "ReqRedir- CmpltRedir-", "not redirected", "", evidence)


@check(
    "pcie.aer_fatal",
    "No GPU and no port above it has had a fatal bus error since the boot",
    areas=("pci.gpus",),
    required=False,
    remedy=(
        "Read the kernel log around the error. With an IOMMU that translates, boot with iommu=pt; else reseat the card "
        "and its riser, and try it in another slot. Reboot: a card that had a fatal error is not to be trusted."
    ),
)
def aer_fatal(context: CheckContext) -> c.Iterator[Finding]:
    """Read the kernel's AER counters of each GPU and its ports, and the kernel log: a fatal error fails.

    Errors that are not fatal, and counters that firmware keeps to itself, are told as such.
    """
    gpus = pci_gpus(context)
    if not gpus:
        yield skipped(f"no {context.model['title']} on PCI")
    for gpu in gpus:
        yield _judge_aer(context, gpu)


def _judge_aer(context: CheckContext, gpu: Json) -> Finding:
    devices = [gpu, *(gpu.get("path") or [])]
    nonfatal, counted, hidden = 0, False, None
    for device in devices:
        counters, place = device.get("aer"), f"{PCI_ROOT}/{device['bdf']}/aer_dev_fatal"
        if counters is None:
            continue
        counted = True
        if counters["fatal"]:
            reason = f"{counters['fatal']} fatal errors at {device['bdf']} since the boot"
            return Finding(FAIL, gpu["bdf"], "no fatal error", str(counters["fatal"]), reason, place)
        if counters["fatal"] is None:
            hidden = hidden or place
        nonfatal += counters["nonfatal"] or 0
    for event in gpu_events(context, *(str(device["bdf"]) for device in devices)):
        if event["kind"] == "aer" and "fatal" in str(event["detail"]).lower().replace("non-fatal", ""):
            return Finding(FAIL, gpu["bdf"], "no fatal error", "in the log", str(event["text"]), "kernel log")
    path = f"{PCI_ROOT}/{gpu['bdf']}/aer_dev_fatal"
    if hidden is not None:
        return unknown(context.problem(hidden, "pci"), hidden, gpu["bdf"], "no fatal error")
    if not counted:
        return skipped("the kernel keeps no error counters of it: the firmware handles them", gpu["bdf"])
    if nonfatal:
        reason = f"{nonfatal} errors that were not fatal but not corrected"
        return Finding(WARN, gpu["bdf"], "no fatal error", f"{nonfatal} non-fatal", reason, path)
    return Finding(OK, gpu["bdf"], "no fatal error", "0", "", path)
