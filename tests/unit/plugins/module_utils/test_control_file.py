# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from ansible_collections.instinct.bringup.plugins.module_utils.control_file import parse_stanzas

TEXT = """\
# a comment before
Types: deb
URIs: http://a.example
# in between
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 abc

   \t

no colon here
 continues nothing
Package: *
pin: release o=x:y
"""


def test_paragraphs_keep_their_line_and_join_continuations() -> None:
    assert parse_stanzas(TEXT) == [
        (
            2,
            {"types": "deb", "uris": "http://a.example", "signed-by": "\n-----BEGIN PGP PUBLIC KEY BLOCK-----\n.\nabc"},
        ),
        (14, {"package": "*", "pin": "release o=x:y"}),
    ]


def test_an_empty_text_has_no_paragraph() -> None:
    assert parse_stanzas("\n# only a comment\n\n") == []
