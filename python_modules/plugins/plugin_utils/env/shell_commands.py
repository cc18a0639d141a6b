# SPDX-License-Identifier: Apache-2.0
"""Know the commands of shells that set variables, and collect what they set."""

from __future__ import annotations

import dataclasses
import re

from ansible_collections.instinct.bringup.plugins.plugin_utils.env.model import Assignment, Note

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SET = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\+?)=")
# Words that stand before a command, and commands that run another with the variables that follow.
_BEFORE = frozenset({"if", "then", "else", "elif", "do", "while", "until", "!", "{", "time", "exec", "command"})
_EXPORTING = frozenset({"export", "declare", "typeset", "local", "readonly"})
_PASSING = ("-x", "-e", "--env", "-genv")
_SOURCE = frozenset({"source", "."})


@dataclasses.dataclass
class Word:
    """One word. raw: its value; why: what hides the value; quoted: whether any part was in quotes."""

    line: int
    raw: str = ""
    why: str = ""
    quoted: bool = False


class Commands:
    """Knows the commands that set variables, and collects what they set."""

    def __init__(self) -> None:
        self.set: list[Assignment] = []
        self.notes: list[Note] = []
        self.exported: set[str] = set()
        self.unset: set[str] = set()
        self.all_exported = False

    def note(self, line: int, message: str) -> None:
        self.notes.append(Note(line, message))

    def take(self, words: list[Word]) -> None:
        """Take one command. Quoted words are no keywords."""
        while words and words[0].raw in _BEFORE and not words[0].quoted:
            words = words[1:]
        leading = 0
        while leading < len(words) and self._is_assignment(words[leading]):
            leading += 1
        rest = words[leading:]
        for word in words[:leading]:
            self._assign(word, exported=bool(rest))
        if rest:
            self._command(rest[0], rest[1:])

    def _command(self, command: Word, words: list[Word]) -> None:
        name = command.raw
        if name in _EXPORTING:
            self._export(name, words)
        elif name == "setenv" and len(words) >= 2:
            self.add(words[0].raw, words[1], words[1].raw)
        elif name == "unset":
            self.unset.update(word.raw for word in words if NAME.fullmatch(word.raw))
        elif name == "set":
            self.all_exported |= any(word.raw in ("-a", "allexport") for word in words)
        elif name in _SOURCE and words:
            self.note(command.line, f"{words[0].raw or 'another file'} is read here, and was not looked at")
        elif name in ("echo", "print") and words and words[0].raw.startswith("export"):
            # Slurm's task prolog sets what its output says.
            for word in [*words[1:], dataclasses.replace(words[0], raw=words[0].raw.partition(" ")[2])]:
                self._assign(word, exported=True)
        else:
            self._arguments(name, words)

    def _arguments(self, name: str, words: list[Word]) -> None:
        for position, word in enumerate(words):
            before = words[position - 1].raw if position else ""
            if word.raw.startswith("--export="):
                self.export_list(word.raw[len("--export=") :], word.line, word.why)
            elif before in _PASSING or (name == "env" and self._is_assignment(word)):
                self._assign(word, exported=True)

    def _export(self, name: str, words: list[Word]) -> None:
        flags = "".join(word.raw for word in words if word.raw.startswith("-"))
        exported = (name == "export" and "n" not in flags) or "x" in flags
        for word in words:
            if self._is_assignment(word):
                self._assign(word, exported=exported)
            elif exported and NAME.fullmatch(word.raw):
                self.exported.add(word.raw)

    def export_list(self, text: str, line: int, why: str = "") -> None:
        """Take Slurm's --export=ALL,NAME=VALUE,NAME."""
        for part in text.split(","):
            self._assign(Word(line, part, why), exported=True)

    def _is_assignment(self, word: Word) -> bool:
        return _SET.match(word.raw) is not None

    def _assign(self, word: Word, exported: bool) -> None:
        found = _SET.match(word.raw)
        if found is None:
            return
        why = word.why or ("something is added to what it was" if found.group(2) else "")
        self.add(found.group(1), word, word.raw[found.end() :], why, exported)

    def add(self, name: str, word: Word, value: str, why: str = "", exported: bool = True) -> None:
        """Keep one assignment. word: gives the line, and why its value is hidden."""
        why = why or word.why
        self.unset.discard(name)
        exported = exported or self.all_exported
        self.set.append(Assignment(name, None if why else value, word.line, why, exported, value if why else ""))
