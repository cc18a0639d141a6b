# SPDX-License-Identifier: Apache-2.0
"""Ask everything that an installation will fetch from, before anything is changed."""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Any, Callable, Mapping, NamedTuple, Sequence

from ansible_collections.instinct.bringup.plugins.module_utils.command_runner import Run
from ansible_collections.instinct.bringup.plugins.module_utils.fetch import Fetcher, FetchError, mask
from ansible_collections.instinct.bringup.plugins.module_utils.release_file import (
    Repository,
    RepositoryProblem,
    probe_repository,
)
from ansible_collections.instinct.bringup.plugins.module_utils.repository_key import KeyProblem, fetch_key
from ansible_collections.instinct.bringup.plugins.module_utils.wheel_index import (
    Interpreter,
    WheelProblem,
    find_wheel,
)

# The largest file that is fetched to compare its digest; amdgpu-install is a few kilobytes.
MAX_FILE = 64 * 1024 * 1024


class Probe(NamedTuple):
    """What was found: a result for every thing that is right, and a sentence for each that is not."""

    key: dict[str, Any] | None
    repositories: list[dict[str, Any]]
    urls: list[dict[str, Any]]
    wheels: list[dict[str, Any]]
    problems: list[str]


def probe_repositories(
    key_url: str,
    fingerprint: str,
    repositories: Sequence[Mapping[str, str]],
    fetcher: Fetcher,
    fetcher_of: Callable[[str], Fetcher],
    run: Run,
    now: datetime,
    probe: Probe,
) -> Probe:
    """Return probe with the key and every repository that it verifies, or their problems, added.

    fetcher: for the key, which we fetch ourselves. fetcher_of: gives one for a repository's URL, since apt fetches that.
    """
    try:
        key = fetch_key(key_url, fingerprint, fetcher.get, now)
    except KeyProblem as problem:
        names = ", ".join(item["name"] for item in repositories)
        after = f". So the signatures of {names} could not be verified" if names else ""
        return probe._replace(problems=[*probe.problems, f"{problem}{after}"])
    found = list(probe.repositories)
    problems = list(probe.problems)
    for item in repositories:
        try:
            seen = probe_repository(Repository(**item), key, fetcher_of(item["url"]).get, run, now)
        except (RepositoryProblem, FetchError) as problem:
            problems.append(str(problem))
        else:
            found.append({**item, "url": mask(item["url"]), **seen})
    return probe._replace(
        key={"fingerprint": key.fingerprint, "expires": key.expires}, repositories=found, problems=problems
    )


def probe_urls(urls: Sequence[Mapping[str, str]], fetcher: Fetcher, probe: Probe) -> Probe:
    """Return probe with every URL that answers, or its problem, added.

    A URL with a sha256 is fetched whole and compared: what does not match must be known before anything goes.
    """
    found = list(probe.urls)
    problems = list(probe.problems)
    for item in urls:
        try:
            code = fetcher.head(item["url"])
            seen = hashlib.sha256(fetcher.get(item["url"], MAX_FILE).body).hexdigest() if item.get("sha256") else None
        except FetchError as error:
            problems.append(f"{item['name']}: {error}. Wanted a file there; look at the release in the URL")
            continue
        if seen is not None and seen != item["sha256"].lower():
            problems.append(
                f"{item['name']}: {mask(item['url'])} has SHA-256 {seen}, wanted is {item['sha256']}. "
                "Look which release the pinned digest is of, and whether the file was changed"
            )
        else:
            found.append({"name": item["name"], "url": mask(item["url"]), "code": code})
    return probe._replace(urls=found, problems=problems)


def probe_wheels(
    index: str, wheels: Sequence[Mapping[str, str]], interpreter: Interpreter, fetcher: Fetcher, probe: Probe
) -> Probe:
    """Return probe with every wheel that the interpreter can install, or its problem, added."""
    found = list(probe.wheels)
    problems = list(probe.problems)
    for item in wheels:
        try:
            name = find_wheel(index, item["name"], item["version"], interpreter, fetcher.get)
        except WheelProblem as problem:
            problems.append(str(problem))
        else:
            found.append({**item, "file": name})
    return probe._replace(wheels=found, problems=problems)
