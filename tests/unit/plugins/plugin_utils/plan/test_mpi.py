# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import typing as t

import pytest

from ansible_collections.instinct.bringup.plugins.plugin_utils.catalog import default_catalog
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.launch import plan_launch
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.mpi import mpi_refusals, pair_of, plan_mpi
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.rccl import plan_rccl

from . import made

RECORD = "/opt/instinct-bringup/mpi/instinct-bringup.json"


def refused(**given: t.Any) -> dict[str, str]:
    return {
        entry.subject: entry.seen for entry in mpi_refusals(made.context(made.bare(), mpi_provider="source", **given))
    }


def test_the_distributions_packages_are_the_default() -> None:
    step = plan_mpi(made.context(made.bare()))
    assert step is not None
    assert step.inputs == {
        "packages": ["openmpi-bin", "libopenmpi-dev"], "missing": ["openmpi-bin", "libopenmpi-dev"], "build": None,
    }  # fmt: skip
    assert "host memory only" in step.changes[0].reason


def test_an_mpi_that_is_there_is_only_looked_at() -> None:
    assert plan_mpi(made.context(made.bare(), mpi_provider="existing", mpi_prefix="/opt/ompi")) is None


def test_the_source_is_pinned_by_version_and_sum() -> None:
    step = plan_mpi(made.context(made.bare(), mpi_provider="source"))
    assert step is not None
    build = step.inputs["build"]
    assert build["builder"] == "node1"
    assert build["ucx"]["url"].endswith("/v1.14.1/ucx-1.14.1.tar.gz")
    assert build["openmpi"]["url"].endswith("/v5.0/openmpi-5.0.3.tar.bz2")
    assert [len(build[name]["sha256"]) for name in ("ucx", "openmpi")] == [64, 64]
    assert "--with-rocm=/opt/rocm-5.4.2" in build["ucx"]["configure"]
    assert "--with-ucx=/opt/instinct-bringup/mpi" in build["openmpi"]["configure"]
    assert [change.kind for change in step.changes] == ["build"]
    assert refused() == {}


def test_a_node_with_the_same_record_is_left_alone() -> None:
    first = plan_mpi(made.context(made.bare(), mpi_provider="source"))
    assert first is not None
    file = first.files[0]
    snapshot = made.bare()
    snapshot["watch"][RECORD] = {
        "type": "file", "sha256": file.sha256, "mode": "0644", "owner": "root", "group": "root", "text": file.content,
    }  # fmt: skip
    again = plan_mpi(made.context(snapshot, mpi_provider="source"))
    assert again is not None
    assert again.changes == ()
    other = plan_mpi(made.context(snapshot, mpi_provider="source", mpi_rocm_path="/usr"))
    assert other is not None
    assert [change.kind for change in other.changes] == ["build"]
    assert json.loads(other.files[0].content)["rocm"] == "/usr"


def test_a_tarball_that_nobody_can_verify_is_refused() -> None:
    seen = refused(mpi_openmpi_version="5.0.9")
    assert "no SHA-256 is known" in seen["mpi_openmpi_sha256"]
    assert "openmpi-5.0.9.tar.bz2" in seen["mpi_openmpi_sha256"]
    assert refused(mpi_openmpi_version="5.0.9", mpi_openmpi_sha256="a" * 64) == {}


@pytest.mark.parametrize("version", ["1.14.0", "1.9.0", "newest"])
def test_a_ucx_that_is_not_for_this_rocm_is_refused(version: str) -> None:
    seen = refused(mpi_ucx_version=version, mpi_ucx_sha256="a" * 64)
    assert seen == {"mpi_ucx_version": f"UCX {version} for ROCm 5.4.2"}


@pytest.mark.parametrize(
    ("release", "least"), [("5.2.0", "1.14.1"), ("6.1.2", "1.14.1"), ("6.2.0", "1.15.0"), ("7.2.4", "1.17.0")]
)
def test_each_release_has_its_least_ucx(release: str, least: str) -> None:
    assert pair_of(default_catalog().mpi["pairs"], release)["least"] == least


def test_the_plan_says_so_before_anything_is_changed() -> None:
    plan = made.plan(made.bare(), mpi_provider="source", mpi_ucx_version="1.14.0", mpi_ucx_sha256="a" * 64)
    assert [entry["id"] for entry in plan["refusals"]] == ["mpi.version_pair"]
    assert plan["steps"] == []


def test_the_launcher_takes_the_mpi_that_was_built() -> None:
    ctx = made.context(made.bare(), mpi_provider="source")
    step = plan_launch(ctx, plan_rccl(ctx))
    assert step is not None
    text = next(file.content for file in step.files if file.path.endswith("openmpi.sh"))
    assert "--prefix /opt/instinct-bringup/mpi" in text
    assert "PATH=/opt/instinct-bringup/mpi/bin:$PATH" in text
