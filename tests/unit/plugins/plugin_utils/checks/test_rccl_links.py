# SPDX-License-Identifier: Apache-2.0
"""The checks of rccl_links.py. CASES R-05."""

from __future__ import annotations

import dataclasses
from typing import Any

from support.machines import Json
from support.rows import Row, change, each, not_held

from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.topology import TOPOLOGY_PATH


def without_links(snapshot: Json) -> None:
    entry = snapshot["watch"][TOPOLOGY_PATH]
    lines = [line for line in entry["text"].splitlines() if "<xgmi" not in line]
    entry["text"] = "\n".join(lines)


def text(value: str) -> Any:
    return lambda snapshot: snapshot["watch"][TOPOLOGY_PATH].update(text=value)


def absent(snapshot: Json) -> None:
    snapshot["watch"][TOPOLOGY_PATH] = {"type": "absent", "text": None}


@each(
    {
        "as KFD shows them": Row("ok", observed="6 pairs", machine="mi210-4gpu-quad"),
        "R-05, taken for PCIe": Row(
            "fail", "correct but slow", without_links, observed="0 pairs", machine="mi210-4gpu-quad"
        ),
        "no file": Row("skipped", "is not there", absent),
        "no topology": Row("skipped", "no topology", text("hello")),
        "a document type": Row("skipped", "no topology", text("<!DOCTYPE x><system/>")),
        "no KFD": Row("unknown", "not loaded", change("kfd", None)),
        "captured tree without the file": Row("skipped", "does not hold", not_held("watch")),
    }
)
def test_topo_has_xgmi(row: Row) -> None:
    dataclasses.replace(row, options={"rccl_topology_mode": "always"}).assert_holds("rccl.topo_has_xgmi")


def library(path: str | None, by: str | None = "RUNPATH", needs: str | None = "librccl.so.1") -> Any:
    entry = {"venv": "/opt/venv", "user": "/opt/venv/lib/libtorch_hip.so", "needs": needs, "path": path, "by": by}
    return change("rccl_libraries/venvs", [entry])


@each(
    {
        "none here": Row("skipped", "no environment"),
        "the wheel's own": Row("ok", change=library("/opt/venv/lib/librccl.so.1")),
        "the system's": Row("warn", "ld.so.cache", library("/opt/rocm-5.4.2/lib/librccl.so.1", "ld.so.cache")),
        "nowhere": Row("fail", "nowhere", library(None, None), observed="not found"),
        "not readable": Row("unknown", "not hold", library(None, None, None), required=False),
        "captured tree": Row("skipped", "does not hold", not_held("rccl_libraries")),
    }
)
def test_library_resolved(row: Row) -> None:
    row.assert_holds("rccl.library_resolved")
