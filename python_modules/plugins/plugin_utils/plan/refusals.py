# SPDX-License-Identifier: Apache-2.0
"""Refuse what cannot end well, before anything is changed: each says what to do."""

from __future__ import annotations

import posixpath
import re
import typing as t
import urllib.parse

from ansible_collections.instinct.bringup.plugins.plugin_utils.catalog import Catalog, UnknownEntry
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.interrupted import (
    busy_refusals,
    interrupted_runs,
    unfinished_packages,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.kernel import kernel_refusals, victims
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.kernel_tuning import tuning_refusals
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.model import PlanContext, Refusal, Step
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.space import space_refusals
from ansible_collections.instinct.bringup.plugins.plugin_utils.profile import Profile


def value_refusal(option: str, seen: str, wanted: str) -> Refusal:
    """Return the refusal of a value that cannot be used."""
    return Refusal("profile.value", option, seen, wanted, "correct it in the inventory or in -e")


def profile_refusals(profile: Profile, catalog: Catalog) -> list[Refusal]:
    """Return what is wrong with the profile itself, whatever the node is."""
    refusals = [value_refusal(*problem) for problem in profile.problems]
    if refusals:
        return refusals
    for kind, option, lookup in (
        ("ROCm release", "rocm_release", catalog.release),
        ("ROCm release", "rocm_driver_release", lambda name: catalog.release(name or profile["rocm_release"])),
        ("GPU model", "gpu_model", catalog.gpu),
    ):
        try:
            lookup(profile[option])
        except UnknownEntry as error:
            refusals.append(
                Refusal(
                    "profile.unknown",
                    option,
                    f"{option} is {profile[option]!r}",
                    f"a {kind} of the catalog: {', '.join(error.known)}",
                    f"set {option} to one of them, or add a file to the catalog",
                )
            )
    if refusals:
        return refusals
    refusals += [*_form_refusals(profile), *_pair_refusals(profile, catalog), *tuning_refusals(profile)]
    known = {*catalog.release(profile["rocm_release"])["usecases"], "mpi"}
    refusals += [
        Refusal(
            "profile.usecase",
            "rocm_usecases",
            f"use case {usecase!r}",
            ", ".join(sorted(known)),
            "take it out of rocm_usecases, or use one of those",
        )
        for usecase in profile["rocm_usecases"]
        if usecase not in known
    ]
    if profile["rocm_method"] == "amdgpu_install" and len(str(profile["rocm_installer_sha256"])) != 64:
        refusals.append(
            Refusal(
                "rocm.installer_unpinned",
                "rocm_installer_sha256",
                f"{profile['rocm_installer_sha256']!r}",
                "the SHA-256 of the amdgpu-install package, 64 hexadecimal digits",
                "fetch the package once, check it, and set rocm_installer_sha256; or set rocm_method to repository",
            )
        )
    return refusals


def _form_refusals(profile: Profile) -> list[Refusal]:
    """Refuse texts whose form says that they are something else than they should be."""
    refusals = []
    for option in (name for name in profile if name.endswith("_url") and profile[name]):
        parts = urllib.parse.urlsplit(str(profile[option]))
        if parts.scheme not in ("http", "https") or not parts.hostname:
            wanted = "a URL that begins with https:// or http://"
            refusals.append(value_refusal(option, f"{option} is no such URL", wanted))
        elif parts.username is not None:
            # The value itself stays out of the message: it would stand in logs and reports.
            wanted = "a URL without them; apt reads them from /etc/apt/auth.conf.d and pip from ~/.netrc"
            refusals.append(value_refusal(option, f"{option} holds a user name or a password", wanted))
    fingerprint = str(profile["rocm_key_fingerprint"]).replace(" ", "")
    if not re.fullmatch("[0-9A-Fa-f]{40}", fingerprint):
        wanted = "the full fingerprint, 40 hexadecimal digits"
        refusals.append(value_refusal("rocm_key_fingerprint", f"rocm_key_fingerprint is {fingerprint!r}", wanted))
    for option in ("preflight_timeout", "reboot_timeout"):
        if profile[option] < 1:
            refusals.append(value_refusal(option, f"{option} is {profile[option]}", "a number of seconds above 0"))
    for option in ("pytorch_venv", "deepspeed_directory"):
        path = str(profile[option])
        if not path.isprintable() or posixpath.normpath(path) != path or path.count("/") < 2:
            wanted = "an absolute path below a folder, without '..' and without a slash at its end"
            refusals.append(value_refusal(option, f"{option} is {path!r}", wanted))
    refusals += _torch_refusals(profile)
    if not profile["rocm_base_url"]:
        refusals.append(value_refusal("rocm_base_url", "rocm_base_url is empty", "the URL of AMD's server or a mirror"))
    speed = profile["pcie_expected_speed"]
    if speed is not None and not re.fullmatch(r"[0-9]+([.][0-9]+)? GT/s", str(speed)):
        refusals.append(
            value_refusal("pcie_expected_speed", f"pcie_expected_speed is {speed!r}", 'such as "16.0 GT/s"')
        )
    return refusals


def _torch_refusals(profile: Profile) -> list[Refusal]:
    """Refuse what cannot be a version or the name of an op: YAML makes a number of 2.0, and a name becomes a variable's."""
    packages, option = profile["pytorch_packages"], "deepspeed_build_ops"
    refusals = [
        value_refusal("pytorch_packages", f"{name} is {version!r}", 'a version in quotes, such as "2.0.1+site1"')
        for name, version in packages.items()
        if not isinstance(version, str) or not version
    ]
    if packages and "torch" not in packages:
        wanted = "torch and its exact version, beside what goes with it"
        refusals.append(value_refusal("pytorch_packages", f"only {', '.join(map(str, packages))}", wanted))
    wanted = "all, or names of DeepSpeed's ops such as fused_adam"
    return refusals + [
        value_refusal(option, f"{op!r} in {option}", wanted)
        for op in profile[option]
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", op)
    ]


def _pair_refusals(profile: Profile, catalog: Catalog) -> list[Refusal]:
    """Refuse a driver and a user space that AMD does not test together."""
    driver = str(profile["rocm_driver_release"] or profile["rocm_release"])
    tested = catalog.release(driver)["driver_tested_with"]
    if driver == profile["rocm_release"] or str(profile["rocm_release"]).rpartition(".")[0] in tested:
        return []
    return [
        Refusal(
            "rocm.pair_untested",
            "rocm_driver_release",
            f"the driver of {driver} under the user space of {profile['rocm_release']}",
            f"a user space of {', '.join(tested)}, which AMD tests with that driver",
            "choose a driver's release that is tested with it, or leave rocm_driver_release empty",
        )
    ]


def node_refusals(ctx: PlanContext) -> list[Refusal]:
    """Return what is wrong with the node for any use: its system, its release, its GPUs."""
    system = ctx.area("os")
    try:
        versions = ctx.catalog.distribution(system.get("id"))["versions"]
    except UnknownEntry as error:
        return [
            Refusal(
                "os.unsupported",
                "distribution",
                str(system.get("pretty_name") or system.get("id")),
                "one of " + ", ".join(error.known),
                "this distribution is not supported yet; install one that is",
            )
        ]
    if system["version_id"] not in versions:
        return [
            Refusal(
                "os.release_unsupported",
                "distribution",
                str(system["pretty_name"]),
                f"{ctx.distribution['title']} {', '.join(sorted(versions))}",
                "install one of these releases",
            )
        ]
    supported = f"{system['id']}-{system['version_id']}"
    if supported not in ctx.release["kernels"]:
        return [
            Refusal(
                "os.release_for_rocm",
                f"ROCm {ctx.release['release']}",
                str(system["pretty_name"]),
                ", ".join(sorted(ctx.release["kernels"])),
                "choose a rocm_release that AMD has for this distribution",
            )
        ]
    return [*_unread(ctx), *_gpu_refusals(ctx)]


def _unread(ctx: PlanContext) -> list[Refusal]:
    """Refuse a node of which nobody could read what every plan is made from."""
    wanted = (("kernel", "release", "/proc/sys/kernel/osrelease"), ("python", "tag", "the interpreter"))
    return [
        Refusal(
            "snapshot.unread",
            area,
            f"{area}.{key} could not be read from {path}",
            "a snapshot that holds it",
            "look at the snapshot's problems in the run's folder, and at the node",
        )
        for area, key, path in wanted
        if ctx.snapshot.get("root", "/") == "/" and ctx.area(area).get(key) is None
    ]


def _gpu_refusals(ctx: PlanContext) -> list[Refusal]:
    gpus = ctx.area("pci").get("gpus") or []
    wanted = set(ctx.gpu["pci_ids"])
    seen = [f"{gpu['vendor']}:{gpu['device']}" for gpu in gpus]
    if wanted & set(seen):
        return []
    return [
        Refusal(
            "gpu.none",
            ctx.gpu["title"],
            "no such GPU on PCI; seen: " + (", ".join(sorted(set(seen))) or "none of AMD's"),
            "at least one of " + ", ".join(sorted(wanted)),
            "look at `lspci -nn -d 1002:`; check that the card is seated and powered, or set gpu_model",
        )
    ]


def change_refusals(ctx: PlanContext, roles: t.Collection[str], going: t.Collection[str]) -> list[Refusal]:
    """Return what stands against changing packages or the driver on the node now. going: what the purge removes."""
    refusals = [*_gpu_count(ctx), *busy_refusals(ctx)]
    if "rocm" in roles:
        refusals += kernel_refusals(ctx)
    if {"rocm_purge", "rocm", "mpi", "pytorch", "deepspeed"} & set(roles):
        refusals += _unfinished_packages(ctx, going)
    refusals += space_refusals(ctx, roles)
    return refusals


def _gpu_count(ctx: PlanContext) -> list[Refusal]:
    """Refuse a count that the node does not have: it would go into every node's hostfile."""
    wanted = ctx.profile["gpu_count"]
    models = set(ctx.gpu["pci_ids"])
    seen = sum(f"{gpu['vendor']}:{gpu['device']}" in models for gpu in ctx.area("pci").get("gpus") or [])
    if wanted is None or wanted == seen:
        return []
    return [
        Refusal(
            "gpu.count",
            "gpu_count",
            f"{seen} of {ctx.gpu['title']} on PCI",
            f"{wanted}, as gpu_count says",
            f"look for the missing card with `lspci -nn -d 1002:`, or set gpu_count: {seen} for this node",
        )
    ]


def gpu_users(ctx: PlanContext) -> list[Refusal]:
    """Refuse to take away the driver, the libraries or the node itself under a running job."""
    processes = ctx.snapshot.get("gpu_processes") or []
    if not processes:
        return []
    named = ", ".join(f"{entry['name']} (pid {entry['pid']}, uid {entry['uid']})" for entry in processes[:8])
    return [
        Refusal(
            "gpu.in_use",
            "/dev/kfd",
            f"held open by {named}",
            "no process that uses a GPU",
            "let the jobs end or stop them, then run again",
        )
    ]


def _unfinished_packages(ctx: PlanContext, going: t.Collection[str]) -> list[Refusal]:
    # A run that was interrupted had begun on a node where everything was whole, or it would have been refused:
    # whatever is half-done now is what its own transaction brought.
    if interrupted_runs(ctx):
        return []
    mended = victims(ctx, going)
    foreign = sorted(
        f"{name} ({status.strip()})"
        for name, status in unfinished_packages(ctx).items()
        if not ctx.families.is_family_name(name) and name not in mended
    )
    if not foreign:
        return []
    return [
        Refusal(
            "dpkg.unfinished",
            "dpkg",
            "half installed, neither ROCm's nor begun by us: " + ", ".join(foreign),
            "every package installed or removed wholly",
            "run `dpkg --audit` and `apt-get -f install` on the node, and look at what they say",
        )
    ]


def only_refusals(only: t.Iterable[str], roles: t.Sequence[str]) -> list[Refusal]:
    """Return the refusals of names in bringup_only that no step has. roles: those of the plan."""
    return [
        Refusal(
            "profile.only",
            "bringup_only",
            f"role {role!r}",
            "one of " + ", ".join(roles),
            "name a role that the plan can apply",
        )
        for role in only
        if role not in roles
    ]


def folder_refusals(ctx: PlanContext, changed: t.Iterable[Step]) -> list[Refusal]:
    """Refuse to write a file where a folder is: what is in it is not ours to remove."""
    return [
        Refusal(
            "file.folder",
            file.path,
            "a folder is there",
            "a regular file, or nothing",
            f"look into {file.path} and move it away",
        )
        for step in changed
        for file in step.files
        if (ctx.watched(file.path) or {}).get("type") == "directory"
    ]
