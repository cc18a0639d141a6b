# SPDX-License-Identifier: Apache-2.0
"""Only the pinned key passes, whole, alone and not expired."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from ansible_collections.instinct.bringup.plugins.module_utils.repository_key import (
    KeyProblem,
    check_key,
    normal_fingerprint,
)

KEY = "67B2A173080A93D284651B736D6CE04742DFAB73"
EXPIRED = "D44A3ED471281464BE0A0A1A271B0E3470C3791E"


@pytest.mark.parametrize("text", [KEY, KEY.lower(), f"0x{KEY}", " ".join(KEY[i : i + 4] for i in range(0, 40, 4))])
def test_a_full_fingerprint_may_be_spelled_as_people_do(text: str) -> None:
    assert normal_fingerprint(text) == KEY


@pytest.mark.parametrize("text", ["", KEY[-16:], KEY + "0", "G" * 40])
def test_anything_else_is_no_fingerprint(text: str) -> None:
    with pytest.raises(KeyProblem, match="40 hex digits"):
        normal_fingerprint(text)


def test_an_expired_key_passes_before_its_end_only(repository: Path) -> None:
    data = (repository / "tests/fixtures/made_repository/expired.asc").read_bytes()
    before = datetime(2020, 1, 10, tzinfo=UTC)
    assert check_key(data, EXPIRED, before, "x").expires == "2020-02-01T00:00:00Z"
    with pytest.raises(KeyProblem, match="node's clock, which says 2020-02-01T00:00:00Z"):
        check_key(data, EXPIRED, datetime(2020, 2, 1, tzinfo=UTC), "x")
