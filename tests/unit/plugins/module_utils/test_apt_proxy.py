# SPDX-License-Identifier: Apache-2.0
"""The proxy of a URL is the one that apt would take."""

from __future__ import annotations

import pytest

from ansible_collections.instinct.bringup.plugins.module_utils.apt_proxy import DIRECT, proxy_for, read_proxies
from ansible_collections.instinct.bringup.plugins.module_utils.command_runner import Result

CONFIG = """Acquire "";
Acquire::http "";
Acquire::http::Proxy "http://cache.example:3142";
Acquire::http::Proxy::mirror.example "DIRECT";
Acquire::https::Proxy::Secure.example "http://tls.example:8080";
Acquire::http::Proxy-Auto-Detect "/usr/bin/detect";
Acquire::Languages "none";
"""


@pytest.mark.parametrize(
    ("url", "proxy"),
    [
        ("http://repo.example/rocm", "http://cache.example:3142"),
        ("http://mirror.example:8081/rocm", DIRECT),
        ("https://secure.example/rocm", "http://tls.example:8080"),
        ("https://repo.example/rocm", "http://cache.example:3142"),
        ("https://mirror.example/rocm", DIRECT),
    ],
    ids=["of http", "a host without one", "a host's own", "https falls back", "https falls back to the host's"],
)
def test_the_nearest_entry_counts(url: str, proxy: str) -> None:
    assert proxy_for(read_proxies(lambda _argv: Result(0, CONFIG, "")), url) == proxy


@pytest.mark.parametrize("result", [Result(0, "", ""), Result(127, "", "apt-config: No such file or directory")])
def test_where_apt_names_none_the_environment_may(result: Result) -> None:
    assert proxy_for(read_proxies(lambda _argv: result), "http://repo.example/rocm") is None
