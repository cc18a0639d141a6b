# SPDX-License-Identifier: Apache-2.0
"""A repository passes when apt would take it; the message names what stands against it."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.instinct.bringup.plugins.module_utils.command_runner import run_command
from ansible_collections.instinct.bringup.plugins.module_utils.fetch import Answer, Fetch, FetchError
from ansible_collections.instinct.bringup.plugins.module_utils.release_file import (
    Repository,
    RepositoryProblem,
    probe_repository,
    release_fields,
)
from ansible_collections.instinct.bringup.plugins.module_utils.repository_key import CheckedKey, check_key

KEY = "67B2A173080A93D284651B736D6CE04742DFAB73"
NOW = datetime(2026, 12, 1, tzinfo=UTC)
ROCM = Repository("rocm", "http://u:secret@mirror.invalid/rocm/apt/6.4.0", "jammy")
BASE = ROCM.url + "/dists/jammy/"

needs_gpgv = pytest.mark.skipif(shutil.which("gpgv") is None, reason="gpgv is not here")


@pytest.fixture
def made(repository: Path) -> Path:
    return repository / "tests/fixtures/made_repository"


@pytest.fixture
def key(made: Path) -> CheckedKey:
    return check_key((made / "key.asc").read_bytes(), KEY, NOW, "key.asc")


def serve(files: dict[str, Path | int]) -> Fetch:
    """Return a fetch that knows these names; a number is the code of a refusal."""

    def fetch(url: str, limit: int) -> Answer:
        assert url.startswith(BASE)
        file = files.get(url[len(BASE) :], 404)
        if isinstance(file, int):
            raise FetchError(url, f"HTTP {file}", file)
        return Answer(url, 200, file.read_bytes())

    return fetch


@needs_gpgv
@pytest.mark.parametrize("names", [["InRelease"], ["Release", "Release.gpg"]], ids=["InRelease", "Release"])
def test_a_signed_index_passes(made: Path, key: CheckedKey, names: list[str]) -> None:
    seen = probe_repository(ROCM, key, serve({name: made / name for name in names}), run_command, NOW)
    assert seen == {"file": names[0], "date": "Thu, 02 Jan 2020 00:00:00 UTC", "valid_until": None}


@needs_gpgv
@pytest.mark.parametrize(
    ("files", "suite", "said"),
    [
        ({"InRelease": "Release"}, "jammy", "carries no signature"),
        ({"Release": "Release", "Release.gpg": "InRelease"}, "jammy", "does not verify"),
        ({"InRelease": "InRelease.outdated"}, "jammy", "was valid until Thu, 09 Jan 2020"),
    ],
    ids=["unsigned", "no signature in Release.gpg", "outdated"],
)
def test_an_index_that_apt_would_refuse_is_refused(
    made: Path, key: CheckedKey, files: dict[str, str], suite: str, said: str
) -> None:
    with pytest.raises(RepositoryProblem, match=said) as caught:
        probe_repository(ROCM, key, serve({name: made / file for name, file in files.items()}), run_command, NOW)
    assert "secret" not in str(caught.value)
    assert "repository rocm" in str(caught.value)


@needs_gpgv
def test_an_index_from_the_future_names_its_date_and_the_nodes_clock(made: Path, key: CheckedKey) -> None:
    early = datetime(2000, 1, 1, tzinfo=UTC)
    with pytest.raises(RepositoryProblem, match="it is not valid yet, so apt refuses it") as caught:
        probe_repository(ROCM, key, serve({"InRelease": made / "InRelease"}), run_command, early)
    assert "the node's clock says Sat, 01 Jan 2000 00:00:00 UTC" in str(caught.value)
    assert "timedatectl" in str(caught.value)


@needs_gpgv
def test_the_index_of_another_suite_is_refused(made: Path, key: CheckedKey) -> None:
    def fetch(url: str, limit: int) -> Answer:
        return Answer(url, 200, (made / "InRelease").read_bytes())

    with pytest.raises(RepositoryProblem, match="is the index of jammy / jammy, not of focal"):
        probe_repository(ROCM._replace(suite="focal"), key, fetch, run_command, NOW)


@pytest.mark.parametrize(
    ("code", "said"),
    [(404, "AMD publishes X.Y.0 under X.Y, so try …/6.4"), (403, "credentials"), (500, "mirror's log")],
)
def test_an_index_that_is_not_there_says_what_to_try(made: Path, key: CheckedKey, code: int, said: str) -> None:
    with pytest.raises(RepositoryProblem, match=said) as caught:
        probe_repository(ROCM, key, serve({"InRelease": code}), run_command, NOW)
    assert f"dists/jammy/InRelease: HTTP {code}" in str(caught.value)


def test_fields_of_a_signed_file_are_those_between_its_armour(made: Path) -> None:
    fields = release_fields("Suite: evil\n")
    assert fields == {"Suite": "evil"}
    text = (made / "InRelease").read_text(encoding="ascii")
    assert release_fields(text)["Suite"] == "jammy"
    assert "Hash" not in release_fields(text)


@given(st.text())
def test_any_text_has_some_fields_or_none(text: str) -> None:
    assert all(name and value for name, value in release_fields(text).items())
