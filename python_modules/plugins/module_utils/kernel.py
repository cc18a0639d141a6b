# SPDX-License-Identifier: Apache-2.0
"""Read the running kernel, the one that the next boot will start, and both command lines."""

from __future__ import annotations

import re
from typing import Any, Dict, List, Optional

from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree, natural_key

RELEASE = "/proc/sys/kernel/osrelease"
# What peer access and RDMA over dma-buf need of a kernel.
P2P_OPTIONS = ("CONFIG_PCI_P2PDMA", "CONFIG_DMABUF_MOVE_NOTIFY", "CONFIG_HSA_AMD_P2P")
GRUB_DEFAULT = "/etc/default/grub"
GRUB_DROP_INS = "/etc/default/grub.d"
GRUB_MENU = "/boot/grub/grub.cfg"

_ASSIGNMENT = re.compile(r"^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)(\+?)=(.*)$")
_WORD = re.compile(
    r"""
    '(?P<single>[^']*)'
    | "(?P<double>(?:[^"\\]|\\.)*)"
    | (?P<plain>(?:[^\s;#'"\\]|\\.)+)
    """,
    re.VERBOSE,
)
_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))")
_KERNEL_IN_TITLE = re.compile(r"(?:with Linux |-advanced-|gnulinux-)([0-9]+\.[0-9]+\.[0-9]+[^\s>]*?)(?:-advanced-.*)?$")


class NotPlain(Exception):
    """A shell value that only a shell could tell."""


def read_kernel(tree: Tree) -> Dict[str, Any]:
    """Return the snapshot's "kernel".

    The release comes from /proc/sys, not from uname: only files belong to the root. next_release
    is what GRUB starts by default, None with a problem where that is not a kernel of /boot.
    """
    installed = _installed(tree)
    settings = _grub_settings(tree)
    release = tree.read_line("kernel", RELEASE)
    next_release = _next_release(tree, installed, settings)
    return {
        "release": release,
        "cmdline": tree.read_line("kernel", "/proc/cmdline"),
        "boot_id": tree.read_line("kernel", "/proc/sys/kernel/random/boot_id"),
        "next_release": next_release,
        "next_cmdline": _next_cmdline(tree, settings),
        "boot_cmdline": boot_cmdline(tree.read_text("kernel", GRUB_MENU, optional=True) or "", next_release),
        "installed": installed,
        "headers": _headers(tree),
        "config": _config(tree, release),
    }


def _config(tree: Tree, release: Optional[str]) -> Optional[Dict[str, str]]:
    """Return {option: "y", "m" or "n"} of the running kernel, None where its configuration is not there."""
    text = tree.read_text("kernel", "/boot/config-%s" % release, optional=True) if release else None
    if text is None:
        return None
    values = dict(line.split("=", 1) for line in text.splitlines() if line.startswith("CONFIG_") and "=" in line)
    return {option: values.get(option, "n") for option in P2P_OPTIONS}


def _installed(tree: Tree) -> Optional[List[str]]:
    names = tree.list_folder("kernel", "/boot")
    if names is None:
        return None
    prefix = "vmlinuz-"
    releases = [name[len(prefix) :] for name in names if name.startswith(prefix)]
    # Copies that a package manager or a person left; GRUB does not start them first.
    return [release for release in releases if not release.endswith((".old", ".bak", ".dpkg-old", ".dpkg-tmp"))]


def _headers(tree: Tree) -> Optional[List[str]]:
    names = tree.list_folder("kernel", "/lib/modules")
    if names is None:
        return None
    return [name for name in names if tree.is_folder("/lib/modules/%s/build" % name)]


def parse_grub_settings(text: str, known: Optional[Dict[str, Optional[str]]] = None) -> Dict[str, Optional[str]]:
    """Return the shell assignments of a /etc/default/grub text, on top of those already known.

    A value that only a shell could tell (a command's output) is None. Other statements are
    passed over: a site that writes programs there gets what the plain lines say.
    """
    values: Dict[str, Optional[str]] = dict(known or {})
    for line in text.replace("\\\n", "").splitlines():
        found = _ASSIGNMENT.match(line)
        if not found:
            continue
        name, added, source = found.groups()
        try:
            value: Optional[str] = _expand(source, values)
            if added:
                before = values.get(name, "")
                value = None if before is None else before + str(value)
        except NotPlain:
            value = None
        values[name] = value
    return values


def _expand(source: str, values: Dict[str, Optional[str]]) -> str:
    result, position = "", 0
    while position < len(source) and source[position] not in " \t;#":
        found = _WORD.match(source, position)
        if not found:
            raise NotPlain(source)
        position = found.end()
        if found.group("single") is not None:
            result += found.group("single")
            continue
        text = found.group("double") if found.group("double") is not None else found.group("plain")
        if "`" in text or "$(" in text:
            raise NotPlain(source)
        result += re.sub(r"\\(.)", r"\1", _VARIABLE.sub(lambda name: _value(name, values), text))
    return result


def _value(name: Any, values: Dict[str, Optional[str]]) -> str:
    value = values.get(name.group(1) or name.group(2), "")
    if value is None:
        raise NotPlain(name.group(0))
    return value.replace("\\", "\\\\")


def _grub_settings(tree: Tree) -> Optional[Dict[str, Optional[str]]]:
    text = tree.read_text("kernel", GRUB_DEFAULT, optional=True)
    names = tree.list_folder("kernel", GRUB_DROP_INS, optional=True) or []
    drop_ins = [GRUB_DROP_INS + "/" + name for name in sorted(names) if name.endswith(".cfg")]
    if text is None and not drop_ins:
        tree.problem("kernel", GRUB_DEFAULT, "no GRUB settings: the next boot's parameters are not known")
        return None
    values = parse_grub_settings(text or "")
    for path in drop_ins:
        values = parse_grub_settings(tree.read_text("kernel", path) or "", values)
    return values


def _next_cmdline(tree: Tree, settings: Optional[Dict[str, Optional[str]]]) -> Optional[str]:
    if settings is None:
        return None
    # In this order grub-mkconfig's 10_linux writes them.
    parts = [settings.get(name, "") for name in ("GRUB_CMDLINE_LINUX", "GRUB_CMDLINE_LINUX_DEFAULT")]
    if None in parts:
        tree.problem("kernel", GRUB_DEFAULT, "GRUB_CMDLINE_LINUX is made by a command, which is not run")
        return None
    return " ".join(" ".join(str(part) for part in parts).split())


def boot_cmdline(menu: str, release: Optional[str]) -> Optional[str]:
    """Return the parameters with which GRUB's menu starts a kernel, None where it has no entry for it.

    next_cmdline is what the settings say, this is what update-grub has made of them. Of a kernel's entries the first
    one counts, since the recovery entry comes after it.
    """
    found = re.search(
        r"^\s*linux(?:efi)?\s+\S*/vmlinuz-%s(?:\s+(.*))?$" % re.escape(release or "?"), menu, re.MULTILINE
    )
    return " ".join((found.group(1) or "").split()) if found else None


def _next_release(
    tree: Tree, installed: Optional[List[str]], settings: Optional[Dict[str, Optional[str]]]
) -> Optional[str]:
    if not installed:
        if installed is not None:
            tree.problem("kernel", "/boot", "no vmlinuz-* in it")
        return None
    newest = max(installed, key=natural_key)
    chosen = (settings or {}).get("GRUB_DEFAULT", "0")
    if chosen == "saved":
        chosen = _saved_entry(tree) or "0"
    if chosen in ("0", ""):
        return newest
    release = kernel_of_entry(chosen or "", installed)
    if release is None:
        tree.problem("kernel", GRUB_DEFAULT, "GRUB_DEFAULT=%s does not name a kernel of /boot" % chosen)
    return release


def kernel_of_entry(entry: str, installed: List[str]) -> Optional[str]:
    """Return the installed kernel that a GRUB menu entry names by title or id, else None."""
    title = entry.rpartition(">")[2].strip()
    if "recovery" in title:
        return None
    found = _KERNEL_IN_TITLE.search(title)
    return found.group(1) if found and found.group(1) in installed else None


def _saved_entry(tree: Tree) -> Optional[str]:
    text = tree.read_text("kernel", "/boot/grub/grubenv", optional=True) or ""
    for line in text.splitlines():
        name, _, value = line.partition("=")
        if name == "saved_entry":
            return value.strip()
    return None
