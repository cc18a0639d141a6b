# SPDX-License-Identifier: Apache-2.0
"""Remove the files and trees on the list, unless a package that stays owns them or something is mounted there."""

from __future__ import annotations

import os
import re
import shutil
from typing import NamedTuple, Sequence

from ansible_collections.instinct.bringup.plugins.module_utils.package_state import owners_of
from ansible_collections.instinct.bringup.plugins.module_utils.purge_request import Node, PurgeFailed, PurgeRefused

_GLOB = re.compile(r"([*?\[\]\\])")
_OCTAL = re.compile(r"\\([0-7]{3})")


class Tree(NamedTuple):
    """A directory to remove. unowned: paths that no package owns, relative to it; owned: number of the others."""

    path: str
    unowned: Sequence[str]
    owned: int
    stays: Sequence[str]
    """The packages that own something in it and are not purged; while there is one, the tree is left."""


def find_files(node: Node, paths: Sequence[str]) -> list[str]:
    """Return the files and links that are there."""
    return [path for path in paths if os.path.lexists(node.at(path))]


def find_trees(node: Node, paths: Sequence[str], purged: Sequence[str]) -> list[Tree]:
    """Return the trees that are there, with who owns what in them. purged: names of packages that go."""
    found = []
    for path in paths:
        if not os.path.lexists(node.at(path)):
            continue
        names = _names_below(node, path)
        owners: dict[str, list[str]] = {}
        for spelling in _spellings(path):
            for owned, packages in owners_of(node.run, [_GLOB.sub(r"\\\1", spelling) + "/*"]).items():
                owners[owned[len(spelling) + 1 :]] = packages
        stays = sorted({name for names_of in owners.values() for name in names_of} - set(purged))
        unowned = [name for name in names if name not in owners]
        found.append(Tree(path, unowned, len(names) - len(unowned), stays))
    return found


def refuse_paths(node: Node, files: Sequence[str], trees: Sequence[Tree], purged: Sequence[str]) -> None:
    """Refuse what must not go this way; PurgeRefused names each path and why."""
    problems = [
        f"{path} is a directory, listed as a file; list it as a tree if all of it may go"
        for path in files
        if os.path.isdir(node.at(path)) and not os.path.islink(node.at(path))
    ]
    spellings = {spelling: path for path in files for spelling in _spellings(path)}
    for spelling, packages in owners_of(node.run, list(spellings)).items():
        stays = sorted(set(packages) - set(purged))
        if stays and spelling in spellings:
            owner = ", ".join(stays)
            problems.append(f"{spellings[spelling]} belongs to the package {owner}, which is not on the list")
    mounts = _mount_points(node)
    for tree in trees:
        if not os.path.isdir(node.at(tree.path)) and not os.path.islink(node.at(tree.path)):
            problems.append(f"{tree.path} is a file, listed as a tree")
        inside = [point for point in mounts if point == tree.path or point.startswith(tree.path + "/")]
        if inside:
            problems.append(f"{', '.join(inside)} is mounted inside {tree.path}; unmount it first")
    if problems:
        raise PurgeRefused("; ".join(problems))


def remove_files(node: Node, paths: Sequence[str]) -> None:
    """Remove files and links. PurgeFailed names the one that cannot go."""
    for path in paths:
        try:
            os.unlink(node.at(path))
        except FileNotFoundError:
            continue
        except OSError as error:
            raise PurgeFailed(f"cannot remove {path}: {error.strerror} (errno {error.errno})") from error


def remove_tree(node: Node, tree: Tree) -> None:
    """Remove a tree; of a link, only the link. A tree that a package still owns is left."""
    path = node.at(tree.path)
    if tree.stays:
        return
    try:
        if os.path.islink(path):
            os.unlink(path)
        else:
            shutil.rmtree(path)
    except FileNotFoundError:
        return
    except OSError as error:
        raise PurgeFailed(
            f"cannot remove {error.filename or tree.path}: {error.strerror} (errno {error.errno})"
        ) from error


def _names_below(node: Node, path: str) -> list[str]:
    """Return everything below a directory, relative to it, links not followed."""
    top = node.at(path)
    if os.path.islink(top):
        return []
    names: list[str] = []
    for folder, folders, files in os.walk(top):
        names.extend(os.path.relpath(os.path.join(folder, name), top) for name in [*folders, *files])
    return sorted(names)


def _spellings(path: str) -> list[str]:
    """Return the path as dpkg may know it: on a merged /usr its lists hold either form."""
    for folder in ("/lib", "/lib64", "/bin", "/sbin"):
        if path.startswith(folder + "/"):
            return [path, "/usr" + path]
        if path.startswith("/usr" + folder + "/"):
            return [path, path[len("/usr") :]]
    return [path]


def _mount_points(node: Node) -> list[str]:
    try:
        with open(node.at("/proc/self/mountinfo"), encoding="utf-8", errors="surrogateescape") as stream:
            fields = [line.split(" ") for line in stream]
    except OSError:
        return []
    return [_OCTAL.sub(lambda found: chr(int(found.group(1), 8)), field[4]) for field in fields if len(field) > 4]
