# SPDX-License-Identifier: Apache-2.0
"""Make results.json from the records of the nodes."""

from __future__ import annotations

import collections
import collections.abc as c
import dataclasses
import pathlib
import typing as t

from ansible_collections.instinct.bringup.plugins.plugin_utils.fleet import odd_ones_out
from ansible_collections.instinct.bringup.plugins.plugin_utils.report.drawings import drawings_of
from ansible_collections.instinct.bringup.plugins.plugin_utils.report.files import write_json, write_text
from ansible_collections.instinct.bringup.plugins.plugin_utils.report.html import DETAILED_NODES, render_html
from ansible_collections.instinct.bringup.plugins.plugin_utils.report.junit import render_junit
from ansible_collections.instinct.bringup.plugins.plugin_utils.report.run_folder import (
    RunFolder,
    create_run_folder,
    now,
    utc_text,
    write_node,
)

Json = dict[str, t.Any]

# untouched: the node was not reached, or only planned, or the run was in check mode.
UNTOUCHED = "untouched"
VERDICTS = ("pass", "fail", "unknown", "unreachable", "refused", "apply_failed", UNTOUCHED)
CHECK_KEYS = ("id", "outcome", "required", "subject", "expected", "observed", "reason", "remedy", "evidence")
CHANGE_KEYS = ("kind", "subject", "before", "after", "reason")
REFUSAL_KEYS = ("id", "subject", "seen", "wanted", "remedy")
# A change may carry a file's text; a report needs to say what it is, not all of it.
MAX_TEXT = 400


def node_entry(record: c.Mapping[str, t.Any], info: c.Mapping[str, t.Any], ended: bool) -> Json:
    """Return a node's part of results.json.

    info: run.json. ended: whether the run came to its end, so that a node without a verdict was left out
    rather than not reached yet.
    """
    plan = record.get("plan") or {}
    verdict, reason = decision(record) or (UNTOUCHED, _why_untouched(plan, info, ended))
    entries = plan.get("steps") or plan.get("refusals") or []
    return {
        "verdict": verdict,
        "reason": reason,
        "plan": [_plan_entry(entry) for entry in entries],
        "checks": [{key: check.get(key, "") for key in CHECK_KEYS} for check in record.get("checks") or []],
    }


def decision(record: c.Mapping[str, t.Any]) -> tuple[str, str] | None:
    """Return the verdict of a node's record and why, None where the record holds none.

    A plan that refuses is a verdict too.
    """
    verdict = record.get("verdict")
    if verdict in VERDICTS:
        return str(verdict), str(record.get("reason") or "")
    refusals = (record.get("plan") or {}).get("refusals") or []
    if refusals:
        return "refused", "; ".join(
            f"{refusal['subject']}: {refusal['seen']}, wanted {refusal['wanted']}" for refusal in refusals
        )
    return None


def _why_untouched(plan: c.Mapping[str, t.Any], info: c.Mapping[str, t.Any], ended: bool) -> str:
    if info.get("check_mode"):
        return "check mode: nothing was changed, nothing was judged"
    if plan and info.get("verb") == "plan":
        return "planned only"
    if not ended:
        return "planned, not verified yet" if plan else "not reached yet"
    return "planned, but the run ended before it was verified" if plan else "the run ended before it came to this node"


def _plan_entry(entry: c.Mapping[str, t.Any]) -> Json:
    """Return a step of a plan, or a refusal, with exactly its keys and with long texts cut."""
    if "role" not in entry:
        return _texts(entry, REFUSAL_KEYS)
    return {
        "role": str(entry["role"]),
        "reasons": [_short(reason) for reason in entry.get("reasons") or []],
        "changes": [_texts(change, CHANGE_KEYS) for change in entry.get("changes") or []],
    }


def _texts(values: c.Mapping[str, t.Any], keys: tuple[str, ...]) -> Json:
    return {key: _short(values.get(key, "")) for key in keys}


def _short(value: t.Any) -> str:
    text = str(value)
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]} … ({len(text)} characters)"


def assemble(nodes: c.Mapping[str, Json], *, rocm_release: str, complete: bool, missing: c.Iterable[str] = ()) -> Json:
    """Return results.json of the nodes' entries.

    missing: hosts that have no verdict yet; named where the report is not complete.
    """
    counts = collections.Counter(entry["verdict"] for entry in nodes.values())
    results: Json = {
        "schema": 1,
        "generated": utc_text(now()),
        "complete": complete,
        "rocm_release": rocm_release,
        "summary": {"nodes": len(nodes), **{verdict: counts.get(verdict, 0) for verdict in VERDICTS}},
        "nodes": dict(sorted(nodes.items())),
    }
    if not complete:
        results["missing"] = sorted(missing)
    return results


def results_of(folder: RunFolder) -> Json:
    """Return results.json of a run's folder, read from its files.

    A run that was cut is complete only if every node has a verdict.
    """
    records = folder.read_nodes()
    missing = [host for host, record in records.items() if decision(record) is None]
    complete = bool(folder.info.get("finished")) or not missing
    entries = {host: node_entry(record, folder.info, complete) for host, record in records.items()}
    results = assemble(entries, rocm_release=release_of(folder), complete=complete, missing=missing)
    odd = fleet_findings(records)
    if odd:
        results["fleet"] = odd
    return results


def fleet_findings(records: c.Mapping[str, c.Mapping[str, t.Any]]) -> list[Json]:
    """Return the nodes that differ from the majority of the run, each with both values."""
    facts = {host: record["fleet"] for host, record in records.items() if isinstance(record.get("fleet"), dict)}
    return [{**dataclasses.asdict(one), "sentence": one.sentence()} for one in odd_ones_out(facts)]


def release_of(folder: RunFolder) -> str:
    """Return the ROCm release that the run is about."""
    return str(folder.info.get("rocm_release") or "")


def write_report(folder: RunFolder, results: Json) -> list[pathlib.Path]:
    """Write results.json, index.html and junit.xml into a run's folder and return their paths.

    :raises OSError: the folder is not writable, or the disk is full.
    """
    paths = [folder.path / name for name in ("results.json", "index.html", "junit.xml")]
    write_json(paths[0], results)
    drawn = drawings_of(folder, results["nodes"]) if len(results["nodes"]) <= DETAILED_NODES else {}
    write_text(paths[1], render_html(results, folder.info, drawn))
    write_text(paths[2], render_junit(results))
    return paths


def merge_runs(folders: c.Sequence[RunFolder]) -> RunFolder:
    """Make a new run's folder beside the first one that holds the newest record of every node.

    It is how several controllers' runs become one report.

    :raises OSError: the folder beside cannot be written.
    """
    newest: dict[str, Json] = {}
    for folder in folders:
        for host, record in folder.read_nodes().items():
            if host not in newest or str(record["updated"]) > str(newest[host]["updated"]):
                newest[host] = record
    releases = sorted({release_of(folder) for folder in folders} - {""})
    merged = create_run_folder(folders[0].path.parent, newest, verb="report", rocm_release=", ".join(releases))
    for host, record in newest.items():
        write_node(merged.path, host, record)
    if all(folder.info.get("finished") for folder in folders):
        merged.finish()
        merged.info["finished"] = True
    return merged
