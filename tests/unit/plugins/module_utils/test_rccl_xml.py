# SPDX-License-Identifier: Apache-2.0
"""The writer gives RCCL's dialect and nothing that its parser cannot hold."""

from __future__ import annotations

import pytest

from ansible_collections.instinct.bringup.plugins.module_utils.rccl_xml import DialectError, Element, render


def test_nested_elements_are_written_with_two_spaces_and_one_space_between_attributes() -> None:
    document = Element("system", (("version", "2"),), (Element("cpu", (("numaid", "0"), ("arch", "x86_64"))),))
    assert render(document) == '<system version="2">\n  <cpu numaid="0" arch="x86_64"/>\n</system>\n'


def test_comments_come_first_and_cannot_end_themselves() -> None:
    text = render(Element("system", ()), ["a --> b", "tab\there"])
    assert text == "<!-- a - -> b -->\n<!-- tab?here -->\n<system/>\n"


@pytest.mark.parametrize(
    ("element", "message"),
    [
        pytest.param(Element("net", (("name", 'a"b'),)), "cannot read", id="quote"),
        pytest.param(Element("net", (("name", "a\tb"),)), "cannot read", id="tab"),
        pytest.param(Element("net", (("name", "å"),)), "cannot read", id="not-ascii"),
        pytest.param(Element("net", (("name", "a" * 256),)), "256 characters", id="long-value"),
        pytest.param(Element("net", (("Name ", "a"),)), "no attribute name", id="name-with-space"),
        pytest.param(Element("net", tuple((f"a{'_' * n}", "1") for n in range(17))), "17 attributes", id="attributes"),
        pytest.param(Element("cpu", (), (Element("pci", ()),) * 33), "33 children", id="children"),
        pytest.param(
            Element("system", (), (Element("cpu", (), (Element("pci", (), (Element("pci", ()),) * 32),) * 31),) * 2),
            "elements",
            id="elements",
        ),
    ],
)
def test_what_the_parser_cannot_hold_is_refused(element: Element, message: str) -> None:
    with pytest.raises(DialectError, match=message):
        render(element)


def test_the_most_that_the_parser_holds_is_accepted() -> None:
    attributes = tuple((f"a{'_' * n}", "x" * 255) for n in range(16))
    assert render(Element("cpu", attributes, (Element("pci", ()),) * 32)).count("<pci/>") == 32
