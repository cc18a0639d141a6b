# SPDX-License-Identifier: Apache-2.0
"""List the wheel files that a lock names, where an index has them."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Sequence, Tuple
from urllib.parse import urldefrag, urljoin, urlsplit

from ansible_collections.instinct.bringup.plugins.module_utils.fetch import Fetch, FetchError, mask
from ansible_collections.instinct.bringup.plugins.module_utils.wheel_index import (
    INDEX_LIMIT,
    links_of,
    normal_name,
    parse_link,
    same_version,
)

Json = Dict[str, Any]


def wheel_files(
    index: str, wheels: Sequence[Mapping[str, Any]], fetch: Fetch
) -> Tuple[List[Json], List[str], List[str]]:
    """Return the files of the wheels, the URLs of the pages that name them, and a sentence for each that lacks.

    wheels: name, version and sha256, the lock's digests, as mirror_list.wheels_of has them. A file has url, sha256,
    and package and version of its wheel. An index without digests gives every file of the version, sha256 null.
    """
    files: List[Json] = []
    pages: List[str] = []
    problems: List[str] = []
    for wheel in wheels:
        page = f"{index.rstrip('/')}/{normal_name(wheel['name'])}/"
        try:
            answer = fetch(page, INDEX_LIMIT)
        except FetchError as error:
            problems.append(f"{error}. Wanted a page with {wheel['name']} {wheel['version']}")
            continue
        pages.append(page)
        found = _of_wheel(answer.url, answer.body.decode("utf-8", "replace"), wheel)
        if not found:
            problems.append(f"{mask(page)} has no {wheel['name']} {wheel['version']} with a digest of the lock")
        files += [{"package": wheel["name"], "version": wheel["version"], **file} for file in found]
    return files, pages, problems


def _of_wheel(base: str, html: str, wheel: Mapping[str, Any]) -> List[Json]:
    found = []
    for link in links_of(html):
        parsed = parse_link(link)
        if parsed is None or not same_version(wheel["version"], parsed.version):
            continue
        kind, _, digest = urlsplit(link).fragment.partition("=")
        sha256 = digest if kind == "sha256" and digest else None
        if sha256 is None or sha256 in wheel["sha256"]:
            found.append({"url": urldefrag(urljoin(base, link)).url, "sha256": sha256})
    return found
