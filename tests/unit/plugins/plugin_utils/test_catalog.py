# SPDX-License-Identifier: Apache-2.0
"""Hold every release of the catalog to one shape, and to the facts that it was made from."""

from __future__ import annotations

import pathlib
import re
import typing as t

import pytest
import yaml

from ansible_collections.instinct.bringup.plugins.plugin_utils.catalog import LOADER, default_catalog
from ansible_collections.instinct.bringup.plugins.plugin_utils.packages import PackageFamilies, decode_release

CATALOG = default_catalog()
BASE = "https://repo.radeon.com/"
# The research that the catalog was made from lies beside the repository on a maintainer's machine only.
FACTS = pathlib.Path(__file__).resolve().parents[5] / "shared" / "facts" / "releases.yml"
KEYS = {
    "release", "encoded", "apt_path", "key_path", "driver", "installer", "usecases", "shadowed", "kernels",
    "known_good_kernels", "known_bad_kernels", "driver_tested_with", "gpus", "rccl", "torch", "inferred", "sources",
}  # fmt: skip


def facts() -> dict[str, dict[str, t.Any]]:
    return yaml.load(FACTS.read_text(encoding="utf-8"), Loader=LOADER) if FACTS.is_file() else {}


@pytest.mark.parametrize("name", CATALOG.releases)
def test_a_release_is_whole_and_of_one_piece(name: str) -> None:
    entry = CATALOG.release(name)
    assert set(entry) == KEYS
    assert entry["release"] == name == decode_release(entry["encoded"])
    assert f"{entry['encoded']}-" in entry["installer"]["version"]
    assert entry["installer"]["version"] in entry["installer"]["path"]
    assert entry["driver"]["version"] in entry["driver"]["package_version"]
    assert name.rsplit(".", 1)[0] in entry["driver_tested_with"]
    assert entry["kernels"]
    assert entry["sources"]
    assert re.fullmatch(r"rocm\d+\.\d+(\.\d+)?", entry["torch"]["index_tag"])
    # Of Ubuntu only: a distribution that the catalog does not hold is refused before it is looked up here.
    versions = CATALOG.distribution("ubuntu")["versions"]
    assert all(system.removeprefix("ubuntu-") in versions for system in entry["kernels"])


@pytest.mark.parametrize("name", CATALOG.releases)
def test_the_driver_of_a_release_is_told_by_its_version(name: str) -> None:
    version = CATALOG.release(name)["driver"]["package_version"].replace("*", "1234567.22.04")
    vendor = PackageFamilies(CATALOG).classify("amdgpu-dkms", version)
    assert vendor is not None
    assert vendor.release == name


@pytest.mark.skipif(not FACTS.is_file(), reason="the collected facts are not beside this clone")
def test_the_catalog_has_every_release_of_the_facts() -> None:
    assert set(CATALOG.releases) == set(facts())


@pytest.mark.skipif(not FACTS.is_file(), reason="the collected facts are not beside this clone")
@pytest.mark.parametrize("name", CATALOG.releases)
def test_what_the_facts_know_of_a_release_is_what_the_catalog_says(name: str) -> None:
    entry, fact = CATALOG.release(name), facts()[name]
    assert f"{BASE}{entry['apt_path']}" == fact["apt_repo"]
    assert fact["driver_repo"] in (None, f"{BASE}{entry['driver']['path']}")
    assert entry["driver"]["version"] == fact["driver_version"]
    assert fact["rccl_version"] in (None, entry["rccl"])
    assert entry["gpus"] == fact["gpus"]
    for codename in ("focal", "jammy", "noble"):
        if path := fact["installer"].get(f"ubuntu-{codename}"):
            assert (
                entry["installer"]["path"].format(codename=codename) == f"amdgpu-install/{fact['installer_dir']}/{path}"
            )
    if fact["torch_index"] and fact["torch"]:
        assert fact["torch_index"].endswith("/" + entry["torch"]["index_tag"])
        assert entry["torch"]["packages"]["torch"].split("+")[0] in fact["torch"]


@pytest.mark.skipif(not FACTS.is_file(), reason="the collected facts are not beside this clone")
@pytest.mark.parametrize("name", CATALOG.releases)
def test_what_was_inferred_is_marked(name: str) -> None:
    entry, fact = CATALOG.release(name), facts()[name]
    marked = {note.split(":")[0].split(" ")[0] for note in entry["inferred"]}
    keys = {"apt_repo": "apt_path", "driver_repo": "driver.path", "driver_version": "driver.version"}
    assert {keys[key] for key in fact["inferred"] if key in keys} <= marked
    assert "rccl" in marked or fact["rccl_version"]
    assert "torch" in marked or fact["torch"]
    assert "kernels" in marked or fact["kernels"]
    assert "installer.path" in marked or not any(key.startswith("installer.ubuntu") for key in fact["inferred"])
