# SPDX-License-Identifier: Apache-2.0
"""Plan boot parameters, sysctls, limits of services, huge pages and PCIe's access control: what a site asks for."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.instinct.bringup.plugins.plugin_utils.managed import Change, ManagedFile, absent_change
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.model import PlanContext, Refusal, Step
from ansible_collections.instinct.bringup.plugins.plugin_utils.profile import Profile

HEADER = "# Managed by instinct.bringup, role kernel_tuning. Changes by hand are undone by the next run.\n"
# Last of its folder: a cloud image's own file sets the variable anew.
GRUB = "/etc/default/grub.d/99-instinct-bringup.cfg"
# After a tuning service's 99-*.conf, which would win otherwise.
SYSCTL = "/etc/sysctl.d/99-zz-instinct-bringup.conf"
LIMITS = "/etc/security/limits.d/99-instinct-bringup.conf"
# What update-grub makes of the settings, and what a boot reads.
GRUB_MENU = "/boot/grub/grub.cfg"
SCRIPT = "/usr/local/sbin/instinct-bringup-tuning"
UNIT = "/etc/systemd/system/instinct-bringup-tuning.service"
ENABLED = "/etc/systemd/system/multi-user.target.wants/instinct-bringup-tuning.service"
HUGE_PAGES = "/sys/kernel/mm/transparent_hugepage/enabled"
_PARAMETER = re.compile(r"[A-Za-z0-9_.-]+(=[A-Za-z0-9_.,:/@+-]+)?")
_KEY = re.compile(r"[a-z0-9_]+(\.[A-Za-z0-9_-]+)+")
_SERVICE = re.compile(r"[A-Za-z0-9_@.-]+")


def tuning_paths(profile: Profile) -> list[str]:
    """Return the files that the role may manage. The drop-ins of services that a site has named before are found by a *."""
    drop_ins = [_drop_in(str(name)) for name in profile["kernel_tuning_memlock_services"]]
    return [GRUB, SYSCTL, LIMITS, SCRIPT, UNIT, ENABLED, *drop_ins, _drop_in("*")]


def live_paths(profile: Profile) -> list[str]:
    """Return the kernel's own files that show whether a setting is in effect."""
    return [*(_sysctl_path(str(key)) for key in profile["kernel_tuning_sysctl"]), HUGE_PAGES]


def tuning_refusals(profile: Profile) -> list[Refusal]:
    """Refuse words that would not be one parameter, key or service where they are written."""
    wrong = [
        ("kernel_tuning_boot_parameters", word, "a parameter such as iommu=pt")
        for word in profile["kernel_tuning_boot_parameters"]
        if not _PARAMETER.fullmatch(str(word))
    ]
    wrong += [
        ("kernel_tuning_sysctl", key, "a key such as kernel.numa_balancing")
        for key in profile["kernel_tuning_sysctl"]
        if not _KEY.fullmatch(str(key))
    ]
    wrong += [
        ("kernel_tuning_memlock_services", name, "a service such as slurmd")
        for name in profile["kernel_tuning_memlock_services"]
        if not _SERVICE.fullmatch(str(name))
    ]
    return [Refusal("profile.value", option, repr(word), wanted, f"correct {option}") for option, word, wanted in wrong]


def boot_parameters(ctx: PlanContext) -> list[str]:
    """Return the wanted parameters. On Intel iommu=pt says nothing while the IOMMU itself is not switched on."""
    words = [str(word) for word in ctx.profile["kernel_tuning_boot_parameters"]]
    named = {word.partition("=")[0] for word in words}
    if "iommu=pt" in words and ctx.area("cpu").get("vendor") == "GenuineIntel" and "intel_iommu" not in named:
        return ["intel_iommu=on", *words]
    return words


def missing_parameters(ctx: PlanContext, cmdline: str) -> list[str]:
    """Return the wanted parameters that a command line does not end up with: of a name the last one counts."""
    last = {word.partition("=")[0]: word for word in cmdline.split()}
    return [word for word in boot_parameters(ctx) if last.get(word.partition("=")[0]) != word]


def plan_kernel_tuning(ctx: PlanContext) -> Step:
    """Return the step of role kernel_tuning. What a site no longer asks for is taken away again."""
    files = _files(ctx)
    paths = {file.path for file in files}
    unit = UNIT in paths
    absent = [path for path in (GRUB, SYSCTL, LIMITS, SCRIPT, UNIT, *_drop_ins_there(ctx)) if path not in paths]
    changes = ctx.file_changes(files)
    changes += [change for path in absent if (change := absent_change(path, ctx.watched(path), "no longer asked for"))]
    written = {change.subject for change in changes}
    changes += _boot_loader_change(ctx, paths)
    live = _live_changes(ctx)
    changes += live
    enabled = (ctx.watched(ENABLED) or {}).get("type") == "link"
    if enabled != unit and (unit or enabled):
        before, after = ("enabled", "disabled") if enabled else ("disabled", "enabled")
        changes.append(Change("unit", UNIT.rpartition("/")[2], before, after, "settings that no boot keeps"))
    inputs = {
        "files": [file.as_input() for file in files],
        "absent": [*absent, *([] if unit else [ENABLED])],
        "grub": bool({GRUB, GRUB_MENU} & {change.subject for change in changes}),
        "sysctl": SYSCTL in paths and (SYSCTL in written or any(change.kind == "sysctl" for change in live)),
        "unit": {
            "wanted": unit,
            "start": unit and bool({SCRIPT, UNIT} & written or any(c.kind == "live" for c in live)),
        },
        "reload": any(path.startswith("/etc/systemd/system/") for path in written) or enabled != unit,
    }
    notes = [f"{name}: the limit counts from the service's next start" for name in _fresh_limits(ctx, written)]
    return Step("kernel_tuning", tuple(changes), inputs, tuple(files), notes=tuple(notes))


def _files(ctx: PlanContext) -> list[ManagedFile]:
    profile = ctx.profile
    files = []
    if words := boot_parameters(ctx):
        content = f'{HEADER}GRUB_CMDLINE_LINUX_DEFAULT="${{GRUB_CMDLINE_LINUX_DEFAULT}} {" ".join(words)}"\n'
        files.append(
            ManagedFile(GRUB, content, "boot parameters, after those that are there; of a name the last counts")
        )
    if values := profile["kernel_tuning_sysctl"]:
        lines = "".join(f"{key} = {_plain(value)}\n" for key, value in sorted(values.items()))
        files.append(ManagedFile(SYSCTL, HEADER + lines, "read last, so that no other file takes them back"))
    value = str(profile["kernel_tuning_memlock"])
    services = [str(name) for name in profile["kernel_tuning_memlock_services"]]
    for name in services:
        content = f"{HEADER}[Service]\nLimitMEMLOCK={value}\n"
        files.append(ManagedFile(_drop_in(name), content, "what limits.d says does not reach a service's jobs"))
    if services:
        word = "unlimited" if value == "infinity" else value
        content = f"{HEADER}* soft memlock {word}\n* hard memlock {word}\n"
        files.append(ManagedFile(LIMITS, content, "the same limit for people who log in"))
    return [*files, *_boot_files(profile)]


def _boot_files(profile: Profile) -> list[ManagedFile]:
    """Return the unit and its script, where something must be set again at each boot."""
    lines = []
    pages = str(profile["kernel_tuning_transparent_hugepage"])
    if pages:
        lines.append(f"echo {pages} >{HUGE_PAGES}\n")
    if profile["kernel_tuning_disable_acs"]:
        lines.append(
            "# Redirection between GPUs goes over the root port otherwise. Only ports that have the capability answer.\n"
            "for port in /sys/bus/pci/devices/*; do\n"
            '    case $(cat "$port/class") in 0x0604*) ;; *) continue ;; esac\n'
            '    setpci -s "${port##*/}" ECAP_ACS+0x6.w=0000 2>/dev/null || true\n'
            "done\n"
        )
    if not lines:
        return []
    script = "#!/bin/sh\n" + HEADER + "set -eu\n" + "".join(lines)
    unit = (
        f"{HEADER}[Unit]\nDescription=Settings of instinct-bringup that no boot keeps\nAfter=sysinit.target\n\n"
        f"[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart={SCRIPT}\n\n[Install]\nWantedBy=multi-user.target\n"
    )
    return [
        ManagedFile(SCRIPT, script, "huge pages and access control, which no boot keeps", mode="0755"),
        ManagedFile(UNIT, unit, "runs the script at each boot"),
    ]


def _live_changes(ctx: PlanContext) -> list[Change]:
    """Return what the kernel shows otherwise than wanted, whatever the files say."""
    changes: list[Change] = []
    if ctx.snapshot.get("watch") is None:
        return changes
    for key, value in sorted(ctx.profile["kernel_tuning_sysctl"].items()):
        seen = str((ctx.watched(_sysctl_path(str(key))) or {}).get("text") or "").strip()
        if " ".join(seen.split()) != _plain(value):
            changes.append(Change("sysctl", str(key), seen or "not known", _plain(value), "kernel_tuning_sysctl"))
    pages = str(ctx.profile["kernel_tuning_transparent_hugepage"])
    seen = str((ctx.watched(HUGE_PAGES) or {}).get("text") or "")
    # The kernel marks the mode in force; a plain file, as a simulated node has, holds what was written.
    if pages and f"[{pages}]" not in seen and seen.strip() != pages:
        reason = "kernel_tuning_transparent_hugepage"
        changes.append(Change("live", HUGE_PAGES, seen.strip() or "not known", pages, reason))
    return changes


def _boot_loader_change(ctx: PlanContext, wanted: t.Collection[str]) -> list[Change]:
    """Return that the boot loader's own file lacks what the settings say: without it a reboot would bring nothing."""
    seen = ctx.area("kernel").get("boot_cmdline")
    # Where there is no such file another boot loader starts the node, or nobody may read it.
    missing = missing_parameters(ctx, str(seen)) if seen is not None and GRUB in wanted else []
    if not missing:
        return []
    reason = "kernel_tuning_boot_parameters: the next boot starts what is in there"
    return [Change("boot", GRUB_MENU, f"without {' '.join(missing)}", "made anew by update-grub", reason)]


def _drop_ins_there(ctx: PlanContext) -> list[str]:
    """Return the drop-ins of ours that the node has, whatever services the profile names now."""
    prefix, suffix = _drop_in("*").split("*")
    return sorted(path for path in ctx.area("watch") if path.startswith(prefix) and path.endswith(suffix))


def _fresh_limits(ctx: PlanContext, written: t.Collection[str]) -> list[str]:
    return [name for name in ctx.profile["kernel_tuning_memlock_services"] if _drop_in(str(name)) in written]


def _drop_in(service: str) -> str:
    return f"/etc/systemd/system/{service.removesuffix('.service')}.service.d/99-instinct-bringup.conf"


def _sysctl_path(key: str) -> str:
    return "/proc/sys/" + key.replace(".", "/")


def _plain(value: t.Any) -> str:
    """Return a value as the kernel shows it: YAML's true and false are 1 and 0."""
    return str(int(value)) if isinstance(value, bool) else " ".join(str(value).split())
