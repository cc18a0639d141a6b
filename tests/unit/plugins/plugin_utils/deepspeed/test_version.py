# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from ansible_collections.instinct.bringup.plugins.plugin_utils.catalog import default_catalog
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.errors import ConfigError
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.version import (
    deepspeed_version,
    paired,
    torch_version,
)

CATALOG = default_catalog()


def version(release: str, given: str = "") -> str:
    return deepspeed_version({"deepspeed_version": given}, CATALOG.release(release), CATALOG)


def test_the_pair_of_the_first_target_is_the_one_that_was_run() -> None:
    pair = paired(CATALOG, "2.0.1")
    assert pair is not None
    assert (pair.deepspeed, pair.inferred) == ("0.9.3", False)
    assert version("5.4.2") == "0.9.3"


@pytest.mark.parametrize("release", CATALOG.releases)
def test_every_release_has_a_pair_with_its_source(release: str) -> None:
    pair = paired(CATALOG, torch_version(CATALOG.release(release)))
    assert pair is not None
    assert pair.source
    assert pair.deepspeed in CATALOG.deepspeed("keys")["read_at"]


def test_the_site_says_another() -> None:
    assert version("5.4.2", "0.10.3") == "0.10.3"


@pytest.mark.parametrize("given", ["0.9", "latest", "0.9.3rc1", "v0.9.3", "0.9.3; reboot"])
def test_what_is_no_version_is_refused(given: str) -> None:
    with pytest.raises(ConfigError, match="three numbers"):
        version("5.4.2", given)


def test_a_torch_that_the_catalog_does_not_know_is_named() -> None:
    release = {"torch": {"packages": {"torch": "9.9.9+rocm9.9"}}}
    with pytest.raises(ConfigError, match=r"torch 9\.9\.9; set deepspeed_version"):
        deepspeed_version({"deepspeed_version": ""}, release, CATALOG)
