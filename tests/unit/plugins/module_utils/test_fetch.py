# SPDX-License-Identifier: Apache-2.0
"""Fetching has limits, keeps credentials to itself, and says what went wrong."""

from __future__ import annotations

import base64
import http.server
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.instinct.bringup.plugins.module_utils.fetch import Fetcher, FetchError, mask, secrets_of

BASIC = "Basic " + base64.b64encode(b"deploy:p@ss").decode()


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers by the name of the path."""

    def do_GET(self) -> None:
        name = self.path.strip("/")
        if name == "short":
            self.answer(200, b"half", {"Content-Length": "8"})
        elif name == "private" and self.headers.get("Authorization") != BASIC:
            self.answer(401, b"")
        elif name == "to-file":
            self.answer(302, b"", {"Location": "file:///etc/passwd"})
        elif name == "to-private":
            self.answer(302, b"", {"Location": "/private"})
        elif name == "elsewhere":
            # The same server under another name: credentials must not go there.
            self.answer(302, b"", {"Location": f"http://localhost:{self.connection.getsockname()[1]}/private"})
        elif name == "missing":
            self.answer(404, b"")
        else:
            self.answer(200, b"x" * 100)

    def do_HEAD(self) -> None:
        self.answer(405 if self.path == "/no-head" else 200, b"")

    def answer(self, code: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(code)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Keep the test's output clean."""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    http_server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=http_server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield f"127.0.0.1:{http_server.server_port}"
    http_server.shutdown()
    http_server.server_close()


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


def test_what_fits_is_returned(server: str) -> None:
    answer = Fetcher(5).get(f"http://{server}/file", 100)
    assert (answer.code, len(answer.body)) == (200, 100)


@pytest.mark.parametrize(
    ("path", "limit", "code", "said"),
    [
        ("missing", 100, 404, "HTTP 404"),
        ("file", 99, None, "larger than"),
        ("short", 100, None, "stopped after 4 of 8 bytes"),
        ("private", 100, 401, "HTTP 401"),
        ("to-file", 100, 302, "(?i)redirect.*file:///etc/passwd"),
    ],
)
def test_what_does_not_fit_is_said(server: str, path: str, limit: int, code: int | None, said: str) -> None:
    with pytest.raises(FetchError, match=said) as caught:
        Fetcher(5).get(f"http://{server}/{path}", limit)
    assert caught.value.code == code
    assert str(caught.value).startswith(f"http://{server}/{path}: ")


def test_credentials_are_sent_and_follow_a_redirect_on_the_same_server(server: str) -> None:
    for path in ("private", "to-private"):
        assert Fetcher(5).get(f"http://deploy:p%40ss@{server}/{path}", 100).code == 200


def test_credentials_do_not_follow_to_another_server(server: str) -> None:
    with pytest.raises(FetchError, match="HTTP 401") as caught:
        Fetcher(5).get(f"http://deploy:p%40ss@{server}/elsewhere", 100)
    assert "p%40ss" not in str(caught.value)
    assert str(caught.value).startswith(f"http://***@{server}/elsewhere: ")


@pytest.mark.parametrize("path", ["file", "no-head"])
def test_head_falls_back_where_a_server_does_not_do_it(server: str, path: str) -> None:
    assert Fetcher(5).head(f"http://{server}/{path}") == 200


def test_a_proxy_that_is_down_is_named(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://user:secret@127.0.0.1:9")
    with pytest.raises(FetchError, match=r"through the proxy http://\*\*\*@127\.0\.0\.1:9"):
        Fetcher(5).get(f"http://{server}/file", 100)


def test_a_server_that_is_down_is_asked_once() -> None:
    fetcher = Fetcher(5)
    with pytest.raises(FetchError, match="Connection refused"):
        fetcher.get("http://127.0.0.1:9/a", 100)
    with pytest.raises(FetchError, match="not asked, since"):
        fetcher.get("http://127.0.0.1:9/b", 100)


def test_a_server_that_says_nothing_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(FetchError, match=r"no answer within 0\.1 s"):
        Fetcher(0.1).get(f"http://127.0.0.1:{silent.getsockname()[1]}/", 100)


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "ftp://x/y", "http://", "mirror/x", "http://x/a b", "http://x:y/"]
)
def test_only_http_is_fetched(url: str) -> None:
    with pytest.raises(FetchError, match="want http"):
        Fetcher(5).get(url, 100)


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("http://u:p@h/x", "http://***@h/x"),
        ("https://u:p@ss@h:8/x and http://token@h/", "https://***@h:8/x and http://***@h/"),
        ("http://h/x?mail=a@b", "http://h/x?mail=a@b"),
        ("deb [arch=amd64] https://u:p@h/apt jammy", "deb [arch=amd64] https://***@h/apt jammy"),
    ],
)
def test_credentials_are_masked_wherever_they_stand(text: str, masked: str) -> None:
    assert mask(text) == masked


SAFE = st.text(st.characters(exclude_characters="/ \t\n\r\x0b\x0c'\"<>?#[]\\@:", min_codepoint=33, max_codepoint=0x24F))


@given(user=SAFE, password=SAFE.filter(lambda word: len(word) > 3), host=st.just("mirror.invalid"))
def test_no_password_survives_masking(user: str, password: str, host: str) -> None:
    assert mask(f"see https://{user}:{password}@{host}/apt now") == f"see https://***@{host}/apt now"


def test_a_url_that_is_broken_by_its_password_does_not_show_it() -> None:
    with pytest.raises(FetchError) as caught:
        Fetcher(5).get("http://u:pa/ss@h/x", 100)
    assert str(caught.value).startswith("http://***@h/x: not a URL")


def test_the_password_is_found_in_both_spellings() -> None:
    assert secrets_of("http://u:p%40ss@h/") == ["p%40ss", "p@ss"]
    assert secrets_of("http://h/") == []
