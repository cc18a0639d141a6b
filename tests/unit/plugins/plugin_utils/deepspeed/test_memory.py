# SPDX-License-Identifier: Apache-2.0
"""The estimate is arithmetic: each part by its formula, and a change that is proposed does fit."""

from __future__ import annotations

import dataclasses
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.memory import (
    Estimate,
    Job,
    Limits,
    estimate,
    fits,
    smallest_change,
)
from ansible_collections.instinct.bringup.plugins.plugin_utils.deepspeed.sizes import GIB, Sizes

SIZES = Sizes(1, 1, 100_000_000, 1_000_000_000, 100_000, False)
SEVEN = 7_000_000_000
MI210 = 68702699520


def named(name: str, job: Job) -> Estimate:
    return next(found for found in estimate(job, SIZES) if found.name == name)


def parts(name: str, job: Job) -> dict[str, int]:
    return dict(named(name, job).parts)


def test_the_parts_of_stage_2() -> None:
    assert parts("zero2", Job(SEVEN, 8, 8, rccl_bytes=5)) == {
        "parameters": 14_000_000_000,
        "gradients": 1_750_000_000,
        "optimizer": 10_500_000_000,
        "buckets": 600_000_000,
        "the step's gradients in single precision": 3_500_000_000,
        "RCCL": 5,
    }


def test_the_parts_of_stage_3() -> None:
    found = parts("zero3", Job(SEVEN, 8, 8, activation_bytes=9_000_000_000))
    assert found == {
        "parameters": 1_750_000_000,
        "gradients": 1_750_000_000,
        "optimizer": 10_500_000_000,
        "gathered parameters": 2_000_000_000,
        "buckets": 200_000_000,
        "activations": 9_000_000_000,
        "RCCL": 0,
    }


def test_offload_leaves_the_card_and_takes_the_nodes_share_of_the_host() -> None:
    found = named("zero3_offload", Job(15_000_000_000, 16, 8))
    assert found.host_bytes == 18 * 15_000_000_000 // 2
    assert found.total == 2_200_000_000


def test_fsdp_divides_within_the_node_only() -> None:
    assert named("fsdp", Job(SEVEN, 8, 8)).total == named("fsdp", Job(SEVEN, 16, 8)).total == 16 * SEVEN // 8


@pytest.mark.parametrize(
    ("what", "job", "gigabytes"),
    [
        pytest.param("weights in half precision, which every copy of stage 2 holds", Job(SEVEN, 8, 8), 14.0, id="14"),
        pytest.param("stage 2 on 4 GPUs: weights, gradients and optimizer", Job(SEVEN, 4, 4), 38.5, id="38"),
        pytest.param("what stage 2 on 4 GPUs adds to the weights", Job(SEVEN, 4, 4), 24.5, id="24"),
    ],
)
def test_the_measured_table_as_far_as_arithmetic_allows(what: str, job: Job, gigabytes: float) -> None:
    """docs/memory.md says which numbers are explained so, and which is not."""
    found = parts("zero2", job)
    states = found["gradients"] + found["optimizer"]
    sums = {14.0: found["parameters"], 38.5: found["parameters"] + states, 24.5: states}
    assert sums[gigabytes] == gigabytes * 1e9, what


def test_the_sentence_names_each_part_and_the_card() -> None:
    text = named("zero2", Job(SEVEN, 16, 8)).describe(MI210)
    assert text == (
        "zero2: parameters 13.0, gradients 0.8, optimizer 4.9, buckets 0.6, the step's gradients in single precision "
        "1.6 = 20.9 of 64.0 GiB"
    )


@pytest.mark.parametrize(
    ("host", "ways"),
    [
        pytest.param(1024 * GIB, ["3 nodes of 8 GPUs with zero3_offload", "6 nodes of 8 GPUs with zero3,"], id="both"),
        pytest.param(None, [], id="host-not-known-refuses-nothing"),
    ],
)
def test_too_large_a_model_is_told_what_would_fit(host: int | None, ways: list[str]) -> None:
    job, limits = Job(175_000_000_000, 8, 8), Limits(MI210, host)
    assert any(fits(found, limits) for found in estimate(job, SIZES)) is (host is None)
    text = smallest_change(job, SIZES, limits)
    assert all(re.search(rf"\b{way}", text) for way in ways), text


def test_activations_alone_are_named() -> None:
    job = Job(SEVEN, 8, 8, activation_bytes=80 * GIB)
    assert smallest_change(job, SIZES, Limits(MI210, 1024 * GIB)).startswith("activations of at most")


@given(
    st.integers(10**9, 10**12),
    st.sampled_from([1, 2, 4, 8]),
    st.integers(1, 16),
    st.integers(0, 100),
    st.integers(1, 2048),
)
def test_what_is_proposed_fits(parameters: int, gpus: int, nodes: int, activations: int, host: int) -> None:
    job, limits = Job(parameters, gpus * nodes, gpus, activations * GIB), Limits(MI210, host * GIB)
    text = smallest_change(job, SIZES, limits)
    for count, name in re.findall(r"(\d+) nodes of \d+ GPUs with (\w+)", text):
        assert fits(named(name, dataclasses.replace(job, world=int(count) * gpus)), limits)
    for billions in re.findall(r"at most ([0-9.]+) billion", text):
        smaller = dataclasses.replace(job, parameters=int((float(billions) - 0.1) * 1e9))
        assert any(fits(found, limits) for found in estimate(smaller, SIZES))
