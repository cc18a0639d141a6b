# SPDX-License-Identifier: Apache-2.0
"""Compare a venv with a lock, and say what pip has to do so that both are the same."""

from __future__ import annotations

import dataclasses
import re
import typing as t
import urllib.parse

from ansible_collections.instinct.bringup.plugins.plugin_utils.managed import Change, ManagedFile
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.model import PlanContext, Refusal

# Below the venv, since /tmp is often too small for the wheels. What a run that was cut leaves there may be gigabytes.
_SCRATCH = ".scratch"
_PIN = re.compile(r"^(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)==(?P<version>[^\s;\\]+)", re.MULTILINE)
Json = dict[str, t.Any]
# Only finished wheels: nothing of a distribution runs while it is installed.
WHEELS = "--only-binary :all:"
# From source, with what the venv holds: pip's own throw-away environment would fetch another torch to build against.
SOURCES = "--no-binary :all: --no-build-isolation --no-deps --use-pep517"


@dataclasses.dataclass(frozen=True)
class LockSet:
    """A lock that the venv must hold, and how pip gets what it names.

    path: of the lock on the node. source: pip's arguments that name the index or folder.
    kind: WHEELS or SOURCES. environment: variables of the build.
    stale: distributions of the right version that must be made anew all the same, with what is there and the reason.
    """

    path: str
    text: str
    source: str
    kind: str = WHEELS
    environment: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    stale: t.Mapping[str, tuple[str, str]] = dataclasses.field(default_factory=dict)


def normalize(name: str) -> str:
    """Return a distribution's name in the one form that indexes compare (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def scratch_path(venv: str) -> str:
    """Return the folder of what only an installation needs: wheels on their way, and pip's own temporary files."""
    return f"{venv}/{_SCRATCH}"


def lock_pins(lock: str) -> dict[str, str]:
    """Return the distributions of a lock: normalized name to exact version."""
    return {normalize(found["name"]): found["version"] for found in _PIN.finditer(lock)}


def lock_part(lock: str, wanted: t.Callable[[str], bool]) -> str:
    """Return the lines of a lock whose distributions are wanted, each on one line."""
    logical = lock.replace("\\\n", " ").splitlines()
    lines = [line for line in logical if (found := _PIN.match(line)) and wanted(normalize(found["name"]))]
    return "".join(f"{line}\n" for line in lines)


def without_hash(lock: str) -> list[str]:
    """Return the distributions of a lock that no hash vouches for."""
    logical = lock.replace("\\\n", " ").splitlines()
    return [line.split("==")[0] for line in logical if _PIN.match(line) and "--hash=sha256:" not in line]


def index_arguments(url: str) -> list[str]:
    """Return pip's arguments for one index, none for an empty URL: pip's own settings then say where."""
    # pip refuses an index over http unless it is told; the lock's hashes are what the wheels are trusted by.
    host = urllib.parse.urlsplit(url).hostname if url.startswith("http:") else None
    return [*(["--index-url", url] if url else []), *(["--trusted-host", host] if host else [])]


def seen_venv(ctx: PlanContext) -> Json | None:
    """Return what the snapshot says of the venv, None where it did not look."""
    path = ctx.profile["pytorch_venv"]
    return next((env for env in ctx.snapshot.get("python_envs") or [] if env["path"] == path), None)


def plan_lock(ctx: PlanContext, lock: LockSet) -> tuple[list[Change], Json]:
    """Return what differs between the venv and a lock, and what roles/pytorch/tasks/lock.yml needs to mend it."""
    venv, seen, pins = str(ctx.profile["pytorch_venv"]), seen_venv(ctx), lock_pins(lock.text)
    wheels = _wheel_changes(seen, pins)
    damaged = _damaged(seen, {change.subject for change in wheels}, pins, lock.stale)
    again = [change.subject for change in damaged]
    inputs = {
        "venv": venv,
        "lock": lock.path,
        "scratch": scratch_path(venv),
        "source": lock.source,
        "kind": lock.kind,
        "environment": dict(lock.environment),
        "wheelhouse": None,
        "reinstall": [change.subject for change in wheels],
        "owner": str((seen or {}).get("uid") or 0),
        "damaged": _repair_file(venv, lock.text, again) if again else None,
    }
    return [*wheels, *damaged], inputs


def _wheel_changes(seen: Json | None, pins: dict[str, str]) -> list[Change]:
    distributions = {
        normalize(name): str(entry["version"]) for name, entry in ((seen or {}).get("distributions") or {}).items()
    }
    return [
        Change("wheel", name, distributions.get(name, "absent"), version, "pinned by the lock")
        for name, version in pins.items()
        if distributions.get(name) != version
    ]


def _damaged(
    seen: Json | None,
    swapped: t.Collection[str],
    pins: dict[str, str],
    stale: t.Mapping[str, tuple[str, str]],
) -> list[Change]:
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
        elif plain in stale:
            changes.append(Change("wheel", plain, stale[plain][0], "installed again", stale[plain][1]))
    return changes


def _repair_file(venv: str, lock: str, names: t.Collection[str]) -> dict[str, str]:
    """Return the part of the lock that names only these, as a file that the role needs for one call of pip."""
    return ManagedFile(
        f"{scratch_path(venv)}/repair.lock", lock_part(lock, lambda name: name in names), "for one call"
    ).as_input()


def conflicts(first: t.Mapping[str, str], second: t.Mapping[str, str]) -> list[str]:
    """Return where two locks of one venv pin a distribution differently, as "numpy 1.26.4 and 2.0.0"."""
    return [
        f"{name} {first[name]} and {second[name]}"
        for name in sorted(first.keys() & second.keys())
        if first[name] != second[name]
    ]


def lock_refusal(option: str, seen: str, wanted: str) -> Refusal:
    """Return the refusal of a lock that the plan cannot use."""
    return Refusal("py.lock", option, seen, wanted, f"make the lock as docs/wheels.md says and name it in {option}")
