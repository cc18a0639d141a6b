# SPDX-License-Identifier: Apache-2.0
"""Plan the release itself: key, sources, pin, driver, user space, holds and access."""

from __future__ import annotations

import fnmatch

from ansible_collections.instinct.bringup.plugins.plugin_utils.managed import Change, ManagedFile, absent_change
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan import repositories
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.kernel import (
    kernel_holds,
    kernel_notes,
    kernels_to_build_for,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.model import PlanContext, Step

LD_CONF = "/etc/ld.so.conf.d/rocm.conf"
PATH_PROFILE = "/etc/profile.d/rocm.sh"
UDEV_RULES = "/etc/udev/rules.d/70-instinct-bringup.rules"


def plan_rocm(ctx: PlanContext, going: frozenset[str]) -> Step:
    """Return the step of role rocm. going: packages that the purge removes before."""
    files = [repositories.pin_file(), *repositories.source_files(ctx), *_path_files(ctx), *_access_files(ctx)]
    wanted = wanted_packages(ctx)
    changes = [*_key_change(ctx), *ctx.file_changes(files)]
    missing = []
    for name, version in wanted.items():
        installed = None if name in going else ctx.installed(name)
        if installed is None or not fnmatch.fnmatchcase(installed, version):
            missing.append(name)
            changes.append(Change("package", name, installed or "not installed", version, _package_reason(ctx, name)))
    headers = _headers(ctx)
    changes += [
        Change("package", name, "not installed", "the distribution's", "AMD's driver is built for this kernel")
        for name in headers
    ]
    holds = _holds_missing(ctx, going)
    changes += [
        Change("hold", name, "free", "held", "an upgrade by hand or unattended would mix releases") for name in holds
    ]
    changes += [
        Change(
            "hold",
            name,
            "free",
            "held",
            "rocm_hold_kernel: the next kernel may be one that the driver does not build on",
        )
        for name in kernel_holds(ctx)
        if not ctx.packages[name]["hold"]
    ]
    if ctx.profile["gpu_access"] == "groups":
        opened = absent_change(
            UDEV_RULES, ctx.watched(UDEV_RULES), "gpu_access is groups: it would open the GPUs to all"
        )
        changes += [opened] if opened else []
    link = _link_change(ctx, going)
    changes += link
    members, notes = _members(ctx)
    notes += kernel_notes(ctx)
    changes += [
        Change("member", user, "not in " + ", ".join(groups), "in " + ", ".join(groups), "/dev/kfd belongs to render")
        for user, groups in members.items()
    ]
    packages = [f"{name}={version}" for name, version in wanted.items() if name != "amdgpu-install"]
    inputs = {
        "key": {"path": repositories.KEYRING_PATH, "url": repositories.key_url(ctx), "fingerprint": fingerprint(ctx)},
        "pin": repositories.pin_file().as_input(),
        "files": [file.as_input() for file in files],
        "absent": [] if ctx.profile["gpu_access"] == "udev" else [UDEV_RULES],
        "installer": {
            "url": repositories.installer_url(ctx),
            "sha256": ctx.profile["rocm_installer_sha256"],
            "version": ctx.release["installer"]["version"],
            "needed": "amdgpu-install" in missing,
        },
        "method": ctx.profile["rocm_method"],
        "usecases": _usecases(ctx),
        "headers": headers,
        "missing": [name for name in missing if name != "amdgpu-install"],
        "packages": packages,
        "simulate": {
            "packages": [*packages, *headers],
            "sources": [repositories.apt_url(ctx), repositories.driver_url(ctx)],
            "held": sorted({*hold_names(ctx, going), *(ctx.area("journal").get("holds") or [])}),
        },
        "hold": {"names": sorted({*hold_names(ctx, going), *kernel_holds(ctx)}), "versions": hold_versions(ctx)},
        "members": members,
        "link": {"path": tree_path(ctx), "priority": int(release_number(ctx))} if link else None,
    }
    return Step("rocm", tuple(changes), inputs, tuple(files), wanted, tuple(notes))


def fingerprint(ctx: PlanContext) -> str:
    """Return the wanted fingerprint, without spaces, in capitals."""
    return str(ctx.profile["rocm_key_fingerprint"]).replace(" ", "").upper()


def wanted_packages(ctx: PlanContext) -> dict[str, str]:
    """Return the packages that must be there and the pattern that each version must match."""
    release, suffix = ctx.release, ctx.suffix
    wanted = {}
    if ctx.profile["rocm_method"] == "amdgpu_install":
        wanted["amdgpu-install"] = release["installer"]["version"] + "*"
    for usecase in _usecases(ctx):
        for name in release["usecases"][usecase]:
            is_driver = name.startswith("amdgpu-")
            wanted[name] = ctx.driver["package_version"] if is_driver else f"*.{release['encoded']}-*{suffix}"
    return wanted


def _usecases(ctx: PlanContext) -> list[str]:
    """Return what amdgpu-install is asked for: mpi is ours, the driver is asked for by name."""
    asked = [usecase for usecase in ctx.profile["rocm_usecases"] if usecase not in ("mpi", "dkms")]
    return ["dkms", *asked] if ctx.profile["rocm_dkms"] else asked


def _package_reason(ctx: PlanContext, name: str) -> str:
    if name == "amdgpu-install":
        return "AMD's installer of exactly this release"
    if name.startswith("amdgpu-"):
        return f"AMD's driver of ROCm {ctx.driver_release['release']}; AMD wants its own driver on Instinct"
    return f"ROCm {ctx.release['release']}, asked for by rocm_usecases"


def _key_change(ctx: PlanContext) -> list[Change]:
    seen = [ring for ring in ctx.area("apt").get("keyrings") or [] if ring["path"] == repositories.KEYRING_PATH]
    keys = {key["fingerprint"] for ring in seen for key in ring["keys"]}
    file = ctx.watched(repositories.KEYRING_PATH) or {}
    # apt reads its keys as a user of its own: one that only root may read is no key.
    readable = file.get("type") != "file" or (file["mode"], file["owner"]) == ("0644", "root")
    if keys == {fingerprint(ctx)} and readable:
        return []
    before = ", ".join(sorted(keys)) or "absent"
    if not readable:
        before += f" ({file['mode']} {file['owner']})"
    return [
        Change(
            "key",
            repositories.KEYRING_PATH,
            before,
            fingerprint(ctx),
            "our lists trust this key and no other",
        )
    ]


def tree_path(ctx: PlanContext) -> str:
    """Return the folder of the wanted release, which /opt/rocm leads to."""
    return f"/opt/rocm-{ctx.release['release']}"


def release_number(ctx: PlanContext) -> str:
    """Return the release as one number, which AMD's packages take for the priority of their alternative."""
    return str(ctx.release["encoded"])


def _link_change(ctx: PlanContext, going: frozenset[str]) -> list[Change]:
    """Return what is wrong with /opt/rocm where the release is there: its package makes the link only once."""
    opt, path = ctx.area("opt"), tree_path(ctx)
    core = ctx.installed("rocm-core") if "rocm-core" not in going else None
    if core is None or not any(tree["path"] == path for tree in opt.get("trees") or []):
        return []
    if not _is_of_release(ctx, "rocm-core", core):
        return []
    link = opt.get("rocm_link") or {}
    if link.get("resolved") == path:
        return []
    before = f"leads to {link['target']}" if link.get("target") else "absent"
    return [Change("link", "/opt/rocm", before, path, "what asks for /opt/rocm must find the wanted release")]


def _path_files(ctx: PlanContext) -> list[ManagedFile]:
    release = ctx.release["release"]
    return [
        ManagedFile(
            LD_CONF,
            f"{repositories.HEADER}/opt/rocm/lib\n/opt/rocm/lib64\n",
            "the loader finds ROCm after a program's own RUNPATH, which LD_LIBRARY_PATH would beat",
        ),
        ManagedFile(
            PATH_PROFILE,
            f"{repositories.HEADER}# LD_LIBRARY_PATH is left alone: with torch 2.0 wheels it would load ROCm {release}'s\n"
            '# librccl.so in place of the one in the wheel.\nexport PATH="${PATH}:/opt/rocm/bin"\n',
            "people find rocminfo and rocm-smi",
        ),
    ]


def _access_files(ctx: PlanContext) -> list[ManagedFile]:
    if ctx.profile["gpu_access"] != "udev":
        return []
    content = f'{repositories.HEADER}KERNEL=="kfd", MODE="0666"\nSUBSYSTEM=="drm", KERNEL=="renderD*", MODE="0666"\n'
    return [ManagedFile(UDEV_RULES, content, "gpu_access is udev: everybody on the node may use the GPUs")]


def _headers(ctx: PlanContext) -> list[str]:
    """Return the packages of the headers that lack: of the running kernel and of the next boot's."""
    if not ctx.profile["rocm_dkms"]:
        return []
    there = ctx.area("kernel").get("headers") or []
    return [
        str(ctx.distribution["headers_package"]).format(kernel=kernel)
        for kernel in kernels_to_build_for(ctx)
        if kernel not in there
    ]


def hold_versions(ctx: PlanContext) -> list[str]:
    """Return the version patterns of the release: what is installed by this run is held too."""
    patterns = [f"*.{ctx.release['encoded']}-*"]
    return [*patterns, ctx.driver["package_version"]] if ctx.profile["rocm_dkms"] else patterns


def hold_names(ctx: PlanContext, going: frozenset[str]) -> list[str]:
    """Return the installed packages of the release, which must all be held."""
    return sorted(
        name
        for name, row in ctx.packages.items()
        if name not in going and row["status"][1:2] == "i" and _is_of_release(ctx, name, str(row["version"]))
    )


def _is_of_release(ctx: PlanContext, name: str, version: str) -> bool:
    vendor = ctx.families.classify(name, version)
    return vendor is not None and vendor.release in (ctx.release["release"], ctx.driver_release["release"])


def _holds_missing(ctx: PlanContext, going: frozenset[str]) -> list[str]:
    return [name for name in hold_names(ctx, going) if not ctx.packages[name]["hold"]]


def _members(ctx: PlanContext) -> tuple[dict[str, list[str]], list[str]]:
    """Return the groups that local users lack. A directory's user is left alone, and said."""
    lacking: dict[str, list[str]] = {}
    notes: list[str] = []
    if ctx.profile["gpu_access"] != "groups":
        return lacking, notes
    groups: list[str] = [group for group in ("render", "video") if group in ctx.area("groups")]
    for user in ctx.profile["bringup_users"]:
        seen = ctx.area("users").get(user)
        if not seen or not seen["exists"]:
            notes.append(f"user {user} does not exist on the node; nothing was changed for that name")
        elif not seen["local"] and not set(groups) <= set(seen["groups"]):
            notes.append(f"user {user} comes from a directory; add it to render there, or set gpu_access to udev")
        elif missing := [group for group in groups if group not in seen["groups"]]:
            lacking[user] = missing
    return lacking, notes
