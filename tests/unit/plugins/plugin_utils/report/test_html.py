# SPDX-License-Identifier: Apache-2.0
"""index.html: one file, every text of a node escaped, what failed first."""

from __future__ import annotations

import html.parser
import re
from typing import Any

from ansible_collections.instinct.bringup.plugins.plugin_utils.report.drawings import Drawing
from ansible_collections.instinct.bringup.plugins.plugin_utils.report.html import render_html
from ansible_collections.instinct.bringup.plugins.plugin_utils.report.results import VERDICTS, assemble

EVIL = "<script>alert('x')</script><img src=x onerror=y>\"&"
INFO = {"id": "20261201T080000Z-3f2a", "verb": "site"}
VOID = {"meta", "link", "br", "hr", "img", "input"}


class Tags(html.parser.HTMLParser):
    """Collect the tags, and what was closed that was not open."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.wrong: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)


def check(outcome: str, text: str = "text", required: bool = True) -> dict[str, Any]:
    keys = ("subject", "expected", "observed", "reason", "remedy", "evidence")
    return {"id": f"gpu.{outcome}", "outcome": outcome, "required": required, **dict.fromkeys(keys, text)}


def node(verdict: str, *checks: dict[str, Any], text: str = "why", plan: Any = ()) -> dict[str, Any]:
    return {"verdict": verdict, "reason": text, "plan": list(plan), "checks": list(checks)}


def page(nodes: dict[str, Any], complete: bool = True, missing: Any = ()) -> str:
    return render_html(assemble(nodes, rocm_release="5.4.2", complete=complete, missing=missing), INFO)


def test_every_text_of_a_node_is_escaped() -> None:
    change = dict.fromkeys(("kind", "subject", "before", "after", "reason"), EVIL)
    refusal = dict.fromkeys(("id", "subject", "seen", "wanted", "remedy"), EVIL)
    plan = [{"role": EVIL, "reasons": [EVIL], "changes": [change]}, refusal]
    checks = [check("fail", EVIL), check("ok", EVIL)]
    text = page({EVIL: node("fail", *checks, text=EVIL, plan=plan)}, complete=False, missing=[EVIL])
    tags = [tag for tag, _attributes in Tags(text).tags]
    assert "script" not in tags
    assert "img" not in tags
    assert text.count("&lt;script&gt;") > 20


def test_nothing_is_loaded_from_elsewhere_and_nothing_runs() -> None:
    text = page({"gpu01": node("fail", check("fail"))})
    for tag, attributes in Tags(text).tags:
        assert tag not in ("script", "img", "link", "iframe", "object")
        assert not set(attributes) & {"src", "onclick", "onload", "style"}
        assert (attributes.get("href") or "#").startswith("#")
    assert not re.search(r"url\(|@import|https?://", text)


def test_the_page_is_well_formed_and_readable_by_a_screen_reader() -> None:
    step = {
        "role": "rocm",
        "reasons": ["r"],
        "changes": [dict.fromkeys(("kind", "subject", "before", "after", "reason"), "x")],
    }
    nodes = {
        f"n{number}": node(verdict, check("fail"), check("ok"), plan=[step]) for number, verdict in enumerate(VERDICTS)
    }
    parsed = Tags(page(nodes, complete=False, missing=["n1"]))
    assert (parsed.wrong, parsed.open) == ([], [])
    names = [tag for tag, _attributes in parsed.tags]
    assert names.count("h1") == 1
    assert names.count("main") == 1
    assert dict(parsed.tags)["html"] == {"lang": "en"}
    assert all(attributes.get("scope") for tag, attributes in parsed.tags if tag == "th")
    ids = [attributes["id"] for _tag, attributes in parsed.tags if "id" in attributes]
    assert len(set(ids)) == len(ids)
    targets = {str(attributes["href"])[1:] for tag, attributes in parsed.tags if tag == "a"}
    assert targets <= set(ids)
    assert "prefers-color-scheme: dark" in page(nodes)


def test_what_failed_stands_first() -> None:
    nodes = {"a-well": node("pass", check("ok")), "z-bad": node("fail", check("ok"), check("warn"), check("fail"))}
    text = page(nodes)
    assert text.index("z-bad") < text.index("a-well")
    assert text.index("gpu.fail") < text.index("gpu.warn") < text.index("gpu.ok")


def test_a_failed_check_shows_expected_observed_evidence_and_remedy() -> None:
    shown = {**check("fail"), "expected": "x16", "observed": "x8", "evidence": "/sys/x", "remedy": "Reseat it."}
    text = page({"gpu01": node("fail", shown)})
    for word in ("x16", "x8", "/sys/x", "Reseat it."):
        assert word in text


def test_a_report_that_was_cut_says_what_is_missing() -> None:
    text = page({"a": node("pass"), "b": node("untouched")}, complete=False, missing=["b"])
    assert "not complete" in text
    assert "1 of 2 nodes" in " ".join(text.split())
    assert "not complete" not in page({"a": node("pass")})


def test_a_check_of_many_subjects_that_are_well_is_one_row() -> None:
    links = [{**check("ok"), "subject": f"gpu {number}", "observed": "x16"} for number in range(8)]
    text = page({"gpu01": node("pass", *links)})
    assert text.count("<code>gpu.ok</code>") == 1
    assert "&times; 8" in text


def test_a_large_fleet_lists_only_what_is_not_well() -> None:
    nodes = {f"n{number}": node("fail", check("fail"), check("ok")) for number in range(101)}
    text = page(nodes)
    assert text.count("<code>gpu.fail</code>") == 101
    assert "<code>gpu.ok</code>" not in text
    assert "1 results are well" in text


def test_a_drawing_stands_in_the_node_that_it_is_of() -> None:
    results = assemble({"a": node("pass"), "b": node("pass")}, rocm_release="5.4.2", complete=True)
    text = render_html(results, INFO, {"b": Drawing("<svg></svg>", "GPU0 <x>")})
    assert text.count("<svg></svg>") == 1
    assert "GPU0 &lt;x&gt;" in text
    assert text.index("<svg>") > text.index('id="node-2"')
    assert Tags(text).wrong == []
