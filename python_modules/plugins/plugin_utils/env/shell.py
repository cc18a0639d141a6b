# SPDX-License-Identifier: Apache-2.0
"""Read what a shell script puts into the environment, without running any of it.

This is no shell. It follows words, quotes, continuation lines and here-documents, and knows the
commands that set variables. A value that a command or another variable makes stays unknown.
"""

from __future__ import annotations

import bisect
import dataclasses
import re
import typing as t

from ansible_collections.instinct.bringup.plugins.plugin_utils.env.model import Parsed
from ansible_collections.instinct.bringup.plugins.plugin_utils.env.shell_commands import NAME, Commands, Word

_TOKEN = re.compile(
    r"""(?P<join>\\\n)|(?P<space>[ \t]+)|(?P<line>\n)|(?P<plain>[^\s'"\\$`;&|<>()\#\n]+|\#)|(?P<escape>\\.)"""
    r"""|(?P<single>'[^']*')|(?P<double>"[^"\\$`]*")|(?P<here><<-?[ \t]*(?P<end>'[^'\n]+'|"[^"\n]+"|\\?[\w.-]+))"""
    r"""|(?P<operator>;;|&&|\|\||[;&|()<>])|(?P<other>.)""",
    re.DOTALL,
)
# The line that most files consist of, taken whole: a file of 10 MB is read in seconds.
_SIMPLE = re.compile(r"export[ \t]+([A-Za-z_][A-Za-z0-9_]*)=([\w./:,^=+@%-]*)\n")
# What counts when the end of a bracket is looked for: brackets that are neither escaped nor in quotes.
_BRACKETS = {
    pair: re.compile(r"""\\.|'[^']*'|"(?:[^"\\$`]|\\.)*"|[%s]""" % re.escape(pair), re.DOTALL) for pair in ("()", "{}")
}
_SBATCH = re.compile(r"^#SBATCH\b.*?--export[= ](\S+)", re.MULTILINE)


class _Reader:
    """Goes through the text once and hands every command's words to Commands."""

    def __init__(self, text: str, commands: Commands) -> None:
        self.text = text
        self.commands = commands
        self.starts = [0, *(found.end() for found in re.finditer("\n", text))]
        self.word: Word | None = None
        self.words: list[Word] = []
        self.here: list[tuple[str, bool]] = []

    def line(self, place: int) -> int:
        return bisect.bisect_right(self.starts, place)

    def read(self) -> None:
        place, text = 0, self.text
        while place < len(text):
            simple = _SIMPLE.match(text, place) if self.word is None and not self.words and not self.here else None
            if simple is not None:
                self.commands.add(simple.group(1), Word(self.line(place)), simple.group(2))
                place = simple.end()
                continue
            found = t.cast("re.Match[str]", _TOKEN.match(text, place))
            kind, piece = t.cast(str, found.lastgroup), found.group()
            if kind == "end":
                kind = "here"
            place = getattr(self, f"_{kind}")(piece, place, found.end())
        self._finish_command()

    def _open(self, place: int) -> Word:
        if self.word is None:
            self.word = Word(self.line(place))
        return self.word

    def _finish_word(self) -> None:
        if self.word is not None:
            self.words.append(self.word)
            self.word = None

    def _finish_command(self) -> None:
        self._finish_word()
        if self.words:
            self.commands.take(self.words)
            self.words = []

    def _join(self, _piece: str, _place: int, end: int) -> int:
        return end

    def _space(self, _piece: str, _place: int, end: int) -> int:
        self._finish_word()
        return end

    def _line(self, _piece: str, _place: int, end: int) -> int:
        self._finish_command()
        for ending, strip in self.here:
            end = self._after_here(end, ending, strip)
        self.here = []
        return end

    def _after_here(self, place: int, ending: str, strip: bool) -> int:
        while place < len(self.text):
            stop = self.text.find("\n", place)
            stop = len(self.text) if stop < 0 else stop
            line, place = self.text[place:stop], stop + 1
            if (line.lstrip("\t") if strip else line) == ending:
                break
        return place

    def _plain(self, piece: str, place: int, end: int) -> int:
        if piece == "#" and self.word is None:
            stop = self.text.find("\n", place)
            return len(self.text) if stop < 0 else stop
        self._open(place).raw += piece
        return end

    def _escape(self, piece: str, place: int, end: int) -> int:
        self._open(place).raw += piece[1]
        return end

    def _single(self, piece: str, place: int, end: int) -> int:
        word = self._open(place)
        word.raw += piece[1:-1]
        word.quoted = True
        return end

    _double = _single

    def _here(self, piece: str, place: int, end: int) -> int:
        self._finish_word()
        strip = piece.startswith("<<-")
        self.here.append((piece[3 if strip else 2 :].strip().strip("'\"").lstrip("\\"), strip))
        return end

    def _operator(self, piece: str, place: int, end: int) -> int:
        if piece == "(" and self.word is not None and self.word.raw.endswith("="):
            self.word.why = "a list in brackets"
            return _closing(self.text, place, "(", ")")
        if piece in "<>":
            self._finish_word()
            return end
        self._finish_command()
        return end

    def _other(self, piece: str, place: int, end: int) -> int:
        """Take what needs a look ahead: a $, a backtick, a double quote with one of them inside, an open quote."""
        word = self._open(place)
        if piece == "$":
            return self._dollar(word, place)
        if piece == "`":
            word.why = "a command's output"
            stop = self.text.find("`", end)
            return len(self.text) if stop < 0 else stop + 1
        if piece == '"':
            return self._double_with_more(word, place)
        if piece == "'":
            self.commands.note(self.line(place), "a quote that begins here does not end")
            return len(self.text)
        word.raw += piece
        return end

    def _dollar(self, word: Word, place: int) -> int:
        follows = self.text[place + 1 : place + 2]
        if follows == "(":
            word.why = "a command's output"
            return _closing(self.text, place + 1, "(", ")")
        if follows == "{":
            word.why = "another variable's value"
            return _closing(self.text, place + 1, "{", "}")
        if follows == "'":
            stop = self.text.find("'", place + 2)
            word.why, word.quoted = "escapes that a shell replaces", True
            return len(self.text) if stop < 0 else stop + 1
        found = NAME.match(self.text, place + 1) or re.compile(r"[0-9?#@*!$-]").match(self.text, place + 1)
        if found is None:
            word.raw += "$"
            return place + 1
        word.why = "another variable's value"
        return found.end()

    def _double_with_more(self, word: Word, place: int) -> int:
        word.quoted = True
        here, text = place + 1, self.text
        while here < len(text) and text[here] != '"':
            if text[here] == "\\" and here + 1 < len(text):
                word.raw += text[here + 1] if text[here + 1] in '$`"\\' else text[here : here + 2].replace("\\\n", "")
                here += 2
            elif text[here] == "$":
                here = self._dollar(word, here)
            elif text[here] == "`":
                word.why = "a command's output"
                stop = text.find("`", here + 1)
                here = len(text) if stop < 0 else stop + 1
            else:
                word.raw += text[here]
                here += 1
        if here >= len(text):
            self.commands.note(self.line(place), "a quote that begins here does not end")
        return here + 1


def _closing(text: str, place: int, opening: str, closing: str) -> int:
    """Return the place behind the bracket that closes the one at place, or the end of the text."""
    depth = 0
    for found in _BRACKETS[opening + closing].finditer(text, place):
        if found.group() == opening:
            depth += 1
        elif found.group() == closing:
            depth -= 1
            if depth == 0:
                return found.end()
    return len(text)


def parse_shell(text: str, form: str = "shell") -> Parsed:
    """Return what a POSIX or bash script, a csh script's setenv lines or a Slurm batch script sets."""
    commands = Commands()
    for found in _SBATCH.finditer(text):
        commands.export_list(found.group(1), text.count("\n", 0, found.start()) + 1)
    _Reader(text, commands).read()
    # A file without any export is one that something else reads line by line.
    plain = not any(entry.exported for entry in commands.set) and not commands.exported
    assignments = tuple(
        dataclasses.replace(entry, exported=True)
        if not entry.exported and (plain or entry.name in commands.exported)
        else entry
        for entry in commands.set
    )
    return Parsed(form, assignments, tuple(commands.notes), frozenset(commands.unset))
