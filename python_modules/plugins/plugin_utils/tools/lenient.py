# SPDX-License-Identifier: Apache-2.0
"""Find the report within an output: warnings come before it, inside it and behind it, and JSON comes in pieces."""

from __future__ import annotations

import json
import re
import typing as t

_NOISE = re.compile(r"^\s*(?:WARNING|ERROR|cat:|Traceback|\[output truncated\]|\.\.\.|\$ |\[\S+@\S+)", re.IGNORECASE)
_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def clean_lines(text: str) -> tuple[list[str], list[str]]:
    """Return the lines of a report without colours, and those that are warnings or a shell's."""
    lines: list[str] = []
    noise: list[str] = []
    for line in _ANSI.sub("", text).splitlines():
        (noise if _NOISE.match(line) else lines).append(line.rstrip())
    return lines, [line.strip() for line in noise]


def json_values(text: str) -> list[t.Any]:
    """Return every JSON object and array of a text, in order; what is between them is passed over."""
    decoder = json.JSONDecoder()
    values: list[t.Any] = []
    at = 0
    while at < len(text):
        starts = [place for place in (text.find("{", at), text.find("[", at)) if place >= 0]
        if not starts:
            break
        at = min(starts)
        try:
            value, end = decoder.raw_decode(text, at)
        except ValueError:
            # "[output truncated]", or a value that ends with the output.
            at += 1
            continue
        except RecursionError:
            break
        if isinstance(value, (dict, list)):
            values.append(value)
        at = end
    return values
