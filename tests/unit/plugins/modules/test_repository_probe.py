# SPDX-License-Identifier: Apache-2.0
"""The module asks everything, and names everything that is wrong in one message."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

KEY = "67B2A173080A93D284651B736D6CE04742DFAB73"
WHEEL = f"made-2.0.1%2Brocm5.4.2-cp311-cp311-linux_{os.uname().machine}.whl"


@pytest.fixture(autouse=True)
def aptless(commands: Any) -> None:
    """Give apt no configuration of its own: this machine's may name a proxy."""
    commands("apt-config", ":")


@pytest.fixture
def mirror(repository: Path, web: tuple[str, Path]) -> tuple[str, Path]:
    """Return the URL and the folder of a made mirror: a key, one repository, one file, one wheel."""
    _url, folder = web
    made = repository / "tests/fixtures/made_repository"
    shutil.copy(made / "key.asc", folder / "key.asc")
    suite = folder / "apt/dists/jammy"
    suite.mkdir(parents=True)
    shutil.copy(made / "InRelease", suite / "InRelease")
    (folder / "installer.deb").write_text("made", encoding="ascii")
    (folder / "whl/made").mkdir(parents=True)
    (folder / "whl/made/index.html").write_text(f'<a href="/files/{WHEEL}#sha256=0">made</a>', encoding="ascii")
    return web


def options(url: str) -> dict[str, Any]:
    return {
        "key_url": f"{url}/key.asc",
        "key_fingerprint": KEY,
        "repositories": [{"name": "rocm", "url": f"{url}/apt", "suite": "jammy"}],
        "urls": [{"name": "installer", "url": f"{url}/installer.deb"}],
        "wheel_index": {
            "url": f"{url}/whl",
            "tag": "cp311",
            "wheels": [{"name": "made", "version": "2.0.1+rocm5.4.2"}],
        },
        "timeout": 5,
    }


@pytest.mark.skipif(shutil.which("gpgv") is None, reason="gpgv is not here")
@pytest.mark.parametrize("check", [False, True], ids=["", "check mode"])
def test_a_mirror_that_is_right_passes(run_module: Any, mirror: tuple[str, Path], check: bool) -> None:
    answer = run_module("repository_probe", check=check, **options(mirror[0]))
    assert (answer["changed"], answer["problems"]) == (False, [])
    assert answer["key"] == {"fingerprint": KEY, "expires": None}
    assert answer["repositories"][0]["file"] == "InRelease"
    assert answer["urls"][0]["code"] == 200
    assert answer["wheels"][0]["file"] == WHEEL.replace("%2B", "+")


def test_every_problem_is_in_one_message(run_module: Any, mirror: tuple[str, Path]) -> None:
    url, folder = mirror
    (folder / "apt/dists/jammy/InRelease").unlink()
    (folder / "installer.deb").unlink()
    wanted = options(url)
    wanted["wheel_index"]["tag"] = "cp38"
    answer = run_module("repository_probe", **wanted)
    assert answer["failed"]
    assert len(answer["problems"]) == 3
    for said in (
        f"repository rocm: {url}/apt/dists/jammy/InRelease: HTTP 404",
        f"installer: {url}/installer.deb: HTTP 404",
        "has made 2.0.1+rocm5.4.2, but not for cp38",
    ):
        assert said in answer["msg"]


def test_a_mirror_that_is_down_is_asked_once(run_module: Any) -> None:
    answer = run_module("repository_probe", **options("http://127.0.0.1:9"))
    assert answer["failed"]
    assert "Connection refused (errno 111)" in answer["msg"]
    assert answer["msg"].count("not asked, since 127.0.0.1:9 did not answer before") == 2


def test_a_repository_is_asked_the_way_that_apt_will_go(
    run_module: Any, mirror: tuple[str, Path], commands: Any
) -> None:
    commands("apt-config", """echo 'Acquire::http::Proxy "http://127.0.0.1:9";'""")
    answer = run_module("repository_probe", **options(mirror[0]))
    (problem,) = answer["problems"]
    assert problem.startswith(f"repository rocm: {mirror[0]}/apt/dists/jammy/InRelease: ")
    assert "(through the proxy http://127.0.0.1:9 of apt's configuration)" in problem


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"key_url": None, "key_fingerprint": None}, "nothing could verify them"),
        ({"key_fingerprint": "1234ABCD"}, "not a full one"),
        ({"key_fingerprint": None}, "key_fingerprint"),
        ({"wheel_index": {"url": "http://x.invalid", "tag": "3.11", "wheels": []}}, "such as 'cp311'"),
    ],
    ids=["no key", "short fingerprint", "no fingerprint", "tag"],
)
def test_options_that_cannot_be_meant_are_refused(run_module: Any, changes: dict[str, Any], said: str) -> None:
    wanted = {name: value for name, value in {**options("http://127.0.0.1:9"), **changes}.items() if value is not None}
    answer = run_module("repository_probe", **wanted)
    assert answer["failed"]
    assert said in answer["msg"]


@pytest.mark.parametrize("right", [True, False], ids=["the pinned file", "another file"])
def test_a_file_with_a_digest_is_compared(run_module: Any, mirror: tuple[str, Path], right: bool) -> None:
    url, folder = mirror
    digest = hashlib.sha256((folder / "installer.deb").read_bytes()).hexdigest() if right else "0" * 64
    urls = [{"name": "installer", "url": f"{url}/installer.deb", "sha256": digest}]
    answer = run_module("repository_probe", **{**options(url), "urls": urls})
    assert bool(answer.get("failed")) is not right
    if not right:
        assert "installer.deb has SHA-256" in answer["msg"]
        assert "0" * 64 in answer["msg"]
