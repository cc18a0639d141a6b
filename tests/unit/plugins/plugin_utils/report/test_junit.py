# SPDX-License-Identifier: Apache-2.0
"""junit.xml: accepted by a parser whatever a node says."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.instinct.bringup.plugins.plugin_utils.report.junit import render_junit


def check(outcome: str, required: bool = True, text: str = "text") -> dict[str, Any]:
    keys = ("subject", "expected", "observed", "reason", "remedy", "evidence")
    return {"id": "gpu.count", "outcome": outcome, "required": required, **dict.fromkeys(keys, text)}


def results(**nodes: Any) -> dict[str, Any]:
    return {"generated": "2026-12-01T08:00:00Z", "nodes": nodes}


def node(verdict: str, *checks: dict[str, Any], reason: str = "why") -> dict[str, Any]:
    return {"verdict": verdict, "reason": reason, "plan": [], "checks": list(checks)}


def test_counts() -> None:
    checks = [
        check("ok"),
        check("fail"),
        check("unknown"),
        check("unknown", required=False),
        check("skipped"),
        check("warn"),
    ]
    root = ET.fromstring(render_junit(results(gpu01=node("fail", *checks), gpu02=node("unreachable"))))
    assert root.tag == "testsuites"
    first, second = root.findall("testsuite")
    assert {key: first.get(key) for key in ("name", "tests", "failures", "errors", "skipped")} == {
        "name": "gpu01", "tests": "6", "failures": "1", "errors": "1", "skipped": "1",
    }  # fmt: skip
    assert first.find("testcase").get("name") == "gpu.count text"  # type: ignore[union-attr]
    assert len(first.findall("testcase/system-out")) == 2
    assert second.find("testcase/error").get("message") == "unreachable: why"  # type: ignore[union-attr]
    assert (root.get("tests"), root.get("errors")) == ("7", "2")


@pytest.mark.parametrize(
    ("verdict", "tag"),
    [
        ("unreachable", "error"),
        ("refused", "error"),
        ("apply_failed", "error"),
        ("untouched", "skipped"),
        ("pass", None),
    ],
)
def test_a_node_without_checks_has_its_verdict_as_a_case(verdict: str, tag: str | None) -> None:
    case = ET.fromstring(render_junit(results(gpu01=node(verdict)))).find("testsuite/testcase")
    assert case is not None
    assert case.get("name") == "verdict"
    assert [child.tag for child in case] == ([tag] if tag else [])


def test_what_failed_before_verify_is_told_although_checks_of_an_earlier_run_are_there() -> None:
    root = ET.fromstring(render_junit(results(gpu01=node("apply_failed", check("ok")))))
    assert [case.get("name") for case in root.iter("testcase")] == ["gpu.count text", "verdict"]


@given(st.text(st.characters(), max_size=60))
def test_any_text_of_a_node_is_accepted_by_a_parser(text: str) -> None:
    nodes = {text: node("fail", check("fail", text=text), reason=text), "b": node("refused", reason=text)}
    root = ET.fromstring(render_junit(results(**nodes)).encode("utf-8"))
    assert root.get("failures") == "1"


def test_control_characters_are_gone_and_markup_is_escaped() -> None:
    text = render_junit(results(a=node("fail", check("fail", text="\x1b[31m<b>&\x00\ufffe"))))
    assert "\x1b" not in text
    assert "<b>" not in text
    assert ET.fromstring(text).find("testsuite/testcase/failure").get("message") == "[31m<b>&"  # type: ignore[union-attr]
