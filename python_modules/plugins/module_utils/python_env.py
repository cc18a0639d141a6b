# SPDX-License-Identifier: Apache-2.0
"""Read Python environments from their files: nothing of them is executed."""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
from typing import Any, Dict, List, Optional, Sequence

from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

# The fields come before the description, which may be long.
_METADATA_BYTES = 65536
_ASSIGNMENT = r"^%s\s*(?::[^=\n]*)?=\s*(?:'([^'\n]*)'|\"([^\"\n]*)\"|(None))"
_EXTRA = re.compile(r";.*\bextra\s*==")
_SEPARATORS = re.compile(r"[-_.]+")

Json = Dict[str, Any]


def read_interpreter() -> Json:
    """Return the snapshot's "python": the interpreter that runs this code.

    ensurepip is False on a Debian without python3-venv, where `python3 -m venv` fails.
    """
    version = sys.version_info
    return {
        "executable": sys.executable,
        "version": "%d.%d.%d" % version[:3],
        "tag": "cp%d%d" % version[:2],
        "ensurepip": importlib.util.find_spec("ensurepip") is not None,
    }


def read_environments(tree: Tree, paths: Sequence[str]) -> List[Json]:
    """Return the snapshot's "python_envs", in the order asked for; exists is None where it may not be looked at."""
    return [_environment(tree, path) for path in paths]


def _environment(tree: Tree, path: str) -> Json:
    config = tree.read_text("python_envs", path + "/pyvenv.cfg", optional=True)
    exists = tree.presence(path + "/pyvenv.cfg")
    places = [
        "%s/lib/%s/site-packages" % (path, name)
        for name in (tree.list_folder("python_envs", path + "/lib", optional=True) or [] if exists else [])
        if name.startswith("python3.")
    ]
    info = tree.stat(path) if exists else None
    distributions: Dict[str, Json] = {}
    torch: Optional[Json] = None
    deepspeed: Optional[Json] = None
    for place in places:
        distributions.update(_distributions(tree, place))
        torch = torch or _torch(tree, place)
        deepspeed = deepspeed or _deepspeed(tree, place)
    return {
        "path": path,
        "exists": exists,
        "python": _python(config or ""),
        "uid": info.st_uid if info is not None else None,
        "distributions": distributions,
        "torch": torch,
        "deepspeed": deepspeed,
    }


def _python(config: str) -> Optional[str]:
    for line in config.splitlines():
        key, _, value = line.partition("=")
        # virtualenv writes version_info = 3.11.2.final.0
        if key.strip() in ("version", "version_info"):
            return ".".join(value.strip().split(".")[:3]) or None
    return None


def normalised(name: str) -> str:
    """Return a distribution's name as package indexes compare it: typing_extensions is typing-extensions."""
    return _SEPARATORS.sub("-", name).lower()


def _distributions(tree: Tree, place: str) -> Dict[str, Json]:
    found: Dict[str, Json] = {}
    for name in tree.list_folder("python_envs", place) or []:
        if not name.endswith(".dist-info"):
            continue
        path = "%s/%s/METADATA" % (place, name)
        data = tree.read_bytes("python_envs", path, limit=_METADATA_BYTES, whole=False)
        if data is None:
            continue
        metadata = parse_metadata(data.decode("utf-8", "replace"))
        if metadata["name"] is None or metadata["version"] is None:
            tree.problem("python_envs", path, "no Name or no Version in it")
            continue
        key = normalised(metadata["name"])
        if key in found:
            tree.problem("python_envs", path, "a second copy of %s, of which Python takes either" % key)
        info = tree.stat("%s/%s" % (place, name))
        found[key] = {
            "version": metadata["version"],
            "requires": metadata["requires"],
            # Without its RECORD pip can neither remove nor replace a distribution.
            "record": tree.presence("%s/%s/RECORD" % (place, name)),
            "uid": info.st_uid if info is not None else None,
        }
    return found


def parse_metadata(text: str) -> Json:
    """Return name, version and requires of a wheel's METADATA.

    requires: as written, markers included, without what only an extra asks for.
    """
    values: Json = {"name": None, "version": None, "requires": []}
    for line in text.splitlines():
        if not line.strip():
            break
        key, _, value = line.partition(":")
        key, value = key.lower(), value.strip()
        if key == "requires-dist":
            if not _EXTRA.search(value):
                values["requires"].append(value)
        elif key in ("name", "version") and values[key] is None:
            values[key] = value
    return values


def _torch(tree: Tree, place: str) -> Optional[Json]:
    path = place + "/torch/version.py"
    text = tree.read_text("python_envs", path, optional=True)
    if text is None:
        return None
    torch = parse_torch_version(text)
    if torch["version"] is None:
        tree.problem("python_envs", path, "no __version__ in it")
    return torch


def parse_torch_version(text: str) -> Json:
    """Return version, hip and cuda as torch's version.py says them; None for None and for what is not said."""
    return {
        "version": _assigned(text, "__version__"),
        "hip": _assigned(text, "hip"),
        "cuda": _assigned(text, "cuda"),
    }


def _deepspeed(tree: Tree, place: str) -> Optional[Json]:
    path = place + "/deepspeed/git_version_info_installed.py"
    text = tree.read_text("python_envs", path, optional=True)
    return None if text is None else parse_deepspeed_record(text)


def parse_deepspeed_record(text: str) -> Json:
    """Return what DeepSpeed's build wrote down: version, ops (name to whether it was compiled) and torch ("2.0").

    None for what is not said or is no plain value; nothing of the file is executed.
    """
    values: Json = {}
    for line in text.splitlines():
        name, _, value = line.partition("=")
        try:
            values[name.strip()] = ast.literal_eval(value.strip())
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
    version, ops, torch = values.get("version"), values.get("installed_ops"), values.get("torch_info")
    against = torch.get("version") if isinstance(torch, dict) else None
    return {
        "version": version if isinstance(version, str) else None,
        "ops": {str(name): built is True for name, built in ops.items()} if isinstance(ops, dict) else None,
        "torch": against if isinstance(against, str) else None,
    }


def _assigned(text: str, name: str) -> Optional[str]:
    found = re.search(_ASSIGNMENT % re.escape(name), text, re.MULTILINE)
    return (found.group(1) or found.group(2) or None) if found else None
