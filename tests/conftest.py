# SPDX-License-Identifier: Apache-2.0
"""Fixtures that every test may use. Where the code is found is set in pyproject.toml (pythonpath)."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

REPOSITORY = Path(__file__).resolve().parents[1]

# A loaded machine makes an example slow without any fault of the code; a failure must be the same on the next run.
settings.register_profile("repository", deadline=None, derandomize=True, database=None, max_examples=50)
settings.load_profile("repository")


@pytest.fixture(scope="session")
def repository() -> Path:
    """Return the root of the checkout."""
    return REPOSITORY


@pytest.fixture(scope="session")
def captures() -> Path:
    """Return the folder of outputs captured on real machines; skip where it does not lie beside the checkout."""
    folder = REPOSITORY.parent / "shared" / "captures"
    if not folder.is_dir():
        pytest.skip(f"{folder} is not here")
    return folder
