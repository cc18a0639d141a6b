# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_the_tables_of_variables_are_what_the_specs_say(repository: Path) -> None:
    done = subprocess.run(
        [sys.executable, repository / "tools" / "role_docs.py", "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
