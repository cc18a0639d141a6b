# SPDX-License-Identifier: Apache-2.0
"""Keep the folder of one run: who is in it, what each node's snapshot, plan and results are.

    RUN/run.json              id, verb, hosts, release, check mode, when it began and ended
    RUN/snapshots/HOST.json   what node_facts saw
    RUN/nodes/HOST.json       the node's record: plan, verdict, reason, checks
    RUN/peers-GROUP.json      what hosts know of each other, from their snapshots

A node writes one small file, so that a run of 1,000 nodes never rewrites what is already there.
"""

from __future__ import annotations

import collections.abc as c
import dataclasses
import datetime
import pathlib
import secrets
import typing as t

from ansible_collections.instinct.bringup.plugins.plugin_utils.report.files import (
    read_json,
    replace_link,
    safe_name,
    write_json,
)

__all__ = [
    "RunFolder",
    "RunFolderError",
    "create_run_folder",
    "gathered_path",
    "open_run_folder",
    "read_node",
    "read_snapshot",
    "write_json",
    "write_node",
    "write_snapshot",
]

SCHEMA = 1


class RunFolderError(Exception):
    """Say which folder is not one of a run, and why."""


def utc_text(moment: datetime.datetime) -> str:
    """Return a time as "2026-12-01T08:00:00Z"."""
    return moment.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def now() -> datetime.datetime:
    """Return the present time."""
    return datetime.datetime.now(datetime.UTC)


def snapshot_path(run_dir: pathlib.Path, host: str) -> pathlib.Path:
    """Return where a host's snapshot is or will be."""
    return run_dir / "snapshots" / f"{safe_name(host)}.json"


def node_path(run_dir: pathlib.Path, host: str) -> pathlib.Path:
    """Return where a host's record is or will be."""
    return run_dir / "nodes" / f"{safe_name(host)}.json"


def gathered_path(run_dir: pathlib.Path, group: str) -> pathlib.Path:
    """Return where what the hosts of a group know of each other is, made from their snapshots once a run."""
    return run_dir / f"peers-{safe_name(group)}.json"


def write_snapshot(run_dir: pathlib.Path, host: str, snapshot: c.Mapping[str, t.Any]) -> pathlib.Path:
    """Keep a host's snapshot and return its path. What hosts knew of each other by older ones is gathered anew."""
    path = snapshot_path(run_dir, host)
    write_json(path, snapshot)
    for gathered in run_dir.glob("peers-*.json"):
        gathered.unlink(missing_ok=True)
    return path


def read_snapshot(run_dir: pathlib.Path, host: str) -> dict[str, t.Any]:
    """Return a host's snapshot.

    :raises FileNotFoundError: there is none. :raises ValueError: it is not JSON.
    """
    return read_json(snapshot_path(run_dir, host))


def new_record(host: str) -> dict[str, t.Any]:
    """Return the record of a node of which nothing is known yet.

    plan: what the plan says (steps, refusals), None before there is one. verdict: one of results.VERDICTS, or
    None as long as no run has given one.
    """
    return {"schema": SCHEMA, "host": host, "updated": "", "verdict": None, "reason": "", "plan": None, "checks": []}


def read_node(run_dir: pathlib.Path, host: str) -> dict[str, t.Any]:
    """Return a host's record, a new one where there is none or where it cannot be read."""
    try:
        record = read_json(node_path(run_dir, host))
    except (OSError, ValueError):
        return new_record(host)
    return {**new_record(host), **record, "host": host}


def write_node(run_dir: pathlib.Path, host: str, changes: c.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Change the given parts of a host's record, keep the others, and return it whole."""
    record = {**read_node(run_dir, host), **changes, "host": host, "updated": utc_text(now())}
    write_json(node_path(run_dir, host), record)
    return record


def was_cut_before_reboot(run_dir: pathlib.Path, host: str) -> bool:
    """Say whether the host's last run before this one was cut with a reboot in its plan: it may be rebooting now."""
    for path in sorted(run_dir.parent.iterdir(), reverse=True):
        record = read_node(path, host)
        if path.is_symlink() or path.name == run_dir.name or record["plan"] is None:
            continue
        try:
            info = read_json(path / "run.json")
        except (OSError, ValueError):
            continue
        if info.get("verb") != "site" or info.get("check_mode"):
            continue
        steps = record["plan"].get("steps") or []
        return not info.get("finished") and not record["verdict"] and any(step["role"] == "reboot" for step in steps)
    return False


@dataclasses.dataclass(frozen=True)
class RunFolder:
    """Hold a run's folder. info: what run.json said when it was opened."""

    path: pathlib.Path
    info: dict[str, t.Any]

    @property
    def hosts(self) -> list[str]:
        """Return the hosts that the run is for."""
        return [str(host) for host in self.info.get("hosts") or []]

    def read_nodes(self) -> dict[str, dict[str, t.Any]]:
        """Return every host's record: of the run's hosts, and of others that have one."""
        records = {host: read_node(self.path, host) for host in self.hosts}
        for path in sorted((self.path / "nodes").glob("*.json")):
            try:
                host = str(read_json(path)["host"])
            except (OSError, ValueError, KeyError):
                continue
            # The name inside counts only where it leads to this very file.
            if host not in records and node_path(self.path, host) == path:
                records[host] = read_node(self.path, host)
        return records

    def finish(self) -> None:
        """Note that the run came to its end."""
        write_json(self.path / "run.json", {**self.info, "finished": utc_text(now())})


def create_run_folder(
    report_dir: pathlib.Path, hosts: c.Iterable[str], *, verb: str, rocm_release: str, check_mode: bool = False
) -> RunFolder:
    """Make the folder of a new run below report_dir, and let the link latest lead to it.

    :raises OSError: report_dir cannot be written, or latest is a folder.
    """
    report_dir.mkdir(parents=True, exist_ok=True)
    started = now()
    path = _new_folder(report_dir, started.strftime("%Y%m%dT%H%M%SZ"))
    for name in ("nodes", "snapshots", "manifests"):
        (path / name).mkdir(mode=0o750)
    info: dict[str, t.Any] = {
        "schema": SCHEMA,
        "id": path.name,
        "started": utc_text(started),
        "finished": None,
        "verb": verb,
        "rocm_release": rocm_release,
        "check_mode": check_mode,
        "hosts": sorted(set(hosts)),
    }
    write_json(path / "run.json", info)
    replace_link(report_dir / "latest", path.name)
    return RunFolder(path, info)


def _new_folder(report_dir: pathlib.Path, stamp: str) -> pathlib.Path:
    """Make a folder that nobody had: runs of one second differ in the last four letters."""
    while True:
        path = report_dir / f"{stamp}-{secrets.token_hex(2)}"
        try:
            path.mkdir(mode=0o750)
        except FileExistsError:
            continue
        return path


def open_run_folder(path: pathlib.Path | str) -> RunFolder:
    """Return a run's folder that is already there; the link latest is followed.

    :raises RunFolderError: it is not there, or is none of ours.
    """
    folder = pathlib.Path(path).resolve()
    try:
        info = read_json(folder / "run.json")
    except (OSError, ValueError) as error:
        raise RunFolderError(f"{folder} is not the folder of a run: {error}") from error
    if info.get("schema") != SCHEMA:
        raise RunFolderError(f"{folder}/run.json has schema {info.get('schema')!r}, wanted is {SCHEMA}")
    return RunFolder(folder, info)
