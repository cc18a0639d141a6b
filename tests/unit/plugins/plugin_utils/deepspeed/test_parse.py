# SPDX-License-Identifier: Apache-2.0
"""The text of a config is read strictly: what other readers pass over is named with its line."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.model import (
    BAD_VALUE,
    DUPLICATE,
    SYNTAX,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.parse import decode, parse


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        pytest.param("", 1, "the end of the text", id="empty"),
        pytest.param("stage = 2", 1, "text stands in double quotes", id="no-json"),
        pytest.param("[1]", 1, "must begin with {", id="list"),
        pytest.param('{\n "a": 1,\n}', 3, "a comma before }", id="trailing-comma"),
        pytest.param('{"a": [1,]}', 1, "a comma before ]", id="trailing-comma-list"),
        pytest.param('{"a": 1 "b": 2}', 1, "where a comma or } is expected", id="no-comma"),
        pytest.param('{"a" 1}', 1, "no colon", id="no-colon"),
        pytest.param('{\n// why\n"a": 1}', 2, "a comment", id="comment"),
        pytest.param("{'a': 1}", 1, "double quotes", id="single-quotes"),
        pytest.param('{"a": True}', 1, "true, false or null", id="python"),
        pytest.param('{"a": 01}', 1, "no number of JSON", id="leading-zero"),
        pytest.param('{"a": "b\nc"}', 1, "does not end on its line", id="line-end-in-text"),
        pytest.param('{"a": "\\x"}', 1, "escape", id="bad-escape"),
        pytest.param('{"a": 1} {"b": 2}', 1, "after the end", id="two"),
        pytest.param('{"a":' + "[" * 10000, 1, "nested deeper", id="deep"),
        pytest.param("\x01", 1, "no JSON", id="control"),
        pytest.param('{"a": 1}' + " " * 1024 * 1024, 0, "characters", id="huge"),
    ],
)
def test_text_that_is_no_config_is_named_with_its_line(text: str, line: int, message: str) -> None:
    parsed = parse(text)
    assert parsed.config is None
    (finding,) = parsed.findings
    assert (finding.verdict, finding.line) == (SYNTAX, line)
    assert message in finding.message


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity", "1e400", "-1e999", "9" * 5000])
def test_numbers_that_are_none_are_found(word: str) -> None:
    parsed = parse('{\n"a": {"b": ' + word + "}}")
    assert [(finding.verdict, finding.line, finding.path) for finding in parsed.findings] == [(BAD_VALUE, 2, "a.b")]


def test_equal_keys_are_found_with_both_lines() -> None:
    parsed = parse('{"a": {"x": 1,\n"x": 2},\n"x": 3}')
    (finding,) = parsed.findings
    assert (finding.verdict, finding.line, finding.path) == (DUPLICATE, 2, "a.x")
    assert "line 1" in finding.message


@pytest.mark.parametrize("data", [b"\xff\xfe{}", b"\x7fELF\x80", b"{\x00}"])
def test_what_is_no_text_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="no text"):
        decode(data)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(), VALUES, max_size=5), st.sampled_from([None, 2]))
def test_reads_what_json_writes(config: dict[str, Any], indent: int | None) -> None:
    parsed = parse(json.dumps(config, indent=indent))
    assert parsed.config == config
    assert parsed.findings == ()


@given(st.text(max_size=60) | st.text(alphabet='{}[]",:0123456789.eE+-truefalsn \n', max_size=60))
def test_any_text_is_read_or_refused_as_json_would(text: str) -> None:
    parsed = parse(text)
    try:
        read = json.loads(text)
    except (ValueError, RecursionError):
        assert parsed.config is None
        return
    if isinstance(read, dict) and not parsed.findings:
        assert parsed.config == read
