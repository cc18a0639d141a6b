# SPDX-License-Identifier: Apache-2.0
"""Read the training example that a node gets beside its configs. It lies with the role, as plain scripts."""

from __future__ import annotations

import functools
import pathlib

from ansible_collections.instinct.bringup.plugins.plugin_utils.managed import ManagedFile

EXAMPLE_DIR = pathlib.Path(__file__).resolve().parents[3] / "roles" / "deepspeed" / "files" / "example"
NAMES = ("model.py", "train.py", "train_fsdp.py")
_NOTE = "the training example: it runs with each of these configs"


@functools.cache
def example_files(directory: str) -> tuple[ManagedFile, ...]:
    """Return the scripts as files of DIRECTORY/example."""
    return tuple(
        ManagedFile(f"{directory}/example/{name}", (EXAMPLE_DIR / name).read_text(encoding="utf-8"), _NOTE)
        for name in NAMES
    )
