# SPDX-License-Identifier: Apache-2.0
"""Stand between the nodes and the lab's mirror, and cut or change what they fetch: a stand-in for a bad line."""

from __future__ import annotations

import collections.abc as c
import contextlib
import http.server
import threading
import typing as t
import urllib.parse

from instinct_lab import settings

from .conftest import Lab

# The lab's network ends here on the host, so every node reaches it.
ADDRESS = settings.SUBNET_PREFIX + "1"


@contextlib.contextmanager
def cut_mirror(lab: Lab, node: str, part: str, *, keep: int = 1000) -> c.Iterator[None]:
    """Let a node's mirror.lab be a server that promises a whole file and stops after keep bytes.

    part: what a path must hold to be cut; everything else is served as it is.
    """

    class Handler(http.server.SimpleHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def __init__(self, *args: t.Any, **kwargs: t.Any) -> None:
            super().__init__(*args, directory=str(settings.MIRROR_DIR), **kwargs)

        def copyfile(self, source: t.Any, outputfile: t.Any) -> None:
            if part not in urllib.parse.unquote(self.path):
                super().copyfile(source, outputfile)
                return
            outputfile.write(source.read(keep))
            self.close_connection = True

        def log_message(self, format: str, *args: t.Any) -> None:
            """Keep the test's output clean."""

    server = http.server.ThreadingHTTPServer((ADDRESS, 80), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        with mirror_at(lab, node, ADDRESS):
            yield
    finally:
        server.shutdown()
        server.server_close()


@contextlib.contextmanager
def mirror_at(lab: Lab, node: str, address: str) -> c.Iterator[None]:
    """Let a node find mirror.lab at another address. /etc/hosts is a mount, so it is written in place.

    Debian's own packages still come through the lab's cache, which is named by its address meanwhile.
    """
    proxy, port = "/etc/apt/apt.conf.d/01lab-proxy", settings.APT_PROXY_PORT
    lab.on(node, f"sed -i 's/{settings.MIRROR_HOST}:{port}/{settings.MIRROR_ADDRESS}:{port}/' {proxy}")
    change = f"sed 's/^[0-9.]*\\(.*{settings.MIRROR_HOST}\\)/{address}\\1/' /etc/hosts"
    lab.on(node, f"cp /etc/hosts /root/hosts; {change} >/root/other; cat /root/other >/etc/hosts")
    try:
        yield
    finally:
        lab.on(node, "cat /root/hosts >/etc/hosts")
        lab.on(node, f"sed -i 's/{settings.MIRROR_ADDRESS}:{port}/{settings.MIRROR_HOST}:{port}/' {proxy}")
