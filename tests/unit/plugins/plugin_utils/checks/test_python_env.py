# SPDX-License-Identifier: Apache-2.0
"""The checks of python_env.py."""

from __future__ import annotations

from collections.abc import Callable

from support.machines import Json
from support.rows import Row, change, changes, each, hole, not_held
from support.snapshots import VENV

ABSENT = changes(
    change("python_envs/0/exists", False),
    change("python_envs/0/distributions", {}),
    change("python_envs/0/torch", None),
)
NO_VENV = Row("skipped", "see py.venv_present", ABSENT)
NOT_LOOKED_AT = Row("unknown", change=change("python_envs", []))
NOT_HELD = Row("skipped", "does not hold", not_held("python_envs"))
ALWAYS = {"no venv": NO_VENV, "venv not looked at": NOT_LOOKED_AT, "captured tree without": NOT_HELD}


def wheel(name: str, version: str, requires: list[str] | None = None) -> Callable[[Json], None]:
    return change(f"python_envs/0/distributions/{name}", {"version": version, "requires": requires or []})


def without(*names: str) -> Callable[[Json], None]:
    def apply(snapshot: Json) -> None:
        for name in names:
            snapshot["python_envs"][0]["distributions"].pop(name)

    return apply


def torch(version: str, hip: str | None, cuda: str | None) -> Callable[[Json], None]:
    return change("python_envs/0/torch", {"version": version, "hip": hip, "cuda": cuda})


@each(
    {
        "there": Row("ok", observed="Python 3.10.12"),
        "absent": Row("fail", "not there", ABSENT, evidence=VENV),
        "no interpreter": Row("fail", "names no Python", change("python_envs/0/python", None)),
        "not looked at": NOT_LOOKED_AT,
        "not readable": Row("unknown", "EACCES", hole("python_envs", VENV)),
        "captured tree without": NOT_HELD,
    }
)
def test_py_venv_present(row: Row) -> None:
    row.assert_holds("py.venv_present")


@each(
    {
        **ALWAYS,
        "for ROCm": Row("ok", expected="2.0.1+rocm5.4.2"),
        "for CUDA": Row("fail", "built for CUDA 12.8", torch("2.9.1", None, "12.8"), observed="2.9.1"),
        "for the CPU": Row("fail", "built for the CPU only", torch("2.9.1+cpu", None, None)),
        "for another ROCm": Row("fail", "not the build of this release", torch("2.2.2+rocm5.7", "5.7.3", None)),
        "without the local tag": Row("fail", "not the build", torch("2.0.1", "5.4.2", None)),
        "not installed": Row("fail", "not in the venv", changes(without("torch"), change("python_envs/0/torch", None))),
        "version file not readable": Row("unknown", "could not be read", change("python_envs/0/torch", None)),
    }
)
def test_py_torch_is_rocm(row: Row) -> None:
    row.assert_holds("py.torch_is_rocm")


@each(
    {
        **ALWAYS,
        "none": Row("ok"),
        "one": Row("fail", change=wheel("nvidia-cublas-cu12", "12.8.4.1"), observed="nvidia-cublas-cu12 12.8.4.1"),
        "under another spelling": Row("fail", change=wheel("nvidia_nccl_cu12", "2.2"), subject="nvidia-nccl-cu12"),
    }
)
def test_py_no_nvidia_wheels(row: Row) -> None:
    row.assert_holds("py.no_nvidia_wheels")


@each(
    {
        **ALWAYS,
        "numpy 1": Row("ok", observed="1.26.4"),
        "numpy 2": Row("fail", "was built with numpy 1", wheel("numpy", "2.0.1"), expected="numpy<2"),
        "numpy 10 is not numpy 1": Row("fail", change=wheel("numpy", "10.0.0")),
        "no numpy": Row("fail", "without numpy", without("numpy")),
        "a torch that takes both": Row(
            "skipped", "takes numpy 1 and 2", changes(wheel("torch", "2.10.0+rocm7.1"), wheel("numpy", "2.0.1"))
        ),
        "no torch": Row("skipped", "see py.torch_is_rocm", without("torch")),
    }
)
def test_py_numpy_abi(row: Row) -> None:
    row.assert_holds("py.numpy_abi")


@each(
    {
        **ALWAYS,
        "torch's own": Row("ok", observed="pytorch-triton-rocm 2.0.2 (asked for by torch)"),
        "two owners": Row(
            "fail",
            "triton 3.3.0 (asked for by xgrammar)",
            changes(wheel("triton", "3.3.0"), wheel("xgrammar", "0.1", ["triton>=3"])),
            observed="pytorch-triton-rocm, triton",
        ),
        "one, built for CUDA": Row(
            "fail", "not built for ROCm", changes(without("pytorch-triton-rocm"), wheel("triton", "3.3.0"))
        ),
        "one, of the new name": Row(
            "ok", change=changes(without("pytorch-triton-rocm"), wheel("triton", "3.5.0+rocm7.1"))
        ),
        "none": Row("skipped", "no Triton", without("pytorch-triton-rocm")),
    }
)
def test_py_triton_single_owner(row: Row) -> None:
    row.assert_holds("py.triton_single_owner")


@each(
    {
        **ALWAYS,
        "as locked": Row("ok"),
        "swapped": Row(
            "fail",
            "the lock has torchvision 0.15.2+rocm5.4.2",
            wheel("torchvision", "0.24.0"),
            subject="torchvision",
            expected="0.15.2+rocm5.4.2",
            observed="0.24.0",
        ),
        "gone": Row("fail", "the lock has filelock", without("filelock"), observed="not installed"),
        "more than the lock has": Row("ok", change=wheel("rich", "13.0")),
        "no lock": Row("skipped", "no lock", plan=lambda plan: plan.update(files=[])),
    }
)
def test_py_pins_held(row: Row) -> None:
    row.assert_holds("py.pins_held")
