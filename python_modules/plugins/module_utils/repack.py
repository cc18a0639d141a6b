# SPDX-License-Identifier: Apache-2.0
"""Make a package again from what is installed of it, for a package that no source has any more.

AMD's installer is such a one: it is fetched as a file. Without a copy of it nothing could be rolled back to.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from typing import Dict, List, Sequence

from ansible_collections.instinct.bringup.plugins.module_utils.command_runner import last_words
from ansible_collections.instinct.bringup.plugins.module_utils.purge_request import Node, PurgeFailed

INFO = "/var/lib/dpkg/info"
# KiB of installed size up to which a package is kept: an installer, and not a library of a gigabyte.
LIMIT = 20 * 1024
_SCRIPTS = (
    "preinst",
    "postinst",
    "prerm",
    "postrm",
    "conffiles",
    "triggers",
    "shlibs",
    "symbols",
    "templates",
    "config",
)
# Of dpkg's own record of a package; the rest is what a package's control file holds.
_NOT_CONTROL = ("status:", "conffiles:", "config-version:")


def without_source(node: Node, versions: Dict[str, str]) -> List[str]:
    """Return the packages whose installed version no source of apt has. versions: name to version."""
    if not versions:
        return []
    listed = node.run(["apt-cache", "madison", *versions]).out
    have = {tuple(word.strip() for word in line.split("|")[:2]) for line in listed.splitlines() if "|" in line}
    return [name for name, version in versions.items() if (name, version) not in have]


def repack(node: Node, name: str, folder: str) -> str:
    """Write the package's archive into a folder and return its path, "" when it is too large to be kept.

    PurgeFailed when it cannot be made.
    """
    status = node.run(["dpkg-query", "-s", name])
    if status.rc != 0:
        raise PurgeFailed(f"dpkg-query -s {name} failed (exit {status.rc}): {last_words(status)}")
    size = node.run(["dpkg-query", "-W", "-f", "${Installed-Size}", name]).out.strip()
    if not size.isdigit() or int(size) > LIMIT:
        return ""
    os.makedirs(folder, mode=0o700, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as work:
        os.chmod(work, 0o755)
        _copy_files(node, name, work)
        _copy_control(node, name, os.path.join(work, "DEBIAN"), status.out)
        target = os.path.join(folder, f"{name}.deb")
        done = node.run(["dpkg-deb", "--build", work, target])
        if done.rc != 0:
            raise PurgeFailed(f"{name} cannot be kept: dpkg-deb failed (exit {done.rc}): {last_words(done)}")
    return target


def _copy_files(node: Node, name: str, work: str) -> None:
    for path in node.run(["dpkg-query", "-L", name]).out.splitlines():
        source, target = node.at(path), os.path.join(work, path.lstrip("/"))
        if path in ("", "/.") or not os.path.lexists(source):
            continue
        if os.path.isdir(source) and not os.path.islink(source):
            os.makedirs(target, exist_ok=True)
            shutil.copystat(source, target)
        else:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copy2(source, target, follow_symlinks=False)


def _copy_control(node: Node, name: str, folder: str, status: str) -> None:
    os.makedirs(folder, mode=0o755)
    control = _control_lines(status.splitlines())
    with open(os.path.join(folder, "control"), "w", encoding="utf-8") as stream:
        stream.write("\n".join(control) + "\n")
    for script in _SCRIPTS:
        source = node.at(f"{INFO}/{name}.{script}")
        if os.path.isfile(source):
            shutil.copy2(source, os.path.join(folder, script))


def _control_lines(lines: Sequence[str]) -> List[str]:
    kept: List[str] = []
    passing = False
    for line in lines:
        if not line.startswith(" "):
            passing = line.lower().startswith(_NOT_CONTROL)
        if line and not passing:
            kept.append(line)
    return kept
