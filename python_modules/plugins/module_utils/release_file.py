# SPDX-License-Identifier: Apache-2.0
"""Fetch the signed index of an apt repository and see that apt would accept it."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from email.utils import parsedate_to_datetime
from typing import NamedTuple

from ansible_collections.instinct.bringup.plugins.module_utils.command_runner import Run
from ansible_collections.instinct.bringup.plugins.module_utils.fetch import MIB, Fetch, FetchError, mask
from ansible_collections.instinct.bringup.plugins.module_utils.gpgv import SignatureProblem, verify_signature
from ansible_collections.instinct.bringup.plugins.module_utils.repository_key import CheckedKey

RELEASE_LIMIT = 10 * MIB


class RepositoryProblem(Exception):
    """apt would refuse the repository; the message names the URL, what was seen and what to do."""


class Repository(NamedTuple):
    """A repository as a source line names it; name is what the messages call it."""

    name: str
    url: str
    suite: str


def probe_repository(
    repository: Repository, key: CheckedKey, fetch: Fetch, run: Run, now: datetime
) -> dict[str, str | None]:
    """Return what the signed index says of itself: file, date and valid_until. RepositoryProblem when it is no good."""
    base = f"{repository.url.rstrip('/')}/dists/{repository.suite}"
    try:
        name, signed, detached = _fetch_release(base, fetch)
    except FetchError as error:
        raise RepositoryProblem(
            f"repository {repository.name}: {error}. Wanted the signed index InRelease, or Release with "
            f"Release.gpg{_hint(repository.url, error.code)}"
        ) from error
    try:
        verify_signature(run, key.keyring, key.fingerprint, signed, detached)
    except SignatureProblem as problem:
        raise RepositoryProblem(
            f"repository {repository.name}: the signature of {mask(base)}/{name} does not verify: {problem}. "
            f"Wanted a signature of {key.fingerprint}. Do not install from it; ask who runs the mirror to sign "
            "it again, or set the fingerprint of the key that signs it"
        ) from problem
    fields = release_fields(signed.decode("utf-8", "replace"))
    names = [fields[field] for field in ("Suite", "Codename") if field in fields]
    if names and repository.suite not in names:
        raise RepositoryProblem(
            f"repository {repository.name}: {mask(base)}/{name} is the index of {' / '.join(names)}, not of "
            f"{repository.suite}; look at the mirror's layout"
        )
    date = fields.get("Date")
    begins = _moment(date) if date else None
    # apt's own grace for clocks that differ (Acquire::Max-FutureTime).
    if begins is not None and begins > now + timedelta(seconds=10):
        raise RepositoryProblem(
            f"repository {repository.name}: {mask(base)}/{name} is of {date}, and the node's clock says "
            f"{now:%a, %d %b %Y %H:%M:%S} UTC: it is not valid yet, so apt refuses it; set the node's clock "
            "(`timedatectl`), or ask who runs the mirror"
        )
    until = fields.get("Valid-Until")
    last = _moment(until) if until else None
    if last is not None and last < now:
        raise RepositoryProblem(
            f"repository {repository.name}: {mask(base)}/{name} was valid until {until} only, and the node's clock says "
            f"{now:%a, %d %b %Y %H:%M:%S} UTC, so apt refuses it; bring the mirror up to date, or set the node's clock"
        )
    return {"file": name, "date": date, "valid_until": until}


def release_fields(text: str) -> dict[str, str]:
    """Return the one-line fields of a Release file, clear-signed or not."""
    if text.startswith("-----BEGIN PGP SIGNED MESSAGE-----"):
        text = text.partition("\n\n")[2].partition("-----BEGIN PGP SIGNATURE-----")[0]
    found = re.findall(r"^([A-Za-z-]+):[ \t]*(\S.*?)[ \t\r]*$", text, re.M)
    return dict(found)


def _fetch_release(base: str, fetch: Fetch) -> tuple[str, bytes, bytes | None]:
    try:
        return "InRelease", fetch(f"{base}/InRelease", RELEASE_LIMIT).body, None
    except FetchError as error:
        if error.code != 404:
            raise
        first = error
    try:
        release = fetch(f"{base}/Release", RELEASE_LIMIT).body
    except FetchError as error:
        # InRelease is what a person looks for; that Release lacks too adds nothing
        raise (first if error.code == 404 else error) from error
    return "Release", release, fetch(f"{base}/Release.gpg", RELEASE_LIMIT).body


def _hint(url: str, code: int | None) -> str:
    last_version = re.findall(r"/(\d+\.\d+)\.0(?=/|$)", url)
    if code == 404 and last_version:
        return f"; AMD publishes X.Y.0 under X.Y, so try …/{last_version[-1]}"
    if code == 404:
        return "; look at the release and the codename in the URL"
    if code in (401, 403):
        return "; look at the credentials, or at the mirror's list of clients"
    if code is None:
        return "; look at the mirror, the name and a proxy in between"
    return "; look at the mirror's log"


def _moment(text: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text)
    except (TypeError, ValueError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)
