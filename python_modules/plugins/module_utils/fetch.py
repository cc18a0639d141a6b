# SPDX-License-Identifier: Apache-2.0
"""Fetch small files over HTTP, with limits on time and size, and with errors that say what to look at."""

from __future__ import annotations

import base64
import http.client
import re
import socket
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from typing import Any, Callable, NamedTuple

MIB = 1024 * 1024
_CHUNK = 64 * 1024
# A server that sends a byte now and then never runs into the timeout of one read.
_TOTAL_TIMEOUTS = 5

_CREDENTIALS = re.compile(r"(?<=://)[^/ \t\r\n'\"<>]*@")


def mask(text: str) -> str:
    """Return the text with the user and password of every URL in it replaced by ***."""
    return _CREDENTIALS.sub("***@", text)


def secrets_of(url: str) -> list[str]:
    """Return the password in a URL, as written and decoded, for Ansible to keep out of what it prints."""
    try:
        password = urllib.parse.urlsplit(url).password
    except ValueError:
        return []
    return sorted({password, urllib.parse.unquote(password)}) if password else []


class FetchError(Exception):
    """A URL did not give what was asked; code is the HTTP code, or None when there was no answer.

    The message begins with the URL, credentials masked.
    """

    def __init__(self, url: str, reason: str, code: int | None = None) -> None:
        """Keep the code beside the message."""
        super().__init__(f"{mask(url)}: {mask(reason)}")
        self.code = code
        self.reason = mask(reason)


class Answer(NamedTuple):
    """An answer with code 2xx; url is where redirects ended."""

    url: str
    code: int
    body: bytes


Fetch = Callable[[str, int], Answer]
"""Takes a URL and the largest size in bytes; raises FetchError."""


class Fetcher:
    """Fetch from http and https through the proxy that the environment names, or another one.

    timeout: seconds for the connection and for each read; five times that for the whole of a file.
    proxy: a URL, "" for none, None for what the environment says. proxy_source: who names it, for the message.
    A server that could not be reached is not asked again: the next error comes at once.
    """

    def __init__(self, timeout: float, proxy: str | None = None, proxy_source: str = "the environment") -> None:
        """Build an opener that knows http and https only."""
        self._timeout = timeout
        self._proxies = None if proxy is None else ({"http": proxy, "https": proxy} if proxy else {})
        self._proxy_source = proxy_source
        self._dead: dict[str, str] = {}
        self._opener = urllib.request.OpenerDirector()
        for handler in (
            urllib.request.ProxyHandler(self._proxies),
            urllib.request.UnknownHandler(),
            urllib.request.HTTPHandler(),
            urllib.request.HTTPSHandler(),
            urllib.request.HTTPDefaultErrorHandler(),
            _SameSchemesOnly(),
            urllib.request.HTTPErrorProcessor(),
        ):
            self._opener.add_handler(handler)

    def get(self, url: str, limit: int) -> Answer:
        """Return the answer to GET; FetchError when it is no success, cut short or above limit bytes."""
        end = time.monotonic() + _TOTAL_TIMEOUTS * self._timeout
        try:
            with self._open(url, "GET") as response:
                body = self._read(url, response, limit, end)
                return Answer(response.geturl(), response.status, body)
        except (OSError, http.client.HTTPException) as error:
            raise FetchError(url, self._words(error)) from error

    def head(self, url: str) -> int:
        """Return the HTTP code of a HEAD; where the server does not do HEAD, of a GET that is not read."""
        try:
            try:
                with self._open(url, "HEAD") as response:
                    return int(response.status)
            except FetchError as error:
                if error.code not in (405, 501):
                    raise
            with self._open(url, "GET") as response:
                return int(response.status)
        except (OSError, http.client.HTTPException) as error:
            raise FetchError(url, self._words(error)) from error

    def _open(self, url: str, method: str) -> Any:
        request, server = _request(url, method)
        if server in self._dead:
            raise FetchError(url, f"not asked, since {server} did not answer before: {self._dead[server]}")
        try:
            return self._opener.open(request, timeout=self._timeout)
        except urllib.error.HTTPError as error:
            error.close()
            raise FetchError(url, f"HTTP {error.code} {error.reason}", error.code) from error
        except (OSError, http.client.HTTPException) as error:
            words = self._words(error)
            proxies = urllib.request.getproxies() if self._proxies is None else self._proxies
            proxy = proxies.get(request.type)
            if proxy and request.host != server:
                words += f" (through the proxy {mask(proxy)} of {self._proxy_source})"
            self._dead[server] = words
            raise FetchError(url, words) from error

    def _read(self, url: str, response: Any, limit: int, end: float) -> bytes:
        parts: list[bytes] = []
        size = 0
        while True:
            part = response.read1(_CHUNK)
            if not part:
                break
            parts.append(part)
            size += len(part)
            if size > limit:
                raise FetchError(url, f"larger than {limit // MIB} MiB, which no such file is; is this the right URL?")
            if time.monotonic() > end:
                seconds = _TOTAL_TIMEOUTS * self._timeout
                raise FetchError(url, f"too slow: {size} bytes in {seconds:g} s, then given up")
        length = response.headers.get("Content-Length", "")
        if length.isdigit() and int(length) != size:
            raise FetchError(url, f"the server stopped after {size} of {length} bytes")
        return b"".join(parts)

    def _words(self, error: BaseException) -> str:
        reason = getattr(error, "reason", None)
        if isinstance(reason, BaseException):
            error = reason
        if isinstance(error, (socket.timeout, TimeoutError)):
            return f"no answer within {self._timeout:g} s"
        if isinstance(error, ssl.SSLCertVerificationError):
            return f"the TLS certificate does not verify: {error.verify_message}"
        if isinstance(error, socket.gaierror):
            return f"the name does not resolve ({error.strerror})"
        if isinstance(error, http.client.HTTPException):
            return f"the answer is not HTTP or was cut short ({type(error).__name__})"
        if isinstance(error, OSError) and error.errno:
            return f"{error.strerror} (errno {error.errno})"
        return str(reason or error)


class _SameSchemesOnly(urllib.request.HTTPRedirectHandler):
    """Follow redirects to http and https, never from https to http, credentials to the same server only."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        old, new = urllib.parse.urlsplit(req.full_url), urllib.parse.urlsplit(newurl)
        if new.scheme not in ("http", "https") or (old.scheme == "https" and new.scheme == "http"):
            raise FetchError(req.full_url, f"redirects to {newurl}, which is not followed")
        request = super().redirect_request(req, fp, code, msg, headers, newurl)
        secret = req.unredirected_hdrs.get("Authorization")
        if request is not None and secret and new.netloc == old.netloc:
            request.add_unredirected_header("Authorization", secret)
        return request


def _request(url: str, method: str) -> tuple[urllib.request.Request, str]:
    """Return the request for a URL, its credentials moved into a header, and the server's name."""
    try:
        parts = urllib.parse.urlsplit(url)
        server = parts.netloc.rpartition("@")[2]
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        valid = False
    if not valid or re.search(r"[\s\x00-\x1f]", url):
        # A password with a raw slash makes such a URL, and mask() would not see where it ends.
        shown = re.sub(r"(?<=://).*@", "***@", url)
        raise FetchError(shown, "not a URL that can be fetched; want http://… or https://…")
    request = urllib.request.Request(
        urllib.parse.urlunsplit((parts.scheme, server, parts.path, parts.query, "")),
        headers={"User-Agent": "instinct-bringup", "Accept": "*/*"},
        method=method,
    )
    if parts.username:
        pair = f"{urllib.parse.unquote(parts.username)}:{urllib.parse.unquote(parts.password or '')}"
        token = base64.b64encode(pair.encode("utf-8")).decode("ascii")
        # "unredirected": urllib would carry an ordinary header to whatever server a redirect names
        request.add_unredirected_header("Authorization", f"Basic {token}")
    return request, server
