# SPDX-License-Identifier: Apache-2.0
"""Judge a fetched repository key: OpenPGP, the one that is pinned, alone, and not expired."""

from __future__ import annotations

import re
from datetime import datetime, timezone
from typing import NamedTuple, Sequence

from ansible_collections.instinct.bringup.plugins.module_utils.fetch import MIB, Fetch, FetchError, mask
from ansible_collections.instinct.bringup.plugins.module_utils.openpgp import Key, NotOpenPgp, dearmour, read_keys

KEY_LIMIT = 1 * MIB


class KeyProblem(Exception):
    """The bytes are not the key that is wanted; the message says what they are and what to do."""


class CheckedKey(NamedTuple):
    """A key that holds. keyring: the binary form, as apt's signed-by and gpgv read it."""

    keyring: bytes
    fingerprint: str
    expires: str | None


def normal_fingerprint(text: str) -> str:
    """Return a full fingerprint as 40 upper-case hex digits. KeyProblem for anything shorter."""
    digits = re.sub(r"[\s:]", "", text).upper()
    digits = digits[2:] if digits.startswith("0X") else digits
    if not re.fullmatch(r"[0-9A-F]{40}", digits):
        raise KeyProblem(
            f"the fingerprint {text!r} is not a full one; want its 40 hex digits "
            "(a short key id can be forged, and stays the same when a key is re-issued)"
        )
    return digits


def fetch_key(url: str, fingerprint: str, fetch: Fetch, now: datetime) -> CheckedKey:
    """Return the key at the URL when it is the wanted one. KeyProblem, also when it cannot be fetched."""
    try:
        answer = fetch(url, KEY_LIMIT)
    except FetchError as error:
        raise KeyProblem(f"{error}. Wanted the repository's key {fingerprint}; look at the URL") from error
    return check_key(answer.body, fingerprint, now, mask(url))


def check_key(data: bytes, fingerprint: str, now: datetime, source: str) -> CheckedKey:
    """Return the key in data if it is the wanted one. source: the URL or file, for the message.

    KeyProblem says which of the conditions does not hold.
    """
    wanted = normal_fingerprint(fingerprint)
    try:
        keyring = dearmour(data)
        keys = read_keys(keyring)
    except NotOpenPgp as error:
        raise KeyProblem(
            f"{source} does not hold an OpenPGP key: {error}. Wanted the key {wanted}. "
            "Is it an error page? Look at the URL, and at a proxy in between"
        ) from error
    match = [key for key in keys if key.fingerprint.upper() == wanted]
    if not match:
        raise KeyProblem(
            f"{source} does not hold the key {wanted}; it holds {_names(keys)}. "
            "If the vendor has changed its key, verify the new fingerprint by another way and set it"
        )
    others = [key for key in keys if key.fingerprint.upper() != wanted]
    if others:
        raise KeyProblem(
            f"{source} holds further keys beside {wanted}: {_names(others)}. apt would trust each of them; "
            "provide a file with the one key only"
        )
    # The same key may be there twice, once as it was before it was extended: the later end counts.
    if all(key.is_expired(now.timestamp()) for key in match):
        raise KeyProblem(
            f"{source}: the key {wanted} expired on {_latest_end(match)}. Fetch a copy that was extended "
            f"(vendors re-issue the same key with a later date), or set the node's clock, which says {_moment(now)}"
        )
    return CheckedKey(keyring, wanted, _latest_end(match))


def _latest_end(keys: Sequence[Key]) -> str | None:
    ends = [key.expires for key in keys if key.expires is not None]
    return _moment(datetime.fromtimestamp(max(ends), timezone.utc)) if len(ends) == len(keys) else None


def _moment(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def _names(keys: list[Key]) -> str:
    return ", ".join(key.fingerprint.upper() for key in keys) or "no key at all"
