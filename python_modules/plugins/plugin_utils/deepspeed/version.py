# SPDX-License-Identifier: Apache-2.0
"""Tell which DeepSpeed a node gets: the site's own, or the one that the catalog pairs with the release's torch."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.instinct.bringup.plugins.plugin_utils.catalog import Catalog
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.errors import ConfigError

_VERSION = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+")


class Pair(t.NamedTuple):
    """A DeepSpeed for a torch. inferred: nobody is known to have run the two together."""

    torch: str
    deepspeed: str
    inferred: bool
    source: str


def torch_version(release: t.Mapping[str, t.Any]) -> str:
    """Return the torch of a ROCm release's entry without the build's tag, such as "2.0.1"."""
    return str(release["torch"]["packages"]["torch"]).partition("+")[0]


def paired(catalog: Catalog, torch: str) -> Pair | None:
    """Return the catalog's pair of a torch such as "2.0.1", None where it has none."""
    rows = (Pair(**row) for row in catalog.deepspeed("pairs")["pairs"])
    return next((pair for pair in rows if pair.torch == torch), None)


def deepspeed_version(profile: t.Mapping[str, t.Any], release: t.Mapping[str, t.Any], catalog: Catalog) -> str:
    """Return the version of DeepSpeed: deepspeed_version, or where that is empty the catalog's pair.

    :raises ConfigError: it is no version of three numbers, or there is no pair for the release's torch.
    """
    given = str(profile["deepspeed_version"])
    if given:
        if not _VERSION.fullmatch(given):
            raise ConfigError(f'deepspeed_version is {given!r}; it must be three numbers, such as "0.9.3"')
        return given
    torch = torch_version(release)
    pair = paired(catalog, torch)
    if pair is None:
        raise ConfigError(f"the catalog pairs no DeepSpeed with torch {torch}; set deepspeed_version")
    return pair.deepspeed
