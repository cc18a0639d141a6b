# SPDX-License-Identifier: Apache-2.0
"""Read a piece of a large file: a library's headers, a module's signature at its end."""

from __future__ import annotations

import os
import stat
from typing import Optional

from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree


def read_at(tree: Tree, area: str, path: str, offset: int, length: int) -> Optional[bytes]:
    """Return bytes of a regular file from an offset on, fewer at its end; None and a problem.

    A negative offset is counted from the end.
    """
    try:
        handle = os.open(tree.host_path(path), os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            info = os.fstat(handle)
            if not stat.S_ISREG(info.st_mode):
                raise ValueError("not a regular file")
            data = os.pread(handle, length, max(info.st_size + offset if offset < 0 else offset, 0))
            if offset < 0:
                tree.keep_piece(path, data)
            return data
        finally:
            os.close(handle)
    except (OSError, ValueError) as error:
        tree.problem(area, path, error)
        return None
    except OverflowError as error:
        tree.problem(area, path, str(error))
        return None
