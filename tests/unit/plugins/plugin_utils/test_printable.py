# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from ansible_collections.instinct.bringup.plugins.plugin_utils.printable import printable


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("train.py", "train.py"),
        ("J\u00fcrgen \u2603", "J\u00fcrgen \u2603"),
        ("a\nb", r"a\nb"),
        ("\x1b]0;pwn\x07", r"\x1b]0;pwn\x07"),
        ("\u202egnp", r"\u202egnp"),
        ("\udcfc", r"\udcfc"),
        ({"a": ["\t", 3, None]}, {"a": [r"\t", 3, None]}),
    ],
    ids=["plain", "letters of any language", "line break", "terminal title", "reversed", "no UTF-8", "inside"],
)
def test_only_what_cannot_be_printed_is_escaped(value: object, told: object) -> None:
    assert printable(value) == told
