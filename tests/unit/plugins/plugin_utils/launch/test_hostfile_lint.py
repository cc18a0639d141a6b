# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.instinct.bringup.plugins.plugin_utils.launch.hostfile_lint import read_hostfile

# CASES D-02, as it stands there.
WRONG = "gpu01 slots=8\ngpu02 lots=8\nroot@gpu03 slots=8\ngpu01 slots=4\ngpu04  slots=8\r\n"


def sentences(text: str) -> list[str]:
    return [finding.sentence() for finding in read_hostfile(text).findings]


def test_each_wrong_line_is_named_with_its_text() -> None:
    found = sentences(WRONG)
    assert [re.findall(r"line ([0-9]+)", sentence)[0] for sentence in found] == ["2", "3", "4", "5"]
    assert "'gpu02 lots=8'" in found[0]
    assert "slots= is meant" in found[0]
    assert "set User root for it" in found[1]
    assert "gpu01 stands on line 1 already" in found[2]
    assert "Windows line end" in found[3]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("gpu01", "not of the form"),
        ("gpu01:8", "mpirun's form"),
        ("gpu01 slots = 8", "blanks around ="),
        ("gpu01 Slots=8", "slots= is meant"),
        ("gpu01 cards=8", "write slots=N"),
        ("gpu01 slots=0", "0 slots"),
        ("gpu01 slots=8,", "drops it without a word"),
        ("gpu01 slots=1e3", "drops it without a word"),
        ("gpu01 slots=-8", "not of the form"),
        ("-gpu01 slots=8", "no host name"),
        ("gpu 01 slots=8", "blanks around ="),
    ],
)
def test_a_line_of_another_form(line: str, words: str) -> None:
    assert words in sentences(line + "\n")[0]


@pytest.mark.parametrize(
    "text",
    ["gpu01 slots=8\n", "# all\n\ngpu01\t slots=8\n  10.0.0.2 slots=4  \n", "a slots=8 max_slots=8", "fe80::1 slots=1"],
)
def test_what_the_launchers_take_is_right(text: str) -> None:
    assert sentences(text) == []


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n"])
def test_a_file_without_hosts_is_wrong(text: str) -> None:
    assert sentences(text) == ["no line names a host and its slots"]


def test_ten_thousand_lines_are_read_and_the_wrong_one_found() -> None:
    lines = [f"gpu{number:05} slots=8" for number in range(10_000)]
    whole = read_hostfile("\n".join(lines) + "\n")
    assert (len(whole.hosts), whole.world_size, whole.findings) == (10_000, 80_000, ())
    lines[7_122] = "gpu07122 lots=8"
    assert [finding.line for finding in read_hostfile("\n".join(lines)).findings] == [7_123]


def test_a_byte_order_mark_is_told() -> None:
    assert "byte order mark" in sentences("\ufeffgpu01 slots=8\n")[0]


@given(st.text())
def test_any_text_is_judged(text: str) -> None:
    found = read_hostfile(text)
    assert found.hosts or found.findings
    assert all(0 <= finding.line <= text.count("\n") + 1 for finding in found.findings)


# As DeepSpeed 0.8 to 0.19 reads a line.
_DEEPSPEED = re.compile(r"^(\S+)\s+slots=(\d+)")


@given(st.lists(st.text(st.sampled_from("ab1 \tslots=#@.\r"), max_size=14), max_size=5))
def test_what_we_take_deepspeed_takes_too(lines: list[str]) -> None:
    found = read_hostfile("\n".join(lines))
    if found.findings:
        return
    read = [_DEEPSPEED.search(line.strip()) for line in lines if line.strip() and not line.strip().startswith("#")]
    assert [(match.group(1), int(match.group(2))) for match in read if match] == list(found.hosts)
    assert None not in read
