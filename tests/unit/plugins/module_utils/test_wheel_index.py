# SPDX-License-Identifier: Apache-2.0
"""A wheel index is read as pip would, and what it lacks is said in words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.instinct.bringup.plugins.module_utils.fetch import Answer, FetchError
from ansible_collections.instinct.bringup.plugins.module_utils.wheel_index import (
    Interpreter,
    WheelProblem,
    find_wheel,
    fits,
    normal_name,
    parse_wheel,
    read_index,
    same_version,
)

CP311 = Interpreter("cp311", "x86_64", (2, 35))
PAGE = """<!DOCTYPE html><html><body>
<a href="/whl/torch-2.0.0%2Brocm5.4.2-cp311-cp311-linux_x86_64.whl#sha256=00">torch-2.0.0+rocm5.4.2</a>
<a href="https://files.invalid/torch-2.0.1%2Brocm5.4.2-cp310-cp310-linux_x86_64.whl">x</a>
<A HREF='torch-2.0.1+rocm5.4.2-cp39-cp39-linux_x86_64.whl'>x</a>
<a href="torch-2.0.1.tar.gz">source</a><a name="no-link">x</a>
</body></html>"""


def index(page: str):  # type: ignore[no-untyped-def]
    def fetch(url: str, limit: int) -> Answer:
        assert url == "http://mirror.invalid/whl/rocm5.4.2/torch/"
        return Answer(url, 200, page.encode())

    return fetch


@pytest.mark.parametrize(
    ("name", "fitting"),
    [
        ("t-1-cp311-cp311-linux_x86_64.whl", True),
        ("t-1-cp311-cp311-manylinux_2_35_x86_64.whl", True),
        ("t-1-cp311-cp311-manylinux_2_36_x86_64.whl", False),
        ("t-1-cp311-cp311-manylinux2014_x86_64.manylinux_2_17_x86_64.whl", True),
        ("t-1-cp311-cp311-manylinux2014_aarch64.whl", False),
        ("t-1-cp311-cp311-musllinux_1_1_x86_64.whl", False),
        ("t-1-cp310-cp310-linux_x86_64.whl", False),
        ("t-1-cp38-abi3-linux_x86_64.whl", True),
        ("t-1-cp312-abi3-linux_x86_64.whl", False),
        ("t-1-py3-none-any.whl", True),
        ("t-1-py2.py3-none-any.whl", True),
        ("t-1-py2-none-any.whl", False),
        ("t-1-7-py3-none-any.whl", True),
        ("t-1-py312-none-any.whl", False),
        ("t-1-cp311-none-linux_x86_64.whl", True),
    ],
)
def test_a_wheel_fits_as_for_pip(name: str, fitting: bool) -> None:
    wheel = parse_wheel(name)
    assert wheel is not None
    assert fits(wheel, CP311) is fitting


def test_an_unknown_c_library_takes_every_manylinux() -> None:
    wheel = parse_wheel("t-1-cp311-cp311-manylinux_2_99_x86_64.whl")
    assert wheel is not None
    assert fits(wheel, CP311._replace(glibc=None))


@pytest.mark.parametrize(
    ("wanted", "offered", "same"),
    [
        ("2.0.1+rocm5.4.2", "2.0.1+rocm5.4.2", True),
        ("2.0.1+ROCm5_4.2", "2.0.1+rocm5.4.2", True),
        ("2.0.1", "2.0.1+rocm5.4.2", True),
        ("2.0.1+rocm5.4.2", "2.0.1", False),
        ("2.0.1+rocm5.4.2", "2.0.1+cu118", False),
        ("2.0", "2.0.1", False),
    ],
)
def test_versions_are_compared_as_text_but_for_the_local_part(wanted: str, offered: str, same: bool) -> None:
    assert same_version(wanted, offered) is same


def test_the_page_gives_its_wheels_decoded_and_in_order() -> None:
    assert [wheel.file for wheel in read_index(PAGE)] == [
        "torch-2.0.0+rocm5.4.2-cp311-cp311-linux_x86_64.whl",
        "torch-2.0.1+rocm5.4.2-cp310-cp310-linux_x86_64.whl",
        "torch-2.0.1+rocm5.4.2-cp39-cp39-linux_x86_64.whl",
    ]


@pytest.mark.parametrize(
    ("version", "tag", "said"),
    [
        ("2.0.1+rocm5.4.2", "cp311", ["but not for cp311 on x86_64 with glibc 2.35", "cp310", "cp39"]),
        ("2.8.0+rocm5.4.2", "cp311", ["has no torch 2.8.0+rocm5.4.2", "2.0.0+rocm5.4.2, 2.0.1+rocm5.4.2"]),
    ],
    ids=["no such interpreter", "no such version"],
)
def test_what_lacks_is_told_apart(version: str, tag: str, said: list[str]) -> None:
    with pytest.raises(WheelProblem) as caught:
        find_wheel("http://mirror.invalid/whl/rocm5.4.2/", "torch", version, CP311._replace(tag=tag), index(PAGE))
    for words in said:
        assert words in str(caught.value)


def test_a_page_without_wheels_is_no_index() -> None:
    with pytest.raises(WheelProblem, match="lists no wheel"):
        find_wheel("http://mirror.invalid/whl/rocm5.4.2", "torch", "1", CP311, index("<html>It works!</html>"))


@pytest.mark.parametrize(
    ("url", "code", "said"),
    [
        ("http://mirror.invalid/whl/rocm6.x", 404, "copied with its placeholder"),
        ("http://mirror.invalid/whl/rocm5.4.9", 404, "no index of that release"),
        ("http://mirror.invalid/whl/rocm5.4.2", 401, "credentials"),
        ("http://mirror.invalid/whl/rocm5.4.2", None, "proxy"),
    ],
)
def test_an_index_that_does_not_answer_says_where_to_look(url: str, code: int | None, said: str) -> None:
    def fetch(page: str, limit: int) -> Answer:
        raise FetchError(page, "no", code)

    with pytest.raises(WheelProblem, match=said):
        find_wheel(url, "torch", "1", CP311, fetch)


@given(st.text())
def test_any_page_is_read_without_an_error(page: str) -> None:
    read_index(page)


WORD = st.text("abcdefghijklmnopqrstuvwxyz0123456789", min_size=1, max_size=8)


@given(name=WORD, version=WORD, local=WORD, build=st.none() | st.integers(0, 99))
def test_a_name_that_is_put_together_is_taken_apart(name: str, version: str, local: str, build: int | None) -> None:
    middle = [] if build is None else [str(build)]
    wheel = parse_wheel("-".join([name, f"{version}+{local}", *middle, "cp39.cp310", "abi3", "any"]) + ".whl")
    assert wheel is not None
    assert (wheel.version, list(wheel.pythons)) == (f"{version}+{local}", ["cp39", "cp310"])


@pytest.mark.parametrize("name", ["Typing_Extensions", "typing.extensions", "typing--extensions"])
def test_names_are_spelled_as_the_index_does(name: str) -> None:
    assert normal_name(name) == "typing-extensions"
