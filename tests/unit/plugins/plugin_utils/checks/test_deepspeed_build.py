# SPDX-License-Identifier: Apache-2.0
"""The checks of deepspeed_build.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from support.machines import Json
from support.rows import Row, change, changes, each, not_held

HERE = change("python_envs/0/distributions/deepspeed", {"version": "0.9.3", "requires": []})
ASKED = {"deepspeed_lock_file": "made.lock"}
PROBE = {"deepspeed_probe_ops": True}


def record(torch: str, **ops: bool) -> Callable[[Json], object]:
    return changes(HERE, change("python_envs/0/deepspeed", {"version": "0.9.3", "torch": torch, "ops": ops}))


def probed(gpus: int, **errors: str | None) -> Callable[[Json], object]:
    ops: dict[str, Any] = {name: {"loads": error is None, "error": error} for name, error in errors.items()}
    return change("deepspeed_ops", {"gpus": gpus, "version": "0.9.3", "ops": ops})


@each(
    {
        "neither there nor asked for": Row("skipped", "asks for none"),
        "asked for and not there": Row("fail", "asks for it", options=ASKED, observed="not installed"),
        "the pair": Row("ok", change=HERE, expected="0.9.3"),
        "another": Row("fail", "another version", HERE, options={"deepspeed_version": "0.19.8"}, expected="0.19.8"),
        "a local build of it": Row(
            "ok", change=change("python_envs/0/distributions/deepspeed", {"version": "0.9.3+site1", "requires": []})
        ),
        "compiled for this torch": Row("ok", change=record("2.0", fused_adam=True)),
        "compiled for another torch": Row(
            "fail", "fused_adam cannot be loaded", record("1.13", fused_adam=True, cpu_adam=False)
        ),
        "built for another torch, nothing compiled": Row("ok", change=record("1.13", fused_adam=False)),
        "venv not looked at": Row("unknown", change=change("python_envs", [])),
        "captured tree without": Row("skipped", "does not hold", not_held("python_envs")),
    }
)
def test_ds_version_pair(row: Row) -> None:
    row.assert_holds("ds.version_pair")


@each(
    {
        "not asked for": Row("skipped", "deepspeed_probe_ops"),
        "no answer": Row("unknown", options=PROBE, required=False),
        "both load": Row("ok", change=probed(8, fused_adam=None, cpu_adam=None), options=PROBE),
        "one does not": Row(
            "fail", "hipcc: not found", probed(8, fused_adam="hipcc: not found", cpu_adam=None), options=PROBE
        ),
        "no GPU, where only cpu_adam is judged": Row(
            "ok", change=probed(0, fused_adam="no CUDA", cpu_adam=None), options=PROBE
        ),
        "no GPU and no compiler": Row(
            "fail", "c++: not found", probed(0, fused_adam="no CUDA", cpu_adam="c++: not found"), options=PROBE
        ),
    }
)
def test_ds_ops_probe(row: Row) -> None:
    row.assert_holds("ds.ops_probe")
