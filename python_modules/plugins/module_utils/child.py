# SPDX-License-Identifier: Apache-2.0
"""Ask a question in a forked child: one that may block for ever, or that needs another user."""

from __future__ import annotations

import json
import os
import select
import signal
import time
from typing import Any, Callable, List


class ChildError(Exception):
    """The child gave no answer; the message says why."""


def call_in_child(question: Callable[[], Any], seconds: float) -> Any:
    """Return what question returns in a forked child, as JSON types.

    Raises ChildError when it raises or is not done after so many seconds. A child that hangs in
    the kernel cannot be killed: it is then left behind, and this call returns all the same.
    """
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        _answer(question, reader, writer)
    os.close(writer)
    try:
        data = _collect(reader, time.monotonic() + seconds)
    finally:
        os.close(reader)
        # A child that has answered is ending anyway; this one may hang.
        os.kill(pid, signal.SIGKILL)
        _reap(pid)
    if data is None:
        raise ChildError("no answer after %g seconds" % seconds)
    try:
        answer = json.loads(data.decode("utf-8"))
    except ValueError:
        raise ChildError("the child ended without an answer") from None
    if "error" in answer:
        raise ChildError(answer["error"])
    return answer["value"]


def _answer(question: Callable[[], Any], reader: int, writer: int) -> None:
    """Run in the child. It must not return: the parent's code behind it is not the child's."""
    try:
        os.close(reader)
        try:
            answer = {"value": question()}
        except Exception as error:  # noqa: BLE001 - whatever it is, the parent turns it into a ChildError
            answer = {"error": "%s: %s" % (type(error).__name__, error)}
        data = json.dumps(answer).encode("utf-8")
        while data:
            data = data[os.write(writer, data) :]
    finally:
        os._exit(0)


def _collect(reader: int, deadline: float) -> Any:
    parts: List[bytes] = []
    while True:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([reader], [], [], left)[0]:
            return None
        part = os.read(reader, 65536)
        if not part:
            return b"".join(parts)
        parts.append(part)


def _reap(pid: int) -> None:
    # A killed process is gone within milliseconds unless the kernel holds it.
    for _attempt in range(20):
        if os.waitpid(pid, os.WNOHANG)[0]:
            return
        time.sleep(0.005)
