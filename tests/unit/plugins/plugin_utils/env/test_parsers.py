# SPDX-License-Identifier: Apache-2.0
"""Each form is read by the rules of the program that reads it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.instinct.bringup.plugins.plugin_utils.env.parsers import FORMS, NotText, decode, detect, parse


def values(text: str, form: str) -> dict[str, str | None]:
    return {name: found.value for name, found in parse(text, form).effective().items()}


@pytest.mark.parametrize(
    ("path", "text", "form"),
    [
        ("/etc/profile.d/rccl.sh", "export A=1", "shell"),
        ("/etc/environment", "A=1", "environment"),
        ("/etc/rccl.conf", "A=1", "rccl_conf"),
        ("/home/a/.rccl.conf", "A=1", "rccl_conf"),
        ("/home/a/.deepspeed_env", "A=1", "deepspeed_env"),
        ("/etc/rccl/deepspeed_env", "A=1", "deepspeed_env"),
        ("/etc/rccl/rccl.env", "A=1", "systemd_environment"),
        ("/etc/environment.d/50-a.conf", "A=1", "systemd_environment"),
        ("/etc/systemd/system/a.service", "", "systemd_unit"),
        ("/etc/systemd/system/a.service.d/b.conf", "[Service]\nEnvironment=A=1", "systemd_unit"),
        ("/etc/rccl/modulefiles/rccl.lua", 'setenv("A", "1")', "module_file"),
        ("/opt/modules/rccl", "#%Module1.0\nsetenv A 1", "module_file"),
        ("/proc/12/environ", "", "process"),
        ("job.sh", "#!/bin/sh\n#SBATCH -N 2\n", "slurm"),
        ("", "export A=1", "shell"),
        ("", "A=1\0B=2\0", "process"),
        ("", "[Service]\nEnvironment=A=1", "systemd_unit"),
    ],
)
def test_the_form_is_told_by_path_and_text(path: str, text: str, form: str) -> None:
    assert detect(text, path) == form


@pytest.mark.parametrize(
    ("form", "text", "held"),
    [
        pytest.param("rccl_conf", "A=1\nB=x=y\n", {"A": "1", "B": "x=y"}, id="rccl: everything behind the first ="),
        pytest.param("rccl_conf", "A=1\nA=2\n", {"A": "1"}, id="rccl: the first one holds"),
        pytest.param("rccl_conf", 'A="1"\n', {"A": '"1"'}, id="rccl: quotes stay"),
        pytest.param("rccl_conf", "# A=1\n", {"# A": "1"}, id="rccl: no comments"),
        pytest.param("rccl_conf", " A=1\n", {" A": "1"}, id="rccl: spaces are of the name"),
        pytest.param("rccl_conf", "A=1\r\n", {"A": "1\r"}, id="rccl: CR stays"),
        pytest.param("rccl_conf", "A" * 2000 + "=1", {"A" * 1023: "1"}, id="rccl: long name"),
        pytest.param("environment", "# c\nA=1\nexport B='x y'\n", {"A": "1", "B": "x y"}, id="environment"),
        pytest.param("environment", 'A="x $HOME"\n', {"A": "x $HOME"}, id="environment: nothing is expanded"),
        pytest.param("deepspeed_env", "A=1\nB=x=y\n", {"A": "1", "B": "x=y"}, id="deepspeed"),
        pytest.param("systemd_environment", '; c\n# c\nA=1\nB="x y"\n', {"A": "1", "B": "x y"}, id="EnvironmentFile"),
        pytest.param("systemd_environment", "A=x\\\ny\n", {"A": "x y"}, id="EnvironmentFile: continuation"),
        pytest.param(
            "systemd_unit",
            '[Service]\nEnvironment="A=x y" B=2\nExecStart=/bin/C=3\n',
            {"A": "x y", "B": "2"},
            id="unit",
        ),
        pytest.param("systemd_unit", "Environment=A=1\nEnvironment=\nEnvironment=B=2", {"B": "2"}, id="unit: reset"),
        pytest.param("systemd_unit", "Environment=A=%h/x B=50%%", {"A": None, "B": "50%"}, id="unit: specifier"),
        pytest.param("module_file", 'setenv("A", "1")\npushenv("B","2") -- c', {"A": "1", "B": "2"}, id="Lua"),
        pytest.param("module_file", 'setenv("A", os.getenv("B"))', {"A": None}, id="Lua: expression"),
        pytest.param(
            "module_file", 'setenv A 1\nsetenv B "x y"\nsetenv C $env(D)', {"A": "1", "B": "x y", "C": None}, id="Tcl"
        ),
        pytest.param("process", "A=1\0B=x\ny\0C=\0", {"A": "1", "B": "x\ny", "C": ""}, id="process"),
    ],
)
def test_what_a_file_sets(form: str, text: str, held: dict[str, str | None]) -> None:
    assert values(text, form) == held


@pytest.mark.parametrize(
    ("form", "text", "words"),
    [
        ("rccl_conf", "A 1\n", "passes over it"),
        ("deepspeed_env", "A=1\n# comment\n", "ends with a ValueError"),
        ("deepspeed_env", "# A=1\n", "is no name"),
        ("environment", "not an assignment\n", "passes over it"),
        ("systemd_unit", "EnvironmentFile=-/etc/x\n", "was not looked at"),
    ],
)
def test_lines_that_the_reader_cannot_take_are_told(form: str, text: str, words: str) -> None:
    assert words in parse(text, form).notes[0].message


def test_a_mark_of_the_byte_order_is_no_text_of_the_file() -> None:
    assert decode(b"\xef\xbb\xbfA=1") == "A=1"


@pytest.mark.parametrize("data", [b"\x7fELF\x02\x01\x00", b"A=1\0no entry\0", b"A=\xff"], ids=["ELF", "NUL", "Latin-1"])
def test_what_is_no_text_is_refused(data: bytes) -> None:
    with pytest.raises(NotText, match="not text"):
        decode(data)


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=40)
@given(text=st.text(max_size=120))
def test_any_text_is_read_in_any_form(form: str, text: str) -> None:
    parsed = parse(text, form)
    assert parsed.form == form
    assert set(parsed.effective()) <= {entry.name for entry in parsed.assignments}


NAMES = st.sampled_from(["NCCL_DEBUG", "NCCL_BUFFSIZE", "HSA_XNACK", "A"])
PLAIN = st.text(alphabet="abz019_./:,^=+@%-", min_size=1, max_size=12).filter(lambda text: text[0] != "%")


@settings(max_examples=40)
@given(st.dictionaries(NAMES, PLAIN, min_size=1))
def test_plain_files_read_alike_in_every_form_of_lines(held: dict[str, str]) -> None:
    text = "".join(f"{name}={value}\n" for name, value in held.items())
    for form in ("shell", "environment", "rccl_conf", "deepspeed_env", "systemd_environment"):
        assert values(text, form) == held
