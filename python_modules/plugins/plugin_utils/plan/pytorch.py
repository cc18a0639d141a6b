# SPDX-License-Identifier: Apache-2.0
"""Plan the venv: wheels by the lock, and constraints that keep a later pip from swapping them."""

from __future__ import annotations

import hashlib
import re
import typing as t
import urllib.parse

from ansible_collections.instinct.bringup.plugins.plugin_utils.managed import Change, ManagedFile
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.model import PlanContext, Refusal, Step

# Below the venv, since /tmp is often too small for the wheels. What a run that was cut leaves there may be gigabytes.
_SCRATCH = ".scratch"
_PIN = re.compile(r"^(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)==(?P<version>[^\s;\\]+)", re.MULTILINE)


def lock_pins(lock: str) -> dict[str, str]:
    """Return the distributions of a lock: normalized name to exact version."""
    return {normalize(found["name"]): found["version"] for found in _PIN.finditer(lock)}


def normalize(name: str) -> str:
    """Return a distribution's name in the one form that indexes compare (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def index_url(ctx: PlanContext) -> str:
    """Return the one index: merged with another, pip would take the highest number of both."""
    given = str(ctx.profile["pytorch_index_url"])
    base = str(ctx.profile["pytorch_base_url"]).rstrip("/")
    return given.rstrip("/") if given else f"{base}/{ctx.release['torch']['index_tag']}"


def scratch_path(venv: str) -> str:
    """Return the folder of what only an installation needs: wheels on their way, and pip's own temporary files."""
    return f"{venv}/{_SCRATCH}"


def plan_pytorch(ctx: PlanContext) -> Step:
    """Return the step of role pytorch."""
    venv = str(ctx.profile["pytorch_venv"])
    lock = ctx.lock or ""
    pins = lock_pins(lock)
    files = _files(ctx, venv, lock, pins)
    seen = next((env for env in ctx.snapshot.get("python_envs") or [] if env["path"] == venv), None)
    changes: list[Change] = []
    if not seen or not seen["exists"]:
        changes.append(Change("venv", venv, "absent", "a venv", "the system's Python belongs to the distribution"))
    changes += ctx.file_changes(files)
    wheels = _wheel_changes(seen, pins)
    damaged = _damaged(seen, {change.subject for change in wheels}, pins)
    changes += [*wheels, *damaged]
    scratch = scratch_path(venv)
    if (ctx.watched(scratch) or {}).get("type", "absent") != "absent":
        changes.append(Change("scratch", scratch, "present", "absent", "a run that was cut left it"))
    packages = list(ctx.distribution["venv_packages"])
    changes += [
        Change("package", name, "not installed", "the distribution's", "what makes a venv and its pip")
        for name in ctx.missing(packages)
    ]
    inputs = {
        "venv": venv,
        "files": [file.as_input() for file in files],
        "lock": f"{venv}/requirements.lock",
        "scratch": scratch,
        "source": _source(ctx, venv),
        "wheelhouse": _wheelhouse(ctx, venv, lock) if wheels or damaged else None,
        "packages": packages,
        "missing": ctx.missing(packages),
        "reinstall": [change.subject for change in wheels],
        "owner": str((seen or {}).get("uid") or 0),
        "damaged": _repair_file(venv, lock, [change.subject for change in damaged]) if damaged else None,
    }
    return Step("pytorch", tuple(changes), inputs, tuple(files))


def _index_arguments(ctx: PlanContext) -> list[str]:
    url = index_url(ctx)
    # pip refuses an index over http unless it is told; the lock's hashes are what the wheels are trusted by.
    host = urllib.parse.urlsplit(url).hostname if url.startswith("http:") else None
    return ["--index-url", url, *(["--trusted-host", host] if host else [])]


def _source(ctx: PlanContext, venv: str) -> str:
    """Return where pip on the node finds the wheels: in the one index, or in what the controller has copied."""
    if ctx.profile["pytorch_wheelhouse"]:
        return f"--no-index --find-links {scratch_path(venv)}/wheelhouse"
    return " ".join(_index_arguments(ctx))


def _wheelhouse(ctx: PlanContext, venv: str, lock: str) -> dict[str, t.Any] | None:
    """Return what the controller fetches once and copies to each node, None where the nodes fetch themselves.

    One folder a lock and Python: nodes of another distribution need other files.
    """
    if not ctx.profile["pytorch_wheelhouse"]:
        return None
    tag = str(ctx.area("python").get("tag") or "")
    digest = hashlib.sha256(f"{tag}\n{lock}".encode()).hexdigest()[:16]
    return {
        "folder": f"{ctx.profile['pytorch_wheelhouse']}/{digest}",
        "lock": lock,
        "arguments": [*_index_arguments(ctx), "--python-version", f"{tag[2:3]}.{tag[3:]}", "--implementation", "cp"],
        "dest": f"{scratch_path(venv)}/wheelhouse",
    }


def pytorch_refusals(ctx: PlanContext) -> list[Refusal]:
    """Return what is wrong with the lock or the interpreter, before anything is changed."""
    torch = ctx.release["torch"]
    tag = ctx.area("python").get("tag")
    wanted = {normalize(name): version for name, version in torch["packages"].items()}
    if ctx.lock is None:
        path = ctx.profile["pytorch_lock_file"]
        seen = f"{path} is no readable text on the controller" if path else "no pytorch_lock_file is set"
        return [_lock_refusal(seen, wanted)]
    pins = lock_pins(ctx.lock)
    refusals = [
        _lock_refusal(f"{name} is {pins.get(name, 'not in the lock')}", wanted)
        for name, version in wanted.items()
        if pins.get(name) != version
    ]
    if "numpy" in pins and torch["numpy"] == "<2" and int(pins["numpy"].split(".")[0]) >= 2:
        refusals.append(
            _lock_refusal(f"numpy is {pins['numpy']}, torch {wanted['torch']} was built for numpy 1", wanted)
        )
    if _without_hash(ctx.lock):
        refusals.append(_lock_refusal("without --hash: " + ", ".join(_without_hash(ctx.lock)), wanted))
    if torch["pythons"] and tag not in torch["pythons"]:
        refusals.append(
            Refusal(
                "py.abi_supported",
                ctx.area("python")["executable"],
                f"Python {ctx.snapshot['python']['version']} ({tag})",
                "one of " + ", ".join(torch["pythons"]),
                f"the index {torch['index_tag']} has no wheel for {tag}; use a distribution with one of those Pythons",
            )
        )
    return refusals


def _lock_refusal(seen: str, wanted: dict[str, str]) -> Refusal:
    pins = ", ".join(f"{name}=={version}" for name, version in wanted.items())
    return Refusal(
        "py.lock",
        "pytorch_lock_file",
        seen,
        f"a lock with {pins} and a --hash for every line",
        "make the lock as docs/wheels.md says and name it in pytorch_lock_file",
    )


def _without_hash(lock: str) -> list[str]:
    logical = lock.replace("\\\n", " ").splitlines()
    return [line.split("==")[0] for line in logical if _PIN.match(line) and "--hash=sha256:" not in line]


def _files(ctx: PlanContext, venv: str, lock: str, pins: dict[str, str]) -> list[ManagedFile]:
    constraints = "".join(f"{name}=={version}\n" for name, version in sorted(pins.items()))
    config = f"[global]\nconstraint = {venv}/constraints.txt\n"
    return [
        ManagedFile(f"{venv}/requirements.lock", lock, "every wheel by version and SHA-256"),
        ManagedFile(f"{venv}/constraints.txt", constraints, "a later pip in this venv keeps these versions"),
        ManagedFile(f"{venv}/pip.conf", config, "pip of this venv reads the constraints without being asked"),
    ]


def _damaged(seen: dict[str, t.Any] | None, swapped: t.Collection[str], pins: dict[str, str]) -> list[Change]:
    """Return the distributions of the right version that pip could not handle, or that another user may change."""
    changes = []
    for name, entry in sorted(((seen or {}).get("distributions") or {}).items()):
        plain, owner = normalize(name), (seen or {}).get("uid")
        if plain not in pins or plain in swapped:
            continue
        if entry.get("record") is False:
            changes.append(Change("wheel", plain, "its RECORD is gone", "installed again", "pip could not remove it"))
        elif owner is not None and entry.get("uid") not in (None, owner):
            before, reason = f"owned by uid {entry['uid']}", f"the environment belongs to uid {owner}"
            changes.append(Change("wheel", plain, before, "installed again", reason))
    return changes


def _repair_file(venv: str, lock: str, names: t.Collection[str]) -> dict[str, str]:
    """Return the part of the lock that names only these, as a file that the role needs for one call of pip."""
    logical = lock.replace("\\\n", " ").splitlines()
    lines = [line for line in logical if (found := _PIN.match(line)) and normalize(found["name"]) in names]
    return ManagedFile(f"{scratch_path(venv)}/repair.lock", "\n".join(lines) + "\n", "for one call of pip").as_input()


def _wheel_changes(seen: dict[str, t.Any] | None, pins: dict[str, str]) -> list[Change]:
    distributions = {
        normalize(name): str(entry["version"]) for name, entry in ((seen or {}).get("distributions") or {}).items()
    }
    return [
        Change("wheel", name, distributions.get(name, "absent"), version, "pinned by the lock")
        for name, version in pins.items()
        if distributions.get(name) != version
    ]
