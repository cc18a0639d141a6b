# SPDX-License-Identifier: Apache-2.0
"""Read a config's text strictly, with the line of each key, so that what JSON readers pass over is seen.

Python's own reader takes NaN, makes 1e400 infinite and lets the last of two equal keys win.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
import typing as t

from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.model import (
    BAD_VALUE,
    DUPLICATE,
    SYNTAX,
    Config,
    Finding,
)

MOST_CHARACTERS = 1024 * 1024
MOST_DEPTH = 32
# A number of more digits is none that anything counts.
MOST_DIGITS = 40

_TOKEN = re.compile(
    r"""(?P<space>[ \t\r\n]+)
    |(?P<string>"(?:[^"\\\x00-\x1f]|\\.)*")
    |(?P<number>-?[0-9][0-9.eE+-]*)
    |(?P<word>-?[A-Za-z_][A-Za-z0-9_]*)
    |(?P<mark>[{}\[\]:,])""",
    re.VERBOSE,
)
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)([.][0-9]+)?([eE][+-]?[0-9]+)?")
_WORDS = {"true": True, "false": False, "null": None}


class _Broken(Exception):
    """Stop at the first place that is no JSON."""

    def __init__(self, line: int, message: str) -> None:
        self.line = line
        super().__init__(message)


@dataclasses.dataclass(frozen=True)
class Parsed:
    """Hold a config, None where the text is none; the line of each path; and what is wrong with the text itself."""

    config: Config | None
    lines: dict[str, int]
    findings: tuple[Finding, ...]


def decode(data: bytes) -> str:
    """Return a file's text.

    :raises ValueError: it is no text.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"no text in UTF-8: byte {error.start} is 0x{data[error.start]:02x}") from None
    if "\x00" in text:
        raise ValueError("no text: it holds a null byte")
    return text


def parse(text: str) -> Parsed:
    """Return what a text holds. It is no config where the text is no JSON, or no mapping."""
    if len(text) > MOST_CHARACTERS:
        message = f"{len(text)} characters, more than the {MOST_CHARACTERS} that any config needs"
        return Parsed(None, {}, (Finding(0, "", SYNTAX, message),))
    reader = _Reader(text)
    try:
        value = reader.document()
    except _Broken as error:
        return Parsed(None, {}, (Finding(error.line, "", SYNTAX, str(error)),))
    if not isinstance(value, dict):
        message = "a config is a mapping, and this text is none: it must begin with {"
        return Parsed(None, {}, (Finding(1, "", SYNTAX, message),))
    return Parsed(value, reader.lines, tuple(reader.findings))


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text.removeprefix("\ufeff")
        self.at = 0
        self.line = 1
        self.lines: dict[str, int] = {}
        self.findings: list[Finding] = []

    def document(self) -> t.Any:
        value = self._value((), self._next())
        kind, token = self._next()
        if kind != "end":
            raise _Broken(self.line, f"{_short(token)} stands after the end of the config")
        return value

    def _next(self) -> tuple[str, str]:
        while self.at < len(self.text):
            found = _TOKEN.match(self.text, self.at)
            if found is None:
                raise _Broken(self.line, _no_token(self.text[self.at :]))
            self.at = found.end()
            kind = t.cast(str, found.lastgroup)
            if kind != "space":
                return kind, found.group()
            self.line += found.group().count("\n")
        return "end", "the end of the text"

    def _value(self, path: tuple[str, ...], token: tuple[str, str]) -> t.Any:
        kind, text = token
        if len(path) > MOST_DEPTH:
            raise _Broken(self.line, f"nested deeper than {MOST_DEPTH} levels, as no config is")
        if text == "{" and kind == "mark":
            return self._mapping(path)
        if text == "[" and kind == "mark":
            return self._list(path)
        if kind == "string":
            return self._string(text)
        if kind == "number":
            return self._number(path, text)
        if kind == "word" and text in _WORDS:
            return _WORDS[text]
        if kind == "word":
            return self._other_word(path, text)
        raise _Broken(self.line, f"{_short(text)} where a value is expected")

    def _other_word(self, path: tuple[str, ...], text: str) -> t.Any:
        if text.lower() in _WORDS or text == "None":
            raise _Broken(self.line, f"{text} is no JSON; it is written true, false or null")
        if text.lstrip("-") in ("NaN", "Infinity"):
            self._finding(path, BAD_VALUE, f"{text} is no number that anything can be set to")
            return math.nan
        raise _Broken(self.line, f"{_short(text)} where a value is expected; text stands in double quotes")

    def _mapping(self, path: tuple[str, ...]) -> Config:
        found: Config = {}
        kind, text = self._next()
        while text != "}" or kind != "mark":
            if kind != "string":
                raise _Broken(self.line, f"{_short(text)} where a key in double quotes is expected")
            key, here = self._string(text), self.line
            dotted = ".".join((*path, key))
            if self._next() != ("mark", ":"):
                raise _Broken(self.line, f"no colon after the key {_short(text)}")
            if key in found:
                message = f"stands twice, in line {self.lines[dotted]} and here; DeepSpeed stops at such a file"
                self.findings.append(Finding(here, dotted, DUPLICATE, message))
            self.lines[dotted] = here
            found[key] = self._value((*path, key), self._next())
            kind, text = self._after("}")
        return found

    def _list(self, path: tuple[str, ...]) -> list[t.Any]:
        found: list[t.Any] = []
        token = self._next()
        while token != ("mark", "]"):
            found.append(self._value((*path, ""), token))
            token = self._after("]")
        return found

    def _after(self, end: str) -> tuple[str, str]:
        """Return the token after a value and its comma, or the end of the mapping or list."""
        token = self._next()
        if token == ("mark", end):
            return token
        if token != ("mark", ","):
            raise _Broken(self.line, f"{_short(token[1])} where a comma or {end} is expected")
        token = self._next()
        if token == ("mark", end):
            raise _Broken(self.line, f"a comma before {end}; JSON has none there")
        return token

    def _string(self, token: str) -> str:
        try:
            return str(json.loads(token))
        except ValueError:
            raise _Broken(self.line, f"{_short(token)} holds an escape that JSON does not know") from None

    def _number(self, path: tuple[str, ...], token: str) -> t.Any:
        if not _NUMBER.fullmatch(token):
            raise _Broken(self.line, f"{_short(token)} is no number of JSON")
        if len(token) > MOST_DIGITS:
            self._finding(path, BAD_VALUE, f"{_short(token)} is a number of {len(token)} characters")
            return math.inf
        if re.fullmatch(r"-?[0-9]+", token):
            return int(token)
        value = float(token)
        if math.isinf(value):
            self._finding(path, BAD_VALUE, f"{token} is larger than any number that a computer holds")
        return value

    def _finding(self, path: tuple[str, ...], verdict: str, message: str) -> None:
        self.findings.append(Finding(self.line, ".".join(path), verdict, message))


def _no_token(rest: str) -> str:
    if rest.startswith(("//", "/*", "#")):
        return "a comment; JSON has none, and older versions of DeepSpeed stop at it"
    if rest.startswith("'"):
        return "a single quote; JSON's text stands in double quotes"
    if rest.startswith('"'):
        return "a text that does not end on its line"
    return f"{_short(rest[:1])} is no JSON"


def _short(text: str) -> str:
    return ascii(text) if len(text) <= 40 else ascii(text[:37]) + "…"
