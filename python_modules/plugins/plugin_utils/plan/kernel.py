# SPDX-License-Identifier: Apache-2.0
"""Plan around the kernel: which driver builds on it, which headers it needs, and which packages would bring the next."""

from __future__ import annotations

import fnmatch
import re
import typing as t

from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.model import PlanContext, Refusal

# Packages that build AMD's driver with dkms.
_DRIVERS = ("amdgpu-dkms", "rock-dkms")
# Names of certificates that dkms or shim make for modules that are built on the machine.
_OWN_KEYS = ("Secure Boot Module Signature key", "DKMS module signing key")


def numbers(release: str) -> tuple[int, ...]:
    """Return the numbers that a kernel's release begins with: 6.14 is newer than 6.8, and 6.5 older than 6.11."""
    found = re.match(r"\d+(?:[.-]\d+)*", release)
    return tuple(int(part) for part in re.split(r"[.-]", found.group())) if found else ()


def begins_with(release: str, entry: str) -> bool:
    """Say whether a kernel is one of an entry such as "5.15" or "6.8.0-44"."""
    wanted = numbers(entry)
    return bool(wanted) and numbers(release)[: len(wanted)] == wanted


def bad_reason(driver: t.Mapping[str, t.Any], release: str) -> str | None:
    """Return why the driver of a catalog's release cannot be built on a kernel, None where nothing is known of that."""
    return next(
        (str(entry["reason"]) for entry in driver["known_bad_kernels"] if begins_with(release, str(entry["kernel"]))),
        None,
    )


def good_kernels(ctx: PlanContext) -> list[str]:
    """Return the kernels that the wanted driver is known to build on, for this distribution first."""
    system = f"{ctx.area('os')['id']}-{ctx.area('os')['version_id']}"
    table = [str(entry) for entry in ctx.driver_release["kernels"].get(system) or []]
    return list(dict.fromkeys([*table, *(str(entry) for entry in ctx.driver_release["known_good_kernels"])]))


def kernels_to_build_for(ctx: PlanContext) -> list[str]:
    """Return the running kernel and, where it is another, the one that the next boot starts."""
    kernel = ctx.area("kernel")
    return list(dict.fromkeys(release for release in (kernel.get("release"), kernel.get("next_release")) if release))


def kernel_refusals(ctx: PlanContext) -> list[Refusal]:
    """Return what stands against building the driver here. Without AMD's own driver nothing is built."""
    if not ctx.profile["rocm_dkms"]:
        return []
    return [*_known_bad(ctx), *_no_headers(ctx), *_secure_boot(ctx)]


def _known_bad(ctx: PlanContext) -> list[Refusal]:
    good = good_kernels(ctx)
    installed = ctx.area("kernel").get("installed") or []
    here = [release for release in installed if any(begins_with(release, entry) for entry in good)]
    newer = [
        name
        for name in ctx.catalog.releases
        if any(
            begins_with(str(ctx.area("kernel").get("release")), str(entry))
            for entry in ctx.catalog.release(name)["kernels"].get(f"ubuntu-{ctx.suffix}") or []
        )
    ]
    remedies = [
        f"boot {', '.join(here)}, which is installed" if here else f"install and boot a kernel {' or '.join(good)}"
    ]
    if newer:
        remedies.append(f"choose ROCm {', '.join(newer[:6])}, whose table has this kernel")
    remedies.append("or set rocm_dkms to false for the kernel's own driver")
    return [
        Refusal(
            "kernel.known_bad",
            f"kernel {release}",
            reason,
            " or ".join(good) or "a kernel that the driver builds on",
            "; ".join(remedies),
        )
        for release in kernels_to_build_for(ctx)
        if (reason := bad_reason(ctx.driver_release, release)) is not None
    ]


def _no_headers(ctx: PlanContext) -> list[Refusal]:
    kernel = ctx.area("kernel")
    release, headers = str(kernel.get("release") or ""), kernel.get("headers") or []
    if not release:
        return []
    package = str(ctx.distribution["headers_package"]).format(kernel=release)
    seen = (ctx.area("apt").get("policy") or {}).get(package) or {}
    is_distributions = re.fullmatch(str(ctx.distribution["kernel_pattern"]), release) is not None
    if release in headers or seen.get("candidate") or is_distributions:
        return []
    others = [name for name in kernel.get("installed") or [] if name in headers]
    return [
        Refusal(
            "kernel.headers_available",
            f"kernel {release}",
            f"not a distribution's kernel, and no source has {package}",
            "a kernel whose headers are there, since the driver is built against them",
            f"boot {', '.join(others)}, whose headers are installed"
            if others
            else "install and boot a distribution's kernel",
        )
    ]


def _secure_boot(ctx: PlanContext) -> list[Refusal]:
    state = ctx.area("secure_boot")
    if not state.get("enabled") or state.get("enrolled") is None:
        return []
    if any(key in str(name) for name in state["enrolled"] for key in _OWN_KEYS):
        return []
    return [
        Refusal(
            "boot.secure_boot",
            "Secure Boot",
            "on, and no key for modules that are built on this machine is enrolled",
            "the key that dkms signs with, enrolled: without it the driver is refused at the next boot",
            "run `update-secureboot-policy --new-key`, then `mokutil --import /var/lib/shim-signed/mok/MOK.der`, reboot and "
            "confirm the key at the console; or switch Secure Boot off; or set rocm_dkms to false",
        )
    ]


def kernel_notes(ctx: PlanContext) -> list[str]:
    """Return what a person should know of the kernel although nothing refuses it."""
    notes = []
    good = good_kernels(ctx)
    for release in kernels_to_build_for(ctx) if ctx.profile["rocm_dkms"] else []:
        if bad_reason(ctx.driver_release, release) is None and not any(begins_with(release, entry) for entry in good):
            known = " or ".join(good) or "none"
            notes.append(f"nothing is known of driver {ctx.driver['version']} on kernel {release}; known good: {known}")
    metas = [name for name in meta_packages(ctx) if not ctx.packages[name]["hold"]]
    if metas and not ctx.profile["rocm_hold_kernel"]:
        notes.append(
            f"{', '.join(metas)} may bring a kernel that driver {ctx.driver['version']} does not build on; "
            "rocm_hold_kernel: true holds them"
        )
    for lock in ctx.area("apt").get("locks") or []:
        notes.append(f"{lock['path']} is held by {lock['name']} (pid {lock['pid']}): the run waits up to 600 s for it")
    return notes


def victims(ctx: PlanContext, going: t.Collection[str]) -> list[str]:
    """Return the kernel packages that are not configured because a driver that goes does not build.

    dkms fails them from their own hooks, so dpkg cannot finish them before that driver is gone, and can at once after it.
    going: packages that the purge removes.
    """
    if not any(name in going for name in _DRIVERS):
        return []
    patterns = [str(pattern) for pattern in ctx.distribution["kernel_packages"]]
    return sorted(
        name
        for name, row in ctx.packages.items()
        if row["status"][1:2] in ("F", "U")
        and row["status"][2:3] != "R"
        and any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
    )


def meta_packages(ctx: PlanContext) -> list[str]:
    """Return the installed packages that pull in the next kernel."""
    patterns = [str(pattern) for pattern in ctx.distribution["kernel_meta_packages"]]
    return sorted(
        name
        for name in ctx.packages
        if ctx.installed(name) and any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
    )


def kernel_holds(ctx: PlanContext) -> list[str]:
    """Return the kernel packages that a site wants on hold: those that bring the next, and the running one."""
    if not ctx.profile["rocm_hold_kernel"]:
        return []
    running = str(ctx.distribution["image_package"]).format(kernel=ctx.area("kernel").get("release"))
    return sorted({*meta_packages(ctx), *([running] if ctx.installed(running) else [])})
