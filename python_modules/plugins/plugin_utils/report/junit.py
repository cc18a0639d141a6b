# SPDX-License-Identifier: Apache-2.0
"""Make junit.xml from results.json: a suite for each node, a case for each check."""

from __future__ import annotations

import collections.abc as c
import re
import typing as t
import xml.etree.ElementTree as ET

# Everything that XML 1.0 cannot hold, not even escaped: control characters, lone surrogates, two non-characters.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def clean(text: object) -> str:
    """Return a text without the characters that XML cannot hold."""
    return _FORBIDDEN.sub("", str(text))


def render_junit(results: c.Mapping[str, t.Any]) -> str:
    """Return the report in JUnit's form.

    A failed check is a failure, a required one that is unknown an error, a skipped one skipped; what is only
    warned of passes and says so in its output. A node without checks has one case, its verdict.
    """
    root = ET.Element("testsuites", name="instinct.bringup")
    totals = dict.fromkeys(("tests", "failures", "errors", "skipped"), 0)
    for host, node in results["nodes"].items():
        suite = _suite(str(host), node, str(results["generated"]))
        root.append(suite)
        for key in totals:
            totals[key] += int(suite.get(key, "0"))
    for key, number in totals.items():
        root.set(key, str(number))
    ET.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _suite(host: str, node: c.Mapping[str, t.Any], generated: str) -> ET.Element:
    cases = [_case(host, check) for check in node["checks"]]
    if node["verdict"] not in ("pass", "fail", "unknown") or not cases:
        cases.append(_verdict_case(host, node))
    suite = ET.Element("testsuite", name=clean(host), timestamp=generated.rstrip("Z"), time="0")
    suite.set("tests", str(len(cases)))
    for key, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(key, str(sum(case.find(tag) is not None for case in cases)))
    suite.extend(cases)
    return suite


def _case(host: str, check: c.Mapping[str, t.Any]) -> ET.Element:
    name = f"{check['id']} {check['subject']}".strip()
    case = ET.Element("testcase", classname=clean(host), name=clean(name), time="0")
    outcome, message = check["outcome"], clean(check["reason"] or check["observed"])
    if outcome == "fail":
        ET.SubElement(case, "failure", message=message, type=clean(check["id"])).text = _details(check)
    elif outcome == "unknown" and check["required"]:
        ET.SubElement(case, "error", message=message, type=clean(check["id"])).text = _details(check)
    elif outcome == "skipped":
        ET.SubElement(case, "skipped", message=message)
    elif outcome != "ok":
        ET.SubElement(case, "system-out").text = f"{outcome}: {message}\n{_details(check)}"
    return case


def _verdict_case(host: str, node: c.Mapping[str, t.Any]) -> ET.Element:
    case = ET.Element("testcase", classname=clean(host), name="verdict", time="0")
    message = clean(f"{node['verdict']}: {node['reason']}")
    if node["verdict"] == "untouched":
        ET.SubElement(case, "skipped", message=message)
    elif node["verdict"] != "pass":
        ET.SubElement(case, "error", message=message, type=clean(node["verdict"]))
    return case


def _details(check: c.Mapping[str, t.Any]) -> str:
    lines = [f"{key}: {check[key]}" for key in ("expected", "observed", "evidence", "remedy") if check[key]]
    return clean("\n".join(lines))
