# SPDX-License-Identifier: Apache-2.0
"""Tell which RCCL the loader would take, by its own rules, without loading anything.

A library's RUNPATH comes before ld.so.conf, so that a wheel's own RCCL wins over /opt/rocm's.
"""

from __future__ import annotations

import struct
from typing import Any, Dict, List, Optional, Sequence

from ansible_collections.instinct.bringup.plugins.module_utils.elf_file import read_dynamic
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

CACHE = "/etc/ld.so.cache"
AREA = "rccl_libraries"
RCCL = "librccl.so.1"
# What of torch needs RCCL, by release.
_USERS = ("libtorch_hip.so", "libtorch_cuda.so", "libc10d_hip.so")
_DEFAULT_FOLDERS = ("/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib")
_MAGIC = b"glibc-ld.so.cache1.1"
_HEADER = struct.Struct("<20sII20x")
_ENTRY = struct.Struct("<iIIIQ")
_MAX_ENTRIES = 200000

Json = Dict[str, Any]


def read_rccl_libraries(tree: Tree, venvs: Sequence[str]) -> Json:
    """Return the snapshot's "rccl_libraries".

    system: what a program without a path of its own would get, None for none. venvs: for each environment with
    torch {"venv", "needs", "path", "by"}: which file, and the rule that finds it. LD_LIBRARY_PATH is not known here:
    env checks tell of it.
    """
    cache = read_cache(tree)
    system = _from_system(tree, cache, RCCL)
    found = [entry for venv in venvs for entry in _environment(tree, cache, venv)]
    return {"system": system, "cached": cache.get(RCCL, []), "venvs": found}


def read_cache(tree: Tree) -> Dict[str, List[str]]:
    """Return {library name: paths in the loader's order} of librccl's names in /etc/ld.so.cache."""
    data = tree.read_bytes(AREA, CACHE, optional=True)
    if data is None:
        return {}
    try:
        return parse_cache(data)
    except (ValueError, struct.error) as error:
        tree.problem(AREA, CACHE, str(error))
        return {}


def parse_cache(data: bytes, prefix: bytes = b"librccl") -> Dict[str, List[str]]:
    """Return the entries of a glibc cache whose names begin so. Raises ValueError, struct.error."""
    start = data.find(_MAGIC)
    if start < 0:
        raise ValueError("not a cache of glibc 2.2 or newer")
    _magic, count, _strings = _HEADER.unpack_from(data, start)
    if count > _MAX_ENTRIES:
        raise ValueError("%d libraries" % count)
    found: Dict[str, List[str]] = {}
    for index in range(count):
        _flags, key, value, _os, _hardware = _ENTRY.unpack_from(data, start + _HEADER.size + index * _ENTRY.size)
        if data.startswith(prefix, start + key):
            found.setdefault(_text(data, start + key), []).append(_text(data, start + value))
    return found


def _text(data: bytes, at: int) -> str:
    end = data.find(b"\0", at)
    if end < 0:
        raise ValueError("a name without an end")
    return data[at:end].decode("utf-8", "replace")


def _from_system(tree: Tree, cache: Dict[str, List[str]], name: str) -> Optional[str]:
    for path in cache.get(name, []):
        if tree.exists(path):
            return path
    return next((folder + "/" + name for folder in _DEFAULT_FOLDERS if tree.exists(folder + "/" + name)), None)


def _environment(tree: Tree, cache: Dict[str, List[str]], venv: str) -> List[Json]:
    for python in tree.list_folder(AREA, venv + "/lib", optional=True) or []:
        folder = "%s/lib/%s/site-packages/torch/lib" % (venv, python)
        for name in _USERS:
            path = "%s/%s" % (folder, name)
            if not tree.exists(path):
                continue
            dynamic = read_dynamic(tree, AREA, path)
            if dynamic is None:
                return [{"venv": venv, "user": path, "needs": None, "path": None, "by": None}]
            needs = next((needed for needed in dynamic.needed if needed.startswith("librccl")), None)
            if needs is None:
                continue
            rule, folders = ("RUNPATH", dynamic.runpath) if dynamic.runpath else ("RPATH", dynamic.rpath)
            for place in folders:
                candidate = "%s/%s" % (_expand(place, folder), needs)
                if tree.exists(candidate):
                    return [{"venv": venv, "user": path, "needs": needs, "path": candidate, "by": rule}]
            system = _from_system(tree, cache, needs)
            by = "ld.so.cache" if system is not None and system in cache.get(needs, []) else "default folder"
            return [{"venv": venv, "user": path, "needs": needs, "path": system, "by": by if system else None}]
    return []


def _expand(place: str, origin: str) -> str:
    text = place.replace("${ORIGIN}", origin).replace("$ORIGIN", origin)
    parts: List[str] = []
    for part in text.split("/"):
        if part == ".." and parts and parts[-1]:
            parts.pop()
        elif part not in (".", ".."):
            parts.append(part)
    return "/".join(parts)
