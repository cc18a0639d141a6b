# SPDX-License-Identifier: Apache-2.0
"""Let Python use the compiled form of the collection's own code that an earlier run has kept.

Ansible's loader of collections compiles every file anew in every run, which took longer than planning and judging
eight nodes. Python's own loader looks beside the source for what it compiled before (``__pycache__``), uses it where
time and size of the source are the same, and keeps it where it may write there.
"""

from __future__ import annotations

import collections.abc as c
import importlib.abc
import importlib.machinery
import sys
import types

_PLUGINS = __name__.rpartition(".plugin_utils.")[0]
# Only what nothing but this collection imports: Ansible's own ways of finding modules and roles stay as they are.
_OURS = tuple(f"{_PLUGINS}.{folder}." for folder in ("action", "module_utils", "plugin_utils"))


class _Finder(importlib.abc.MetaPathFinder):
    """Find a module in the folders of its package, which Ansible's loader has found."""

    def __init__(self) -> None:
        self._folders: dict[str, importlib.machinery.FileFinder] = {}

    def find_spec(
        self, fullname: str, path: c.Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return where a module of ours is, None for another one and for a folder without code."""
        if not fullname.startswith(_OURS):
            return None
        for folder in path or ():
            if folder not in self._folders:
                self._folders[folder] = importlib.machinery.FileFinder(
                    folder, (importlib.machinery.SourceFileLoader, importlib.machinery.SOURCE_SUFFIXES)
                )
            spec = self._folders[folder].find_spec(fullname)
            if spec is not None and spec.loader is not None:
                return spec
        return None


def keep_bytecode() -> None:
    """Find our modules so from now on. What is imported already stays as it is."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
