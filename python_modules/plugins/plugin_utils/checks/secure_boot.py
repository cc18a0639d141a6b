# SPDX-License-Identifier: Apache-2.0
"""Check that the machine will let the driver in at the next boot: Secure Boot, and blacklists."""

from __future__ import annotations

import collections.abc as c

from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.hardware import Json
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.model import (
    FAIL,
    OK,
    CheckContext,
    Finding,
    skipped,
    unknown,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.registry import check

EFIVARS = "/sys/firmware/efi/efivars"
MOK = "/var/lib/shim-signed/mok/MOK.der"


@check(
    "boot.secureboot_module_trust",
    "The driver's module will be let in at the next boot",
    areas=("secure_boot", "modules.file"),
    remedy=(
        f"mokutil --import {MOK} (the key that dkms signs with), reboot, and confirm the key at the console: the blue "
        "screen of MokManager, which no playbook can answer. Or switch Secure Boot off in the BIOS."
    ),
)
def module_trust(context: CheckContext) -> c.Iterator[Finding]:
    """Compare who signed the module with whom the firmware, the owner's list and the kernel trust.

    With Secure Boot off nothing is asked. A module that is loaded now proves nothing: trust is asked at the next boot.
    """
    state: Json = context.snapshot["secure_boot"]
    file: Json = context.snapshot["modules"]["file"]
    if state.get("efi") is False:
        yield Finding(OK, "amdgpu", "trusted", "no EFI", "the machine was not started by EFI: no Secure Boot", EFIVARS)
    elif state.get("enabled") is False:
        yield Finding(OK, "amdgpu", "trusted", "Secure Boot is off", "", EFIVARS)
    elif state.get("enabled") is None:
        yield unknown(context.problem("", "secure_boot"), EFIVARS, "amdgpu", "trusted")
    else:
        yield _judge(context, state, file)


def _judge(context: CheckContext, state: Json, file: Json) -> Finding:
    path = str(file.get("path") or "/lib/modules")
    if file.get("path") is None:
        return skipped("no amdgpu module for the running kernel: see dkms.built_for_running", "amdgpu")
    if "/kernel/" in path:
        return Finding(OK, "amdgpu", "trusted", "the kernel's own", "the distribution signs its own modules", path)
    if file.get("signed") is False:
        reason = "Secure Boot is on, and the module has no signature"
        return Finding(FAIL, "amdgpu", "a trusted signature", "not signed", reason, path)
    trusted = {*(state.get("enrolled") or []), *(state.get("kernel_keys") or [])}
    signer = file.get("signer")
    if signer in trusted:
        return Finding(OK, "amdgpu", "a trusted signature", str(signer), "", path)
    if signer is None or (state.get("enrolled") is None and state.get("kernel_keys") is None):
        why = context.problem(path, "secure_boot")
        return unknown(why, path if signer is None else EFIVARS, "amdgpu", "a trusted signature")
    reason = f"Secure Boot is on, and the key {signer!r} that signed the module is not enrolled"
    return Finding(FAIL, "amdgpu", "a trusted signature", f"{signer}, not enrolled", reason, path)


@check(
    "mod.blacklist_state",
    "Nothing keeps the driver from loading, or something loads it later on purpose",
    areas=("modules.blacklisted_by",),
    remedy=(
        "Remove the named line if nobody put it there on purpose. Where early loading loses GPUs, keep it and add a "
        "unit that runs modprobe amdgpu after the boot."
    ),
)
def blacklist_state(context: CheckContext) -> c.Iterator[Finding]:
    """Look at modprobe.d, at the command line, and for a unit, modules-load.d or rc.local that loads amdgpu."""
    modules: Json = context.snapshot["modules"]
    blacklisted = [str(place) for place in modules["blacklisted_by"]]
    loaders = modules.get("loaders")
    if not blacklisted:
        yield Finding(OK, "amdgpu", "not blacklisted", "not blacklisted", "", "/etc/modprobe.d")
        return
    evidence = "/proc/cmdline" if blacklisted[0] == "cmdline" else blacklisted[0]
    observed = f"blacklisted by {', '.join(blacklisted)}"
    if loaders is None:
        yield unknown(context.problem("", "modules"), "/etc/systemd/system", "amdgpu", "not blacklisted")
    elif loaders:
        reason = f"on purpose: {', '.join(loaders)} loads it later"
        yield Finding(OK, "amdgpu", "a loader for what is blacklisted", observed, reason, evidence)
    else:
        reason = f"{observed}, and nothing loads it later"
        yield Finding(FAIL, "amdgpu", "a loader for what is blacklisted", observed, reason, evidence)
