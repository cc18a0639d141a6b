# SPDX-License-Identifier: Apache-2.0
"""Write RCCL's topology dialect, which looks like XML and is not.

RCCL reads the file with a parser of its own (src/graph/xml.cc): a prolog, a tab, a single quote,
a line break between attributes or a space around "=" makes communicator initialisation fail, and
it writes past its arrays where a file is larger than they are. So everything that goes out is
checked here against what that parser takes.
"""

from __future__ import annotations

import dataclasses
import typing as t

# The sizes of RCCL's arrays (src/graph/xml.h). It checks the first only.
MAX_NODES = 1024
MAX_ATTRIBUTES = 16
MAX_CHILDREN = 32
MAX_TEXT = 255

_PLAIN = frozenset(chr(code) for code in range(0x20, 0x7F)) - {'"'}
_NAME = frozenset("abcdefghijklmnopqrstuvwxyz_")


class DialectError(ValueError):
    """Say which part of a document RCCL's parser could not hold."""


@dataclasses.dataclass(frozen=True)
class Element:
    """Hold one element: attributes in the order in which they are written."""

    name: str
    attributes: t.Tuple[t.Tuple[str, str], ...]
    children: t.Tuple[Element, ...] = ()


def render(root: Element, comments: t.Sequence[str] = ()) -> str:
    """Return the text of a document, comments first, one line each.

    :raises DialectError: a value, a name or the number of elements does not fit RCCL's parser.
    """
    lines = ["<!-- {} -->".format(_comment(comment)) for comment in comments]
    head = len(lines)
    _write(root, 0, lines)
    elements = sum(1 for line in lines[head:] if not line.lstrip().startswith("</"))
    if elements > MAX_NODES:
        raise DialectError("{} elements, and RCCL reads at most {}".format(elements, MAX_NODES))
    return "\n".join(lines) + "\n"


def _comment(text: str) -> str:
    # RCCL ends a comment at the first "-->", and takes what comes before the first space for its name.
    plain = "".join(char if char in _PLAIN or char == '"' else "?" for char in text)
    while "--" in plain:
        plain = plain.replace("--", "- -")
    return plain


def _write(element: Element, depth: int, lines: t.List[str]) -> None:
    _check(element)
    indent = "  " * depth
    attributes = "".join(' {}="{}"'.format(key, value) for key, value in element.attributes)
    if not element.children:
        lines.append("{}<{}{}/>".format(indent, element.name, attributes))
        return
    lines.append("{}<{}{}>".format(indent, element.name, attributes))
    for child in element.children:
        _write(child, depth + 1, lines)
    lines.append("{}</{}>".format(indent, element.name))


def _check(element: Element) -> None:
    where = "{} {}".format(element.name, dict(element.attributes).get("busid", "")).strip()
    if len(element.children) > MAX_CHILDREN:
        raise DialectError(
            "{} has {} children, and RCCL has room for {}".format(where, len(element.children), MAX_CHILDREN)
        )
    if len(element.attributes) > MAX_ATTRIBUTES:
        raise DialectError(
            "{} has {} attributes, and RCCL reads {}".format(where, len(element.attributes), MAX_ATTRIBUTES)
        )
    for key, value in element.attributes:
        if not key or not _NAME.issuperset(key):
            raise DialectError("{}: {!r} is no attribute name of RCCL's".format(where, key))
        if len(value) > MAX_TEXT:
            raise DialectError(
                "{}: {} is {} characters long, and RCCL has room for {}".format(where, key, len(value), MAX_TEXT)
            )
        if not _PLAIN.issuperset(value):
            raise DialectError("{}: {}={!r} holds a character that RCCL's parser cannot read".format(where, key, value))
