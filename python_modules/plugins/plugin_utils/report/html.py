# SPDX-License-Identifier: Apache-2.0
"""Make index.html from results.json: one file, readable without a network, every text escaped."""

from __future__ import annotations

import collections
import collections.abc as c
import functools
import typing as t

import jinja2
import markupsafe

from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.model import OUTCOMES
from ansible_collections.instinct.bringup.plugins.plugin_utils.report.drawings import Drawing
from ansible_collections.instinct.bringup.plugins.plugin_utils.report.html_template import TEMPLATE
from ansible_collections.instinct.bringup.plugins.plugin_utils.report.summary import rank

QUIET = ("ok", "skipped")
# Up to so many nodes the page lists what is well too; more would be tens of megabytes.
DETAILED_NODES = 100
VERDICT_ORDER = ("fail", "apply_failed", "unreachable", "refused", "unknown", "untouched", "pass")


@functools.cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(TEMPLATE)


def render_html(
    results: c.Mapping[str, t.Any], info: c.Mapping[str, t.Any], drawings: c.Mapping[str, Drawing] | None = None
) -> str:
    """Return the report as a page.

    info: run.json, for the run's name and verb. drawings: the topology of those hosts that have one.
    """
    return _template().render(results=results, info=info, nodes=_nodes(results["nodes"], drawings or {}))


def _nodes(nodes: c.Mapping[str, t.Any], drawings: c.Mapping[str, Drawing]) -> list[dict[str, t.Any]]:
    """Return the nodes, those that ask for a person first, each with its checks in that order too."""
    listed = [
        {
            "host": host,
            "anchor": f"node-{number}",
            "verdict": node["verdict"],
            "reason": node["reason"],
            "plan": node["plan"],
            "svg": markupsafe.Markup(drawings[host].svg) if host in drawings else None,
            "topology": drawings[host].text if host in drawings else None,
            "loud": [check for check in _sorted(node["checks"]) if check["outcome"] not in QUIET],
            "quiet": _grouped(node["checks"]) if len(nodes) <= DETAILED_NODES else [],
            "quiet_number": sum(check["outcome"] in QUIET for check in node["checks"]),
            "counts": collections.Counter(check["outcome"] for check in node["checks"]),
        }
        for number, (host, node) in enumerate(nodes.items(), start=1)
    ]
    return sorted(listed, key=lambda node: (VERDICT_ORDER.index(node["verdict"]), node["host"]))


def _grouped(checks: list[dict[str, t.Any]]) -> list[dict[str, t.Any]]:
    """Return one row for each quiet check, whatever number of subjects it looked at."""
    rows: dict[tuple[str, str], list[dict[str, t.Any]]] = {}
    for check in _sorted(checks):
        if check["outcome"] in QUIET:
            rows.setdefault((check["id"], check["outcome"]), []).append(check)
    return [
        {
            "id": check_id,
            "outcome": outcome,
            "number": len(members),
            "observed": "; ".join(dict.fromkeys(check["observed"] for check in members if check["observed"])),
            "reason": "; ".join(dict.fromkeys(check["reason"] for check in members if check["reason"])),
            "evidence": members[0]["evidence"],
        }
        for (check_id, outcome), members in rows.items()
    ]


def _sorted(checks: list[dict[str, t.Any]]) -> list[dict[str, t.Any]]:
    return sorted(checks, key=lambda check: (OUTCOMES.index(check["outcome"]), rank(check)))
