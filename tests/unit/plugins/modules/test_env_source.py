# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import base64
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.mark.parametrize("check", [False, True], ids=["apply", "check"])
def test_a_file_comes_back_byte_by_byte(run_module: Callable[..., dict[str, Any]], tmp_path: Path, check: bool) -> None:
    data = b"export NCCL_DEBUG=INFO\r\n\xff"
    (tmp_path / "a.sh").write_bytes(data)
    answer = run_module("env_source", check=check, path=str(tmp_path / "a.sh"))
    assert zlib.decompress(base64.b64decode(answer["data"])) == data
    assert (answer["size"], answer["changed"], answer["host"]) == (len(data), False, None)


def test_the_host_comes_along_with_a_root(run_module: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    (tmp_path / "a.sh").write_text("x")
    answer = run_module("env_source", path=str(tmp_path / "a.sh"), root=str(tmp_path))
    assert set(answer["host"]) == {"net", "kfd", "pci", "files"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"path": "/nowhere/x"}, "cannot be read: No such file"),
        ({"path": "/etc/passwd", "root": "/nowhere"}, "not a folder"),
    ],
)
def test_what_cannot_be_read_is_named(
    run_module: Callable[..., dict[str, Any]], options: dict[str, str], words: str
) -> None:
    answer = run_module("env_source", **options)
    assert answer["failed"]
    assert words in answer["msg"]
