# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from ansible_collections.instinct.bringup.plugins.plugin_utils.env.registry import default_registry


def test_the_catalog_and_the_page_are_what_the_tables_say(repository: Path) -> None:
    done = subprocess.run(
        [sys.executable, repository / "tools" / "variables.py", "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_page_names_every_variable(repository: Path) -> None:
    text = (repository / "docs" / "variables.md").read_text(encoding="utf-8")
    rows = set(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE))
    registry = default_registry()
    assert rows == set(registry.variables) | set(registry.dead)


def test_the_page_answers_for_a_release(repository: Path) -> None:
    text = (repository / "docs" / "variables.md").read_text(encoding="utf-8")
    for row in (
        r"\| `RCCL_ENABLE_CLIQUE` \| rccl \| up to 5.2.1 \|",
        r"\| `RCCL_MSCCL_ENABLE` \| rccl \| from 5.5.0 \|",
        r"\| `NCCL_IB_TIMEOUT` \| rccl \| 5.2.1 to 2024-10 \| 14, 18 from 5.5.0 \|",
        r"\| `HIP_PATH` \| build \| builds only \|",
        r"\| `RCCL_BUFFSIZE` \| `NCCL_BUFFSIZE` \|",
    ):
        assert re.search(row, text), row
