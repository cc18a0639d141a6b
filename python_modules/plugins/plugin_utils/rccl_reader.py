# SPDX-License-Identifier: Apache-2.0
"""Read a topology file as RCCL's own parser reads it (src/graph/xml.cc), character by character.

It knows no XML: blanks between elements are spaces and line ends only, one space begins an
attribute, a value ends at a double quote, and elements in the wrong place are dropped.
"""

from __future__ import annotations

import dataclasses
import re

MAX_NODES = 1024
MAX_ATTRIBUTES = 16
MAX_CHILDREN = 32
MAX_TEXT = 255

# What may stand in what; anything else is read and dropped.
CHILDREN: dict[str, frozenset[str]] = {
    "": frozenset({"system"}),
    "system": frozenset({"cpu"}),
    "cpu": frozenset({"pci", "nic"}),
    "pci": frozenset({"pci", "gpu", "nic"}),
    "gpu": frozenset({"xgmi"}),
    "nic": frozenset({"net"}),
    "net": frozenset(),
    "xgmi": frozenset(),
}
_BLANK = " \n\r"
_ENDS_NAME = " >/\n\r"


class Rejected(Exception):
    """RCCL's parser gives up here, and the communicator does not start."""

    def __init__(self, line: int, message: str) -> None:
        self.line = line
        self.message = message
        super().__init__(f"line {line}: {message}")


@dataclasses.dataclass
class Node:
    """Hold one element.

    dropped: children that RCCL does not take. surplus: attributes beyond its array. bare: attributes
    without a value, which are empty to it.
    """

    name: str
    line: int
    attributes: dict[str, str] = dataclasses.field(default_factory=dict)
    children: list[Node] = dataclasses.field(default_factory=list)
    dropped: list[Node] = dataclasses.field(default_factory=list)
    surplus: list[str] = dataclasses.field(default_factory=list)
    bare: list[str] = dataclasses.field(default_factory=list)
    parent: Node | None = None

    def get(self, name: str) -> str | None:
        """Return an attribute's value, or None."""
        return self.attributes.get(name)

    def walk(self) -> list[Node]:
        """Return this element and all below it, parents first."""
        return [self, *(node for child in self.children for node in child.walk())]


def read_topology(text: str) -> Node:
    """Return a node without a name that holds what RCCL would keep of a text.

    :raises Rejected: the parser would stop.
    """
    reader = _Reader(text)
    top = Node("", 1)
    try:
        while (node := reader.element(top)) is not None:
            if node.name.startswith("/"):
                raise Rejected(node.line, f"<{node.name}> closes nothing")
    except RecursionError:
        raise Rejected(1, "elements are nested deeper than any machine is") from None
    return top


def number(text: str | None, default: int = 0) -> int:
    """Return a text as C's strtol reads it: the number that it begins with, with 0x as hexadecimal."""
    found = re.match(r"\s*([+-]?)(0[xX][0-9a-fA-F]+|[0-9]+)", text or "")
    if found is None:
        return default
    digits = found.group(2)
    base = 16 if digits[:2] in ("0x", "0X") else 8 if digits.startswith("0") and digits.isdigit() else 10
    try:
        value = int(digits, base)
    except ValueError:
        value = 0
    return -value if found.group(1) == "-" else value


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._line = 1
        self._kept = 0

    def _take(self, what: str) -> str:
        if self._at >= len(self._text):
            raise Rejected(self._line, f"the file ends inside {what}")
        char = self._text[self._at]
        self._at += 1
        if char == "\n":
            self._line += 1
        return char

    def _name(self, what: str) -> tuple[str, str]:
        """Return a name and the character that ended it: a blank, >, / or =."""
        start = self._at
        while True:
            char = self._take(what)
            if char == "=" or char in _ENDS_NAME:
                return self._text[start : self._at - 1], char
            if self._at - start >= MAX_TEXT:
                raise Rejected(self._line, f"a name in {what} is longer than {MAX_TEXT} characters")

    def element(self, parent: Node) -> Node | None:
        """Read one element into its parent; a closing tag comes back as a node named "/NAME"."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in _BLANK:
                self._take("blanks")
            if self._at >= len(self._text):
                return None
            line = self._line
            char = self._take("an element")
            if char != "<":
                raise Rejected(line, f"{_shown(char)} where only < may stand; {_advice(char)}")
            name, end = self._name("an element")
            if not name.startswith("!--"):
                break
            self._comment(line)
        if not name and end == "/":
            name, end = self._name("a closing tag")
            if end != ">":
                raise Rejected(line, f"the closing tag {name} does not end with >")
            return Node("/" + name, line)
        if end == "=":
            raise Rejected(line, f"= in the name of the element {name}; an XML prolog is not taken either")
        return self._opened(Node(name, line, parent=parent), end)

    def _opened(self, node: Node, end: str) -> Node:
        self._attributes(node, end)
        parent = node.parent
        known = parent is not None and node.name in CHILDREN.get(parent.name, frozenset())
        if parent is not None:
            (parent.children if known else parent.dropped).append(node)
        if known:
            self._kept += 1
            if self._kept >= MAX_NODES:
                raise Rejected(node.line, f"more than {MAX_NODES - 1} elements")
        if self._single:
            return node
        while True:
            inner = self.element(node if known else Node("?" + node.name, node.line))
            if inner is None:
                raise Rejected(node.line, f"<{node.name}> is never closed")
            if inner.name.startswith("/"):
                if inner.name != "/" + node.name:
                    raise Rejected(inner.line, f"<{inner.name}> where </{node.name}> must stand (line {node.line})")
                return node

    def _attributes(self, node: Node, end: str) -> None:
        count = 0
        while end == " ":
            name, end = self._name(f"<{node.name}>")
            value = ""
            if end == "=":
                value, end = self._value(node, name)
            elif name:
                node.bare.append(name)
            if count >= MAX_ATTRIBUTES:
                node.surplus.append(name)
            elif name:
                # The first of two wins.
                node.attributes.setdefault(name, value)
            # Two spaces make a name without letters, which takes a place as well.
            count += 1
        self._single = end == "/"
        if self._single:
            _rest, end = self._name(f"<{node.name}>")
        if end != ">":
            raise Rejected(
                self._line, f"{_shown(end)} in <{node.name}>, where a space, / or > must stand; {_advice(end)}"
            )

    def _value(self, node: Node, name: str) -> tuple[str, str]:
        line = self._line
        quote = self._take(f"the value of {name}")
        if quote not in "\"'":
            raise Rejected(line, f"the value of {name} in <{node.name}> does not begin with a double quote")
        start = self._at
        inside = f"the value of {name} (line {line})"
        if quote == "'":
            inside += ", which begins with a single quote; only a double quote ends a value"
        while self._take(inside) != '"':
            pass
        return self._text[start : self._at - 1], self._take(f"<{node.name}>")

    def _comment(self, line: int) -> None:
        end = self._text.find("-->", self._at)
        if end < 0:
            raise Rejected(line, "the comment is never closed")
        self._line += self._text.count("\n", self._at, end)
        self._at = end + 3


def _shown(char: str) -> str:
    return {"\t": "a tab", "\n": "a line end", "\r": "a line end", "\ufeff": "a byte order mark"}.get(char, repr(char))


def _advice(char: str) -> str:
    if char == "\t":
        return "indent with spaces"
    if char in "\n\r":
        return "write all attributes in one line"
    return "RCCL's parser is not an XML parser"
