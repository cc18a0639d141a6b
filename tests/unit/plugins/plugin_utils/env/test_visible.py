# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from ansible_collections.instinct.bringup.plugins.plugin_utils.env.host import Gpu
from ansible_collections.instinct.bringup.plugins.plugin_utils.env.visible import resolve

GPUS = tuple(Gpu(f"0000:{number:x}3:00.0", f"GPU-{number:016x}", 0) for number in range(8))


def bdfs(*numbers: int) -> tuple[str, ...]:
    return tuple(GPUS[number].bdf for number in numbers)


@pytest.mark.parametrize(
    ("values", "left"),
    [
        pytest.param({"ROCR_VISIBLE_DEVICES": "1"}, bdfs(1), id="one"),
        pytest.param({"ROCR_VISIBLE_DEVICES": "7,0"}, bdfs(7, 0), id="order is kept"),
        pytest.param({"ROCR_VISIBLE_DEVICES": "1", "HIP_VISIBLE_DEVICES": "1"}, (), id="the same index in both"),
        pytest.param({"ROCR_VISIBLE_DEVICES": "0,3,4,7", "HIP_VISIBLE_DEVICES": "4,7"}, (), id="out of what is left"),
        pytest.param({"ROCR_VISIBLE_DEVICES": "0,3,4,7", "HIP_VISIBLE_DEVICES": "1,3"}, bdfs(3, 7), id="re-indexed"),
        pytest.param({"HIP_VISIBLE_DEVICES": "2", "CUDA_VISIBLE_DEVICES": "5"}, bdfs(2), id="HIP before CUDA"),
        pytest.param({"HIP_VISIBLE_DEVICES": "", "CUDA_VISIBLE_DEVICES": "5"}, bdfs(5), id="CUDA where HIP is empty"),
        pytest.param({"ROCR_VISIBLE_DEVICES": "GPU-0000000000000003,1"}, bdfs(3, 1), id="by number of the card"),
        pytest.param({"ROCR_VISIBLE_DEVICES": "0,9,1"}, bdfs(0), id="it stops at what is not there"),
        pytest.param({"HIP_VISIBLE_DEVICES": "0,-1,2"}, bdfs(0), id="it stops at -1"),
        pytest.param({"HIP_VISIBLE_DEVICES": "1,1"}, bdfs(1), id="twice"),
        pytest.param({"ROCR_VISIBLE_DEVICES": ""}, (), id="empty hides all"),
        pytest.param({"GPU_DEVICE_ORDINAL": "1"}, bdfs(*range(8)), id="of OpenCL only"),
    ],
)
def test_what_is_left(values: dict[str, str], left: tuple[str, ...]) -> None:
    assert resolve(values, GPUS).left == left


def test_without_the_node_the_filters_are_followed_by_number() -> None:
    resolved = resolve({"ROCR_VISIBLE_DEVICES": "0,3", "HIP_VISIBLE_DEVICES": "2"}, None)
    assert resolved.left == ()
    assert "ROCR_VISIBLE_DEVICES=0,3 leaves 2; HIP_VISIBLE_DEVICES=2 leaves 0" in resolved.text


def test_without_the_node_and_without_filters_nothing_is_known() -> None:
    assert resolve({}, None).left is None
