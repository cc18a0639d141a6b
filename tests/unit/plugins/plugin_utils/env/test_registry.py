# SPDX-License-Identifier: Apache-2.0
"""The registry answers as the sources do that it was made from."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from ansible_collections.instinct.bringup.plugins.plugin_utils.catalog import default_catalog
from ansible_collections.instinct.bringup.plugins.plugin_utils.env.lint import Linter
from ansible_collections.instinct.bringup.plugins.plugin_utils.env.registry import Registry, default_registry

# Declared in every release, and asked for by nothing.
NO_CALLER = {
    "RCCL_CLIQUE_IGNORE_TOPO",
    "NCCL_GRAPH_HELPER_DISABLE",
    "NCCL_GROUP_CUDA_STREAM",
    "NCCL_NVB_DISABLE",
}
CLIQUE = {"RCCL_ENABLE_CLIQUE", "RCCL_CLIQUE_ALLREDUCE_BYTE_LIMIT", "RCCL_CLIQUE_ALLREDUCE_NCHANNELS"}
# Their code is in a header, which the build's list of files does not name.
IN_HEADERS = {"NCCL_SOCKET_FAMILY", "NCCL_SOCKET_IFNAME", "RCCL_TEST_ENV_VARS"}
# Read by another component than RCCL, whatever the table of RCCL says.
ELSEWHERE = {"HSA_FORCE_FINE_GRAIN_PCIE"}
NOT_READ = {"unread", "typo", "obsolete", "not_yet"}


@pytest.fixture(scope="module")
def table() -> list[dict[str, str]]:
    path = Path(__file__).resolve().parents[6] / "shared" / "facts" / "rccl-registry.tsv"
    if not path.is_file():
        pytest.skip(f"{path} is not here")
    with path.open(encoding="utf-8") as stream:
        return list(csv.DictReader(stream, delimiter="\t"))


def expected(name: str, tag: str, cell: str) -> set[str]:
    if name in ELSEWHERE:
        return {"ok"}
    if name in NO_CALLER:
        return {"unread"}
    if name in CLIQUE:
        return {"ok"} if tag == "5.2.1" else {"obsolete"}
    if cell == "-" or ("[file not in build]" in cell and name not in IN_HEADERS):
        return NOT_READ
    # The name is read; whether a made-up value of 1 is legal is another question.
    return {"ok", "bad_value"}


def test_every_name_and_tag_of_the_table(table: list[dict[str, str]]) -> None:
    tags = [column for column in table[0] if column.startswith("rocm-")] + ["develop"]
    judged = 0
    for tag in tags:
        release = tag.removeprefix("rocm-")
        text = "".join(f"export {row['name']}=1\n" for row in table)
        findings = {finding.name: finding for finding in Linter(release).text(text).findings}
        for row in table:
            assert findings[row["name"]].verdict in expected(row["name"], release, row[tag]), (row["name"], tag)
            judged += 1
    assert judged == len(table) * 14


def test_defaults_are_those_of_the_table(table: list[dict[str, str]]) -> None:
    registry = default_registry()
    for row in table:
        for tag, cell in row.items():
            states = registry.states(row["name"], tag.removeprefix("rocm-")) if tag.startswith("rocm-") else []
            for state in states:
                if state.variable.component.id == "rccl" and state.kind == "read":
                    default = cell.replace(" [file not in build]", "")
                    assert state.default == ("unset" if default == "(string)" else default)


@pytest.mark.parametrize(
    ("name", "release", "kind"),
    [
        pytest.param("NCCL_BUFFSIZE", "5.4.2", "read", id="a tag that was read"),
        pytest.param("NCCL_BUFFSIZE", "5.7.1", "read", id="the same series as a tag"),
        pytest.param("NCCL_BUFFSIZE", "6.2.4", "read", id="the last series"),
        pytest.param("NCCL_BUFFSIZE", "6.3.0", "unknown", id="beyond what was read"),
        pytest.param("NCCL_BUFFSIZE", "5.1.0", "unknown", id="before what was read"),
        pytest.param("RCCL_ENABLE_CLIQUE", "5.2.0", "read", id="first series"),
        pytest.param("RCCL_ENABLE_CLIQUE", "5.2.2", "read", id="between two tags of a series"),
        pytest.param("RCCL_ENABLE_CLIQUE", "5.2.3", "gone", id="gone"),
        pytest.param("RCCL_MSCCL_ENABLE", "5.4.3", "not yet", id="not yet"),
        pytest.param("NCCL_CUMEM_ENABLE", "6.1.0", "not built", id="in the tree and not built"),
        pytest.param("HSA_XNACK", "6.4.1", "read", id="two versions around agree"),
        pytest.param("HSA_ALLOCATE_QUEUE_DEV_MEM", "6.4.1", "unknown", id="two versions around differ"),
        pytest.param("HIP_PATH", "7.1.0", "build", id="build"),
        pytest.param("UCX_TLS", "7.1.0", "read", id="of no release"),
        pytest.param("PYTORCH_CUDA_ALLOC_CONF", "5.4.2", "not yet", id="by the release of PyTorch"),
        pytest.param("PYTORCH_HIP_ALLOC_CONF", "9.9.9", "unknown", id="no PyTorch is known for it"),
    ],
)
def test_state_of_a_name_in_a_release(name: str, release: str, kind: str) -> None:
    assert default_registry().states(name, release)[0].kind == kind


def test_the_component_that_reads_a_name_comes_first() -> None:
    states = default_registry().states("HSA_FORCE_FINE_GRAIN_PCIE", "5.4.2")
    assert [(state.kind, state.variable.component.id) for state in states] == [("read", "rocr"), ("not yet", "rccl")]


def test_default_of_a_release_is_the_one_of_its_time() -> None:
    registry = default_registry()
    assert registry.states("NCCL_IB_TIMEOUT", "5.4.2")[0].default == "14"
    assert registry.states("NCCL_IB_TIMEOUT", "5.5.1")[0].default == "18"


@pytest.mark.parametrize("release", [release for release in default_catalog().releases if release < "6.3"])
def test_every_release_up_to_62_is_covered(release: str) -> None:
    registry = default_registry()
    unknown = [component.id for component in registry.components.values() if not registry.knows(component, release)]
    # The PyTorch of the releases before 5.4 was not read.
    assert unknown in ([], ["pytorch"])


def test_of_a_release_that_was_not_read_nothing_is_claimed() -> None:
    assert default_registry().states("NCCL_IB_TIMEOUT", "7.2.4")[0].kind == "unknown"


def test_every_entry_has_a_known_form_and_a_source() -> None:
    forms = {
        *("int", "bytes", "bool", "flag", "word", "list", "level", "ifname", "hca", "file", "path"),
        *("visible", "gfx", "alloc", "address", "text"),
    }
    registry = default_registry()
    for name, variables in registry.variables.items():
        for variable in variables:
            assert variable.form in forms, name
            assert variable.source, name
            assert variable.legal or variable.form not in ("word", "list", "level"), name
    assert all(entry["source"] for entry in registry.dead.values())


def test_a_name_that_nothing_reads_is_in_no_component() -> None:
    registry = default_registry()
    assert not set(registry.dead) & set(registry.variables)


def test_an_empty_folder_is_an_empty_registry(tmp_path: Path) -> None:
    assert Registry(tmp_path, {}).states("NCCL_BUFFSIZE", "5.4.2") == []
