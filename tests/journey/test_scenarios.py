# SPDX-License-Identifier: Apache-2.0
"""Each molecule scenario of the repository is one journey over the simulated nodes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
SCENARIOS = sorted(path.parent.name for path in (REPOSITORY / "molecule").glob("*/molecule.yml"))
MINUTES = 20


def test_there_are_journeys() -> None:
    assert SCENARIOS


@pytest.mark.lab
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_journey(scenario: str) -> None:
    done = subprocess.run(
        [Path(sys.executable).with_name("molecule"), "test", "--scenario-name", scenario],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=MINUTES * 60,
    )
    assert done.returncode == 0, done.stdout
