# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import dataclasses
import typing as t

import pytest

from ansible_collections.instinct.bringup.plugins.plugin_utils.managed import Change
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.deepspeed_install import (
    build_environment,
    install_refusals,
    plan_install,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.model import PlanContext
from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.pytorch import plan_pytorch, pytorch_refusals

from . import made

VENV = "/opt/instinct-bringup/venv"
LOCK = f"deepspeed==0.9.3 \\\n    {made.HASH}\nhjson==3.1.0 {made.HASH}\nnumpy==1.26.4 {made.HASH}\n"
RECORD = {"version": "0.9.3", "ops": {"fused_adam": True, "cpu_adam": False}, "torch": "2.0"}


def context(lock: str | None = LOCK, env: dict[str, t.Any] | None = None, **given: t.Any) -> PlanContext:
    snapshot = made.bare()
    if env is not None:
        base = {"path": VENV, "exists": True, "python": "3.10.12", "uid": 0, "torch": None, "deepspeed": None}
        snapshot["python_envs"] = [{**base, **env}]
    given = {"deepspeed_lock_file": "made.lock", **given}
    return dataclasses.replace(made.context(snapshot, **given), deepspeed_lock=lock)


def have(**versions: str) -> dict[str, t.Any]:
    entries = {
        name: {"version": version, "requires": [], "record": True, "uid": 0} for name, version in versions.items()
    }
    return {"distributions": entries}


def wheels(changes: t.Iterable[Change]) -> dict[str, tuple[str, str]]:
    return {change.subject: (change.before, change.after) for change in changes if change.kind == "wheel"}


def test_without_a_lock_nothing_is_installed() -> None:
    planned = plan_install(context(None, deepspeed_lock_file=""))
    assert (planned.changes, planned.inputs, planned.files) == ([], {"missing": [], "locks": [], "scratch": ""}, [])
    assert install_refusals(context(None, deepspeed_lock_file="")) == []


def test_the_stack_comes_first_and_only_deepspeed_is_built() -> None:
    planned = plan_install(context())
    stack, built = planned.inputs["locks"]
    assert (stack["reinstall"], built["reinstall"]) == (["hjson", "numpy"], ["deepspeed"])
    assert stack["kind"] == "--only-binary :all:"
    assert "--no-build-isolation" in built["kind"]
    assert "--no-deps" in built["kind"]
    assert [(file.path, file.content.count("sha256")) for file in planned.files] == [
        (f"{VENV}/deepspeed-stack.lock", 2),
        (f"{VENV}/deepspeed.lock", 1),
    ]
    assert planned.inputs["missing"] == ["g++", "python3-dev", "libaio-dev"]


def test_what_is_there_is_left_alone_and_a_swapped_one_is_not() -> None:
    there = have(deepspeed="0.9.3", hjson="3.1.0", numpy="1.26.4")
    assert wheels(plan_install(context(env=there)).changes) == {}
    there["distributions"]["hjson"]["version"] = "3.0.2"
    assert wheels(plan_install(context(env=there)).changes) == {"hjson": ("3.0.2", "3.1.0")}


@pytest.mark.parametrize(
    ("record", "given", "before"),
    [
        (RECORD, {}, None),
        (None, {"deepspeed_build_ops": ["cpu_adam"]}, None),
        (RECORD, {"deepspeed_build_ops": ["fused_adam"]}, None),
        (RECORD, {"deepspeed_build_ops": ["fused_adam", "CPU_ADAM"]}, "built without cpu_adam"),
        ({**RECORD, "torch": "1.13"}, {}, "its ops were compiled for torch 1.13"),
        ({**RECORD, "torch": "1.13", "ops": {"fused_adam": False}}, {}, None),
    ],
    ids=["as built", "no record", "op is there", "op is not there", "other torch", "other torch, nothing compiled"],
)
def test_deepspeed_is_built_again_when_its_record_says_so(
    record: dict[str, t.Any] | None, given: dict[str, t.Any], before: str | None
) -> None:
    env = {**have(deepspeed="0.9.3", hjson="3.1.0", numpy="1.26.4"), "deepspeed": record}
    planned = plan_install(context(env=env, **given))
    assert wheels(planned.changes) == ({} if before is None else {"deepspeed": (before, "installed again")})
    assert [lock["damaged"] is not None for lock in planned.inputs["locks"]] == ([] if before is None else [True])


@pytest.mark.parametrize(
    ("ops", "expected"),
    [
        ([], {"DS_BUILD_OPS": "0"}),
        (["fused_adam"], {"DS_BUILD_OPS": "0", "DS_BUILD_FUSED_ADAM": "1"}),
        (
            ["all"],
            {
                "DS_BUILD_OPS": "1",
                "DS_BUILD_SPARSE_ATTN": "0",
                "DS_BUILD_QUANTIZER": "0",
                "DS_BUILD_RANDOM_LTD": "0",
                "DS_BUILD_TRANSFORMER_INFERENCE": "0",
            },
        ),
    ],
    ids=["none", "one", "all"],
)
def test_the_build_is_told_the_release_and_the_gpu(ops: list[str], expected: dict[str, str]) -> None:
    target = {"ROCM_HOME": "/opt/rocm-5.4.2", "PYTORCH_ROCM_ARCH": "gfx90a"}
    assert build_environment(context(deepspeed_build_ops=ops)) == {**target, **expected}


@pytest.mark.parametrize(
    ("lock", "said"),
    [
        (None, "no readable text"),
        (LOCK.replace("0.9.3", "0.19.8"), "deepspeed is 0.19.8"),
        (f"hjson==3.1.0 {made.HASH}\n", "not in the lock"),
        (LOCK + "ninja==1.11.1\n", "without --hash: ninja"),
        (LOCK.replace("1.26.4", "2.0.0"), "numpy 1.26.4 and 2.0.0"),
        (LOCK + f"pytorch-triton-rocm==2.0.2 {made.HASH}\n", None),
    ],
    ids=["no file", "other version", "no deepspeed", "no hash", "other numpy", "more"],
)
def test_a_lock_that_cannot_be_used_is_refused(lock: str | None, said: str | None) -> None:
    refusals = install_refusals(context(lock))
    assert [refusal.subject for refusal in refusals] == (["deepspeed_lock_file"] if said else [])
    assert said is None or said in refusals[0].seen


def test_a_torch_in_the_second_lock_alone_is_refused() -> None:
    ctx = dataclasses.replace(
        context(LOCK + f"torch==2.0.1+rocm5.4.2 {made.HASH}\n"), lock=f"numpy==1.26.4 {made.HASH}\n"
    )
    assert ["torch" in refusal.seen for refusal in install_refusals(ctx)] == [True]


def test_the_constraints_hold_both_locks() -> None:
    files = {file.path: file.content for file in plan_pytorch(context()).files}
    assert files[f"{VENV}/constraints.txt"].splitlines() == [
        "deepspeed==0.9.3",
        "hjson==3.1.0",
        "numpy==1.26.4",
        "torch==2.0.1+rocm5.4.2",
        "torchaudio==2.0.2+rocm5.4.2",
        "torchvision==0.15.2+rocm5.4.2",
    ]


def test_a_sites_own_torch_is_what_the_lock_must_hold() -> None:
    own = {"torch": "2.13.0+cpu"}
    ctx = context(pytorch_packages=own)
    assert [refusal.seen for refusal in pytorch_refusals(ctx)] == ["torch is 2.0.1+rocm5.4.2"]
    lock = f"torch==2.13.0+cpu {made.HASH}\nnumpy==2.4.6 {made.HASH}\n"
    assert pytorch_refusals(dataclasses.replace(ctx, lock=lock)) == []


def test_the_whole_plan_asks_for_the_index_and_refuses_a_wrong_lock() -> None:
    from ansible_collections.instinct.bringup.plugins.plugin_utils.plan.build import build_plan

    ctx = context(deepspeed_index_url="https://index.invalid/simple/")
    plan = build_plan(ctx)
    assert plan["refusals"] == []
    probe = plan["steps"][0]["inputs"]["probe"]
    assert {"name": "DeepSpeed", "url": "https://index.invalid/simple/deepspeed/"} in probe["urls"]
    refused = build_plan(dataclasses.replace(ctx, deepspeed_lock="deepspeed==0.8.0\n"))
    assert {refusal["id"] for refusal in refused["refusals"]} == {"py.lock"}
