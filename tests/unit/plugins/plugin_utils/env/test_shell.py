# SPDX-License-Identifier: Apache-2.0
"""A shell script is read, and never run."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.instinct.bringup.plugins.plugin_utils.env.shell import parse_shell


def values(text: str) -> dict[str, str | None]:
    return {name: found.value for name, found in parse_shell(text).effective().items()}


@pytest.mark.parametrize(
    ("text", "held"),
    [
        pytest.param("export A=1 B=2", {"A": "1", "B": "2"}, id="two in a line"),
        pytest.param("A=1\nB=2\n", {"A": "1", "B": "2"}, id="no export at all"),
        pytest.param("export A='x y' B=\"x $ y\"", {"A": "x y", "B": "x $ y"}, id="quotes"),
        pytest.param("export A=a'b'\"c\"d", {"A": "abcd"}, id="quotes inside of a word"),
        pytest.param("export A=\\\n1", {"A": "1"}, id="continuation"),
        pytest.param("export \\\n  A=1 \\\n  B=2\n", {"A": "1", "B": "2"}, id="continuation between words"),
        pytest.param("export A=a\\ b", {"A": "a b"}, id="escape"),
        pytest.param("export A=1 # B=2", {"A": "1"}, id="comment"),
        pytest.param("# export A=1\n", {}, id="commented out"),
        pytest.param("export A=x#y", {"A": "x#y"}, id="no comment inside of a word"),
        pytest.param("export A=1; export B=2 && export C=3", {"A": "1", "B": "2", "C": "3"}, id="several commands"),
        pytest.param("if true; then export A=1; fi", {"A": "1"}, id="behind then"),
        pytest.param("export A=$(id)", {"A": None}, id="command"),
        pytest.param("export A=`id` B=1", {"A": None, "B": "1"}, id="command in backticks"),
        pytest.param('export A="x$(echo ")")y" B=1', {"A": None, "B": "1"}, id="bracket in quotes in a command"),
        pytest.param("export A=$HOME/x B=${C:-1}", {"A": None, "B": None}, id="other variables"),
        pytest.param("export A=$'a\\n' B=1", {"A": None, "B": "1"}, id="escapes of bash"),
        pytest.param("export A=('x' y) B=1", {"A": None, "B": "1"}, id="list"),
        pytest.param("export A+=x", {"A": None}, id="added to"),
        pytest.param("declare -x A=1", {"A": "1"}, id="declare"),
        pytest.param("setenv A 1\nsetenv B 'x y'", {"A": "1", "B": "x y"}, id="csh"),
        pytest.param("env A=1 B=2 python t.py", {"A": "1", "B": "2"}, id="env"),
        pytest.param("A=1 python t.py", {"A": "1"}, id="before a command"),
        pytest.param("mpirun -x A=1 -x B -np 2 t", {"A": "1"}, id="mpirun"),
        pytest.param("docker run -e A=1 --env B=2 i", {"A": "1", "B": "2"}, id="docker"),
        pytest.param("srun --export=ALL,A=1,B=2 t", {"A": "1", "B": "2"}, id="srun"),
        pytest.param("#SBATCH --export=ALL,A=1\n#SBATCH -N 2\n", {"A": "1"}, id="sbatch"),
        pytest.param("echo export A=1", {"A": "1"}, id="task prolog"),
        pytest.param("cat > f <<EOF\nexport A=1\nEOF\nexport B=2", {"B": "2"}, id="here-document"),
        pytest.param("cat > f <<-'X'\n\texport A=1\n\tX\nexport B=2", {"B": "2"}, id="here-document, quoted"),
        pytest.param("export A=1\nunset A", {}, id="unset"),
        pytest.param("unset A\nexport A=1", {"A": "1"}, id="set after unset"),
        pytest.param("export A=1\nexport A=2", {"A": "2"}, id="the last one holds"),
        pytest.param("export A=1\r\n", {"A": "1\r"}, id="CR LF"),
        pytest.param("dd if=/dev/zero of=x", {}, id="arguments are no assignments"),
        pytest.param("", {}, id="empty"),
    ],
)
def test_what_a_script_sets(text: str, held: dict[str, str | None]) -> None:
    assert values(text) == held


@pytest.mark.parametrize(
    ("text", "exported"),
    [
        ("export B=1\nA=1", False),
        ("export B=1\nA=1\nexport A", True),
        ("set -a\nexport B=1\nA=1", True),
        ("export B=1\ndeclare A=1", False),
        ("A=1\nB=2", True),
    ],
    ids=["not exported", "exported later", "set -a", "declare", "a file without export"],
)
def test_whether_programs_see_it(text: str, exported: bool) -> None:
    assert parse_shell(text).effective()["A"].exported is exported


def test_lines_are_those_of_the_words() -> None:
    found = parse_shell("\n\nexport A=1 \\\n  B=2\nexport C='\n\n' D=4\n").assignments
    assert [(entry.name, entry.line) for entry in found] == [("A", 3), ("B", 4), ("C", 5), ("D", 7)]


@pytest.mark.parametrize("text", ["export A='x", 'export A="x', 'export A="$(', "export A=$(", "export A=`", "A=("])
def test_what_does_not_end_is_read_to_the_end(text: str) -> None:
    assert set(values(f"export B=1\n{text}\n")) == {"A", "B"}


def test_a_file_that_is_read_in_is_told() -> None:
    assert "other.sh is read here" in parse_shell(". other.sh").notes[0].message


def test_nothing_is_run(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    parse_shell(f'export A=$(touch {mark}) B=`touch {mark}`\ntouch {mark}\nexport C="$(touch {mark})"')
    assert not mark.exists()


@settings(max_examples=40)
@given(st.text(max_size=200))
def test_any_text_is_read_to_its_end(text: str) -> None:
    parsed = parse_shell(text)
    assert all(1 <= entry.line <= text.count("\n") + 1 for entry in parsed.assignments)


WORD = st.text(alphabet="ab1 '\"\\#;&|<>(){}*?~,^=", max_size=8)


@settings(max_examples=40)
@given(st.lists(st.tuples(st.sampled_from("ABCD"), WORD), max_size=4))
def test_quoted_values_are_what_a_shell_makes_of_them(pairs: list[tuple[str, str]]) -> None:
    lines = [f"export {name}='{value.replace(chr(39), chr(39) + chr(92) + chr(39) * 2)}'" for name, value in pairs]
    assert values("\n".join(lines)) == dict(pairs)


def test_a_shell_agrees(tmp_path: Path) -> None:
    script = """export A="a b" B='c d' C=e\\ f D=x#y
if true; then export E="q\\"r"; fi   # comment
export F=\\
g H=i
"""
    path = tmp_path / "s.sh"
    path.write_text(script)
    done = subprocess.run(
        ["bash", "-c", f". {path}; env -0"], capture_output=True, text=True, check=True, env={"PATH": "/usr/bin:/bin"}
    )
    shown = dict(entry.split("=", 1) for entry in done.stdout.split("\0") if entry)
    assert values(script) == {name: shown[name] for name in "ABCDEFH"}
