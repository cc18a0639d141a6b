# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from support import binaries

from ansible_collections.instinct.bringup.plugins.module_utils.elf_file import read_dynamic
from ansible_collections.instinct.bringup.plugins.module_utils.loader import parse_cache, read_rccl_libraries
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

Plant = Callable[[dict[str, Any]], Tree]
VENV = "/opt/venv"
LIB = f"{VENV}/lib/python3.11/site-packages/torch/lib"
SYSTEM = "/opt/rocm-5.4.2/lib/librccl.so.1"
BASE: dict[str, Any] = {
    "/etc/ld.so.cache": binaries.loader_cache({"libc.so.6": "/lib/libc.so.6", "librccl.so.1": SYSTEM}),
    SYSTEM: binaries.library("librccl.so.1"),
    f"{LIB}/librccl.so.1": binaries.library("librccl.so.1"),
}


def torch(**how: str) -> dict[str, Any]:
    return {**BASE, f"{LIB}/libtorch_hip.so": binaries.library("libtorch_hip.so", ("libc.so.6", "librccl.so.1"), **how)}


@pytest.mark.parametrize(
    ("how", "path", "rule"),
    [
        ({"runpath": "$ORIGIN"}, f"{LIB}/librccl.so.1", "RUNPATH"),
        ({"runpath": "/nowhere:${ORIGIN}/../lib"}, f"{LIB}/librccl.so.1", "RUNPATH"),
        ({"rpath": "$ORIGIN"}, f"{LIB}/librccl.so.1", "RPATH"),
        ({"rpath": "$ORIGIN", "runpath": "/nowhere"}, SYSTEM, "ld.so.cache"),
        ({}, SYSTEM, "ld.so.cache"),
    ],
    ids=["runpath", "second place", "rpath", "a runpath hides the rpath", "neither"],
)
def test_the_loader_s_order(plant: Plant, how: dict[str, str], path: str, rule: str) -> None:
    tree = plant(torch(**how))
    seen = read_rccl_libraries(tree, [VENV])
    assert seen["system"] == SYSTEM
    assert [(entry["path"], entry["by"]) for entry in seen["venvs"]] == [(path, rule)]
    assert tree.problems() == []


def test_a_library_that_nobody_has(plant: Plant) -> None:
    files = {f"{LIB}/libtorch_hip.so": binaries.library("libtorch_hip.so", ("librccl.so.1",))}
    seen = read_rccl_libraries(plant(files), [VENV, "/nowhere"])
    assert (seen["system"], seen["venvs"][0]["path"], len(seen["venvs"])) == (None, None, 1)


@pytest.mark.parametrize(
    "damage", [b"", b"\x7fELF\2\1\1", b"\x7fELF\1\1\1" + bytes(64), b"\x7fELF\2\1\1" + b"\xff" * 200]
)
def test_what_is_no_library_is_a_problem(plant: Plant, damage: bytes) -> None:
    tree = plant({"/lib/odd.so": damage})
    assert read_dynamic(tree, "rccl_libraries", "/lib/odd.so") is None
    assert tree.problems()[0]["path"] == "/lib/odd.so"


def test_a_whole_section(plant: Plant) -> None:
    tree = plant({"/x.so": binaries.library("x.so", ("a.so", "b.so"), runpath="/one:/two")})
    assert read_dynamic(tree, "rccl_libraries", "/x.so") == ("x.so", ["a.so", "b.so"], [], ["/one", "/two"])


def test_a_cache_of_another_form_is_refused() -> None:
    with pytest.raises(ValueError, match="not a cache"):
        parse_cache(b"ld.so-1.7.0")
    data = binaries.loader_cache({"librccl.so.1": SYSTEM})
    with pytest.raises(ValueError, match="without an end"):
        parse_cache(data[:-1])
