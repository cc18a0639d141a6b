# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest

URL = "http://mirror.example/rocm/apt/5.4.2"
APT = """case "$*" in
*update*) echo 'W: Failed to fetch http://{host}/dists/jammy/InRelease  gone' >&2 ;;
*) echo 'Inst rocm-core (5.4.2 x [amd64])'; {more} ;;
esac"""


@pytest.fixture
def apt(commands: Any) -> Any:
    def make(host: str = "site.example", more: str = ":") -> None:
        commands("apt-get", APT.format(host=host, more=more))
        commands("apt-config", ":")
        commands("dpkg-query", ":")

    return make


def test_what_would_be_installed_is_told_and_nothing_is_changed(run_module: Any, apt: Any) -> None:
    apt()
    answer = run_module("apt_ready", packages=["rocm-core"], sources=[URL])
    assert (answer["changed"], answer["installs"]) == (False, ["rocm-core"])
    assert "http://site.example/dists/jammy/InRelease" in answer["missed"][0]


@pytest.mark.parametrize(
    ("host", "more", "says"),
    [
        ("mirror.example/rocm/apt/5.4.2", ":", f"{URL}/dists/jammy/InRelease"),
        ("site.example", "echo 'Remv libucx0 [1.12]'", "would remove: libucx0"),
    ],
)
def test_it_fails_with_what_stands_against_the_installation(
    run_module: Any, apt: Any, host: str, more: str, says: str
) -> None:
    apt(host, more)
    answer = run_module("apt_ready", packages=["rocm-core"], sources=[URL])
    assert answer["failed"]
    assert says in answer["msg"]


def test_without_an_update_no_list_is_read(run_module: Any, apt: Any) -> None:
    apt("mirror.example/rocm/apt/5.4.2")
    assert not run_module("apt_ready", packages=["rocm-core"], sources=[URL], update=False).get("failed")
